/*
 * What a note costs: one JSON object on stdout.
 *
 *     trk_bench_hooks [--rounds N]
 *
 * Without a session each kind of note stands beside an untaken branch on a flag, which is what
 * nobody could do without. Under `trk record` it stands beside a bare append. Batches alternate,
 * pairs are compared; nothing is judged.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bare_ring.h"
#include "recorder/foreign.h"
#include "samples.h"

/* Notes a batch; recorded, so few that the ring never fills before the parent has drained it. */
#define BATCH_OFF (1u << 16)
#define BATCH_ON  4096u
/* Repeated in the loop's body, so that the loop itself weighs little. */
#define EIGHT_TIMES(what)                                                                          \
    what;                                                                                          \
    what;                                                                                          \
    what;                                                                                          \
    what;                                                                                          \
    what;                                                                                          \
    what;                                                                                          \
    what;                                                                                          \
    what

extern uint32_t trk_bench_nobody;
uint32_t
    trk_bench_nobody; /* the flag of the branch: never set, as far as a compiler knows it may be */
static struct bench_bare_ring ring;

__attribute__((noinline, cold)) static void taken(unsigned number)
{
    struct trk_event event = trk_event_of(TRK_EVENT_MARK, number);
    trk_capture_event(&event);
}

static inline void branch(unsigned number)
{
    if (TRK_UNLIKELY(TRK_LOAD_RELAXED(&trk_bench_nobody) != 0))
        taken(number);
    __asm__ volatile("" ::: "memory");
}

static inline void append(unsigned number)
{
    struct trk_event event = trk_event_of(TRK_EVENT_MARK, number);
    bench_bare_append(&ring, &event);
}

static inline void note_frame(unsigned number)
{
    trk_capture_frame(number);
    __asm__ volatile("" ::: "memory");
}

static inline void note_op(unsigned number)
{
    const struct trk_capture_op op = {TRK_OP_MARK_CPU, 0, number, 4096, 0, TRK_ORIGIN_HLE};
    trk_capture_op_begin(&op);
    __asm__ volatile("" ::: "memory");
}

static inline void note_handed(unsigned number)
{
    trk_capture_handed(0, number, 4096);
    __asm__ volatile("" ::: "memory");
}

static inline void note_copy(unsigned number)
{
    trk_capture_copy_begin(TRK_COPY_UP, number, 4096, 1);
    __asm__ volatile("" ::: "memory");
}

static inline void note_fault(unsigned number)
{
    trk_capture_fault_begin(0, number, TRK_ACCESS_WRITE);
    __asm__ volatile("" ::: "memory");
}

static inline void note_protect(unsigned number)
{
    trk_capture_host_protect(0, number, 4096, TRK_RIGHT_READ, 0);
    __asm__ volatile("" ::: "memory");
}

static inline void note_store(unsigned number)
{
    trk_capture_witness_store(TRK_AGENT_CPU, number, 4, 1);
    __asm__ volatile("" ::: "memory");
}

static inline void note_lock(unsigned number)
{
    (void)trk_capture_lock(0, number & 63u);
    __asm__ volatile("" ::: "memory");
}

/* A batch of one kind. */
#define BATCH_OF(kind)                                                                             \
    __attribute__((noinline)) static void batch_##kind(unsigned notes)                             \
    {                                                                                              \
        for (unsigned i = 0; i < notes; i += 8) {                                                  \
            EIGHT_TIMES(kind(i));                                                                  \
        }                                                                                          \
    }
BATCH_OF(branch)
BATCH_OF(append)
BATCH_OF(note_frame)
BATCH_OF(note_op)
BATCH_OF(note_handed)
BATCH_OF(note_copy)
BATCH_OF(note_fault)
BATCH_OF(note_protect)
BATCH_OF(note_store)
BATCH_OF(note_lock)

static const struct {
    const char *name;
    void (*batch)(unsigned notes);
} kinds[] = {
    {"frame", batch_note_frame},   {"op_begin", batch_note_op},
    {"handed", batch_note_handed}, {"copy_begin", batch_note_copy},
    {"fault", batch_note_fault},   {"host_protect", batch_note_protect},
    {"witness", batch_note_store}, {"lock", batch_note_lock},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static double time_batch(void (*batch)(unsigned notes), unsigned notes)
{
    uint64_t start = bench_now_ns();
    batch(notes);
    return (double)(bench_now_ns() - start) / notes;
}

static void measure(size_t kind, unsigned rounds, bool recorded)
{
    static struct bench_samples least, note;
    const struct timespec pause = {.tv_nsec = recorded ? 3 * 1000 * 1000 : 0};
    void (*const other)(unsigned) = recorded ? batch_append : batch_branch;
    const unsigned notes = recorded ? BATCH_ON : BATCH_OFF;
    least.count = note.count = 0;
    for (unsigned round = 0; round < rounds + 2; round++) {
        bool first = round % 2 == 0;
        double one = time_batch(first ? other : kinds[kind].batch, notes);
        double two = time_batch(first ? kinds[kind].batch : other, notes);
        if (round >= 2) {
            bench_samples_add(&least, first ? one : two);
            bench_samples_add(&note, first ? two : one);
        }
        nanosleep(&pause, NULL); /* the parent drains */
    }
    const struct bench_row rows[] = {
        {recorded ? "bare_append_ns" : "untaken_branch_ns", bench_samples_spread(&least)},
        {"note_ns", bench_samples_spread(&note)},
        {"ratio", bench_samples_ratio(&note, &least)},
    };
    printf("    {\"note\": \"%s\"", kinds[kind].name);
    bench_rows_print(stdout, ", ", rows, sizeof rows / sizeof rows[0]);
    printf("}%s\n", kind + 1 < KINDS ? "," : "");
}

int main(int argc, char **argv)
{
    unsigned rounds = 200;
    struct trk_error error;
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0)
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
    bool recorded = trk_capture_open(&error) == TRK_OK;
    struct trk_capture_foreign foreign = trk_capture_foreign_default();
    foreign.locks.count = 64;
    ring.records = calloc(BENCH_BARE_RECORDS, sizeof *ring.records);
    if (ring.records == NULL || rounds == 0 || rounds > BENCH_SAMPLES_MAX ||
        trk_capture_foreign_declare(&foreign, &error) != TRK_OK) {
        fputs("trk_bench_hooks: rounds are 1 to 1024, and memory is needed\n", stderr);
        return 2;
    }
    trk_capture_thread("bench", TRK_ROLE_GUEST);
    batch_append(BENCH_BARE_RECORDS); /* no first touch of its pages is timed */
    printf("{\n  \"schema\": \"trk-bench-hooks/1\",\n  \"recorded\": %s,\n  \"aim\": 1.3,\n"
           "  \"notes\": [\n",
           recorded ? "true" : "false");
    for (size_t kind = 0; kind < KINDS; kind++)
        measure(kind, rounds, recorded);
    printf("  ],\n  \"dropped\": %llu\n}\n", (unsigned long long)trk_capture_dropped());
    trk_capture_thread_end();
    free(ring.records);
    return 0;
}
