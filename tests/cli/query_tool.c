/*
 * Makes a trace with something of everything for the queries of the tests: three guest threads that
 * fault, and a render thread with frames, uploads of runs of pages, their contents and copies. Many
 * small chunks, ticks of a nanosecond; the same bytes each time.
 *
 *     query_tool OUT [lose]      lose: events are missing in the middle
 *     query_tool OUT points      with a checkpoint between chunks now and then
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/checkpoint.h"
#include "recorder/packing.h"
#include "recorder/writer.h"
#include "track/address.h"

#define THREADS 4u
#define REGIONS 5u
#define PAGES   12u
#define STEPS   3000u
#define FRAME   150u /* steps of one */
#define CHUNK   70u  /* steps of one */
#define BASE    UINT64_C(0x200000000)

struct maker {
    struct trk_writer *writer;
    uint64_t random, tsc;
    uint32_t holds[2][REGIONS];
    uint64_t ordinals[THREADS];
};

static void must(enum trk_status status, const char *what)
{
    if (status != TRK_OK) {
        fprintf(stderr, "query_tool: %s failed\n", what);
        exit(1);
    }
}

static unsigned below(struct maker *maker, unsigned limit)
{
    maker->random = maker->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(maker->random >> 33) % limit;
}

static void add(struct maker *maker, uint32_t thread, struct trk_event event)
{
    maker->tsc += 20 + below(maker, 900);
    struct trk_record record = {maker->tsc, event};
    must(trk_writer_append(maker->writer, thread, &record, 1, 0, NULL), "appending");
    maker->ordinals[thread]++;
}

static struct trk_event of_hold(struct maker *maker, enum trk_event_type type, unsigned region,
                                bool pages, bool begins)
{
    struct trk_event event = trk_event_of(type, 0);
    uint32_t *hold = &maker->holds[pages][region];
    *hold += begins;
    event.domain = trk_domain(pages ? TRK_DOMAIN_PAGES : TRK_DOMAIN_REGION, 0,
                              trk_region_index(BASE) + region);
    event.seq = *hold;
    return event;
}

static struct trk_event ranged(enum trk_event_type type, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_event event = trk_event_of(type, guest_addr);
    trk_event_set_size(&event, size_bytes);
    return event;
}

static void end_op(struct maker *maker, uint32_t thread, enum trk_op op, uint64_t result)
{
    struct trk_event event = trk_event_of(TRK_EVENT_OP_END, result);
    event.context = (uint16_t)op;
    add(maker, thread, event);
}

static void fault(struct maker *maker, uint32_t thread, unsigned region, uint16_t page)
{
    struct trk_event event = of_hold(maker, TRK_EVENT_FAULT, region, true, true);
    event.argument =
        BASE + region * TRK_REGION_BYTES + page * TRK_HOST_PAGE_BYTES + below(maker, 4096);
    event.page = page;
    event.flags = (uint8_t)below(maker, 2);
    add(maker, thread, event);
    add(maker, thread, of_hold(maker, TRK_EVENT_LOCK, region, false, true));
    event = of_hold(maker, TRK_EVENT_PROTECT, region, true, true);
    event.page = page;
    event.pages = 1;
    event.flags = TRK_RIGHTS_RW | TRK_EVENT_HOLD_END;
    event.flags |= below(maker, 50) == 0 ? TRK_EVENT_FAILED : 0;
    add(maker, thread, event);
    add(maker, thread, of_hold(maker, TRK_EVENT_UNLOCK, region, false, false));
    end_op(maker, thread, TRK_OP_FAULT, TRK_FAULT_SERVED);
}

/* Some uploads have no end: the program was killed in them, or lost it. */
static void upload(struct maker *maker, unsigned region, bool ends)
{
    uint64_t region_addr = BASE + region * TRK_REGION_BYTES;
    struct trk_event event = ranged(TRK_EVENT_OP_BEGIN, region_addr, PAGES * TRK_HOST_PAGE_BYTES);
    uint16_t ranges = (uint16_t)below(maker, 3);
    event.context = TRK_OP_UPLOAD;
    add(maker, 0, event);
    add(maker, 0, of_hold(maker, TRK_EVENT_LOCK, region, false, true));
    for (uint16_t i = 0; i < ranges; i++) {
        uint16_t page = (uint16_t)(i * 6 + below(maker, 3));
        uint16_t pages = (uint16_t)(1 + below(maker, 3));
        uint64_t guest_addr = region_addr + page * TRK_HOST_PAGE_BYTES;
        event = of_hold(maker, TRK_EVENT_RANGE, region, false, false);
        event.page = page;
        event.pages = pages;
        add(maker, 0, event);
        add(maker, 0, ranged(TRK_EVENT_COPY_BEGIN, guest_addr, pages * TRK_HOST_PAGE_BYTES));
        for (uint16_t j = 0; j < pages; j++) {
            event = ranged(TRK_EVENT_PAGE, guest_addr + j * TRK_HOST_PAGE_BYTES,
                           UINT64_C(0x9876543210abcdef) + below(maker, 3));
            event.flags = TRK_PAGE_COPIED;
            add(maker, 0, event);
        }
        if (below(maker, 4) == 0) { /* the copy touches a closed page of another region */
            fault(maker, 0, (region + 1) % REGIONS, (uint16_t)below(maker, PAGES));
        }
        add(maker, 0, ranged(TRK_EVENT_COPY_END, guest_addr, pages * TRK_HOST_PAGE_BYTES));
    }
    if (below(maker, 6) == 0) { /* a chunk ends in the middle */
        must(trk_writer_flush(maker->writer, NULL), "flushing");
    }
    add(maker, 0, of_hold(maker, TRK_EVENT_UNLOCK, region, false, false));
    if (ends) {
        end_op(maker, 0, TRK_OP_UPLOAD, ranges);
    }
}

static void checkpoint(struct maker *maker)
{
    struct trk_packing packing = {.bytes = NULL};
    uint64_t events = 0;
    trk_packing_number(&packing, TRK_CHECKPOINT_FULL);
    trk_packing_number(&packing, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        trk_packing_number(&packing, i);
        trk_packing_number(&packing, maker->ordinals[i]);
        events += maker->ordinals[i];
    }
    trk_packing_number(&packing, 2 * (uint64_t)REGIONS);
    for (unsigned i = 0; i < 2 * REGIONS; i++) {
        trk_packing_number(&packing, trk_domain(i < REGIONS ? TRK_DOMAIN_REGION : TRK_DOMAIN_PAGES,
                                                0, trk_region_index(BASE) + i % REGIONS));
        trk_packing_number(&packing, maker->holds[i / REGIONS][i % REGIONS]);
    }
    for (int i = 0; i < 3; i++) { /* timelines, needed events, trackers */
        trk_packing_number(&packing, 0);
    }
    must(trk_writer_checkpoint(maker->writer, events, packing.bytes, packing.size_bytes, NULL),
         "a checkpoint");
    free(packing.bytes);
}

static void fill(struct maker *maker, bool lose, bool points)
{
    for (unsigned step = 0; step < STEPS; step++) {
        if (step % FRAME == 20) {
            add(maker, 0, trk_event_of(TRK_EVENT_FRAME, step / FRAME));
        }
        if (below(maker, 8) == 0) {
            upload(maker, below(maker, REGIONS), step % 500 != 499 && step + 1 < STEPS);
        } else {
            unsigned region = step / FRAME % 2 == 0 ? below(maker, 2) : 2 + below(maker, 3);
            fault(maker, 1 + below(maker, THREADS - 1), region, (uint16_t)below(maker, PAGES));
        }
        if (step % CHUNK == 0) {
            must(trk_writer_flush(maker->writer, NULL), "flushing");
        }
        if (points && step % (3 * CHUNK) == 0) {
            checkpoint(maker);
        }
        if (lose && step == STEPS / 2) {
            must(trk_writer_append(maker->writer, 2, NULL, 0, 7, NULL), "losing");
        }
    }
    upload(maker, 0, false);
}

int main(int argc, char **argv)
{
    struct maker maker = {.random = 11, .tsc = 5000};
    struct trk_writer_options options = trk_writer_options_default();
    static const char *const names[THREADS] = {"render", "guest 0", "guest 1", "guest \"2\""};
    memset(options.sync_marker, 0x33, sizeof options.sync_marker);
    options.clock_shift = 0;
    int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd < 0) {
        fprintf(stderr, "usage: query_tool OUT [lose|points]\n");
        return 2;
    }
    must(trk_writer_create(&maker.writer, fd, &options, "{\"tsc_hz\":1000000000}", NULL),
         "creating");
    for (uint32_t i = 0; i < THREADS; i++) {
        struct trk_trace_stream stream = {.stream_id = i, .thread_id = 10 + i, .role = i > 0};
        snprintf(stream.name, sizeof stream.name, "%s", names[i]);
        must(trk_writer_stream(maker.writer, &stream, NULL), "naming");
    }
    bool points = argc > 2 && strcmp(argv[2], "points") == 0;
    fill(&maker, argc > 2 && !points, points);
    must(trk_writer_end(maker.writer, 0, NULL), "ending");
    return close(fd) == 0 ? 0 : 1;
}
