/*
 * Backends beside each other, in one process, batches alternating: first stores alone, beside a
 * busy thread and on two threads, mappings taken, uploads that re-arm, pages closed to loads, and
 * the kernel's asynchronous mode. Prints one JSON object; ratios are to the mprotect backend.
 */
#include "backends.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Armed in one batch, and stored to: half a millisecond, so that few batches are interrupted. */
#define BATCH_PAGES  1024u
#define BATCH_STORES 128u
#define UPLOADS      4u /* a sample */
#define DIRTY_STEP   100u
#define CLOSE_PAGES  16u /* 64 KiB */
#define CLOSINGS     32u

struct sampled {
    const char *name;
    const char *unit;
    struct bench_samples variants[BACKEND_VARIANTS];
};

enum {
    SEQUENTIAL,
    RANDOM,
    SEQUENTIAL_BUSY,
    RANDOM_BUSY,
    TWO_THREADS,
    UPLOAD,
    CLOSE,
    MEASURES,
};

static struct sampled measures[MEASURES] = {
    [SEQUENTIAL] = {.name = "first_store_sequential", .unit = "ns"},
    [RANDOM] = {.name = "first_store_random", .unit = "ns"},
    [SEQUENTIAL_BUSY] = {.name = "first_store_sequential_busy_thread", .unit = "ns"},
    [RANDOM_BUSY] = {.name = "first_store_random_busy_thread", .unit = "ns"},
    [TWO_THREADS] = {.name = "first_store_two_threads", .unit = "ns of both together"},
    [UPLOAD] = {.name = "upload_16mib_1_percent_dirty", .unit = "us"},
    [CLOSE] = {.name = "gpu_and_back_64kib", .unit = "us"},
};

static uint32_t mappings_taken[BACKEND_VARIANTS];

/* ---- a thread beside ---- */

static bool beside_stop;

static void *run_beside(void *unused)
{
    while (!__atomic_load_n(&beside_stop, __ATOMIC_RELAXED))
        ;
    return unused;
}

static int beside_start(pthread_t *thread)
{
    beside_stop = false;
    return pthread_create(thread, NULL, run_beside, NULL) != 0;
}

static void beside_end(pthread_t thread)
{
    __atomic_store_n(&beside_stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

/* ---- the measures: each one sample; 0, or 1 ---- */

static int stores(const struct backend_window *window, bool scattered, struct bench_samples *out)
{
    if (backend_upload(window, 0, BATCH_PAGES, false))
        return 1;
    uint64_t begun = bench_now_ns();
    backend_stores(window, scattered ? BATCH_PAGES : BATCH_STORES, BATCH_STORES, scattered);
    bench_samples_add(out, (double)(bench_now_ns() - begun) / BATCH_STORES);
    return 0;
}

static int stores_busy(const struct backend_window *window, bool scattered,
                       struct bench_samples *out)
{
    pthread_t thread;
    if (beside_start(&thread))
        return 1;
    int failed = stores(window, scattered, out);
    beside_end(thread);
    return failed;
}

struct half {
    const struct backend_window *window;
    pthread_barrier_t *start;
    uint64_t begun, ended;
    uint32_t page;
};

/* Every other page, so that each un-protect splits a mapping where mappings are split. */
static void *store_half(void *argument)
{
    struct half *half = argument;
    pthread_barrier_wait(half->start);
    half->begun = bench_now_ns();
    for (uint32_t i = 0; i < BATCH_STORES; i++)
        ((volatile unsigned char *)half->window->host)[(half->page + (size_t)i * 2) * PAGE_BYTES] =
            1;
    half->ended = bench_now_ns();
    return NULL;
}

static int two_threads(const struct backend_window *window, struct bench_samples *out)
{
    pthread_barrier_t start;
    pthread_t thread;
    struct half halves[2] = {{.window = window, .start = &start, .page = 0},
                             {.window = window, .start = &start, .page = 2 * BATCH_PAGES}};
    if (backend_upload(window, 0, 4 * BATCH_PAGES, false))
        return 1;
    pthread_barrier_init(&start, NULL, 2);
    if (pthread_create(&thread, NULL, store_half, &halves[1]) != 0)
        return 1;
    store_half(&halves[0]);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&start);
    uint64_t begun = halves[0].begun < halves[1].begun ? halves[0].begun : halves[1].begun;
    uint64_t ended = halves[0].ended > halves[1].ended ? halves[0].ended : halves[1].ended;
    bench_samples_add(out, (double)(ended - begun) / (2 * BATCH_STORES));
    return 0;
}

static int uploads(const struct backend_window *window, struct bench_samples *out)
{
    uint64_t taken = 0;
    int failed = backend_upload(window, 0, WINDOW_PAGES, false);
    for (uint32_t i = 0; i < UPLOADS && !failed; i++) {
        for (uint32_t page = i; page < WINDOW_PAGES; page += DIRTY_STEP)
            ((volatile unsigned char *)window->host)[(size_t)page * PAGE_BYTES] = 1;
        uint64_t begun = bench_now_ns();
        failed = backend_upload(window, 0, WINDOW_PAGES, false);
        taken += bench_now_ns() - begun;
    }
    bench_samples_add(out, (double)taken / 1000 / UPLOADS);
    return failed;
}

/* CLEAN to GPU and back, at places apart. */
static int closings(const struct backend_window *window, struct bench_samples *out)
{
    int failed = backend_upload(window, 0, WINDOW_PAGES, false);
    uint64_t begun = bench_now_ns();
    for (uint32_t i = 0; i < CLOSINGS && !failed; i++) {
        uint32_t page = i * (WINDOW_PAGES / CLOSINGS);
        failed = backend_upload(window, page, CLOSE_PAGES, true) ||
                 backend_download(window, page, CLOSE_PAGES);
    }
    bench_samples_add(out, (double)(bench_now_ns() - begun) / 1000 / CLOSINGS);
    return failed;
}

static int one_sample(const struct backend_window *window, unsigned measure,
                      struct bench_samples *out)
{
    switch (measure) {
    case SEQUENTIAL:
        return stores(window, false, out);
    case RANDOM:
        return stores(window, true, out);
    case SEQUENTIAL_BUSY:
        return stores_busy(window, false, out);
    case RANDOM_BUSY:
        return stores_busy(window, true, out);
    case TWO_THREADS:
        return two_threads(window, out);
    case UPLOAD:
        return uploads(window, out);
    default:
        return closings(window, out);
    }
}

static int measure_all(unsigned rounds)
{
    for (unsigned round = 0; round < rounds + 1; round++) {
        for (unsigned measure = 0; measure < MEASURES; measure++) {
            for (unsigned i = 0; i < BACKEND_VARIANTS; i++) {
                unsigned variant = (round + i) % BACKEND_VARIANTS;
                const struct backend_window *window = &backend_windows[variant];
                struct bench_samples *samples = &measures[measure].variants[variant];
                if (window->backend == NULL)
                    continue;
                if (round == 1) /* the round before warmed up */
                    samples->count = samples->count > 1 ? samples->count : 0;
                if (one_sample(window, measure, samples) || backend_untrack(window))
                    return 1;
            }
        }
    }
    return 0;
}

/* Mappings that a pattern of isolated armed pages takes. */
static int count_mappings(void)
{
    for (unsigned i = 0; i < BACKEND_VARIANTS; i++) {
        const struct backend_window *window = &backend_windows[i];
        if (window->backend == NULL)
            continue;
        uint32_t before = backend_mappings();
        for (uint32_t page = 0; page < WINDOW_PAGES; page += 2) {
            if (backend_upload(window, page, 1, false))
                return 1;
        }
        mappings_taken[i] = backend_mappings() - before;
        if (backend_untrack(window))
            return 1;
    }
    return 0;
}

/* ---- print ---- */

static const char *const variant_names[] = {"mprotect", "userfaultfd", "userfaultfd_no_guards"};

static void print_measure(const struct sampled *sampled)
{
    printf("  \"%s\": {\"unit\": \"%s\"", sampled->name, sampled->unit);
    for (unsigned i = 0; i < BACKEND_VARIANTS; i++) {
        struct bench_spread spread = bench_samples_spread(&sampled->variants[i]);
        fputs(", ", stdout);
        bench_spread_print(stdout, variant_names[i], &spread);
    }
    for (unsigned i = BY_GUARDS; i < BACKEND_VARIANTS; i++) {
        char name[64];
        struct bench_spread ratio =
            bench_samples_ratio(&sampled->variants[i], &sampled->variants[BY_MPROTECT]);
        snprintf(name, sizeof name, "%s_ratio", variant_names[i]);
        fputs(", ", stdout);
        bench_spread_print(stdout, name, &ratio);
    }
    puts("},");
}

static void print_all(unsigned rounds, uint32_t megabytes, const struct backend_async *async)
{
    printf("{\"schema\": \"trk-bench-backends/1\", \"rounds\": %u,\n", rounds);
    for (unsigned i = 0; i < MEASURES; i++)
        print_measure(&measures[i]);
    printf("  \"mappings_of_%u_isolated_pages\": {\"mprotect\": %u", WINDOW_PAGES / 2,
           mappings_taken[BY_MPROTECT]);
    for (unsigned i = BY_GUARDS; i < BACKEND_VARIANTS; i++)
        printf(", \"%s\": %u", variant_names[i], mappings_taken[i]);
    puts("},");
    const struct bench_samples *stores = &measures[SEQUENTIAL].variants[BY_MPROTECT];
    const struct bench_row rows[] = {
        {"store_ns", bench_samples_spread(&async->store_ns)},
        {"store_ratio", bench_samples_ratio(&async->store_ns, stores)},
        {"harvest_1_percent_us", bench_samples_spread(&async->harvest_us)},
        {"harvest_ratio_to_bare_scan", bench_samples_ratio(&async->harvest_us, &async->scan_us)},
    };
    printf("  \"async\": {\"megabytes\": %u", megabytes);
    bench_rows_print(stdout, ", ", rows, sizeof rows / sizeof rows[0]);
    puts("}}");
}

static struct backend_async async;

int main(int argc, char **argv)
{
    unsigned rounds = 41;
    uint32_t megabytes = 256;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--megabytes") == 0)
            megabytes = (uint32_t)strtoul(argv[i + 1], NULL, 10);
    }
    if (backend_windows_open() || measure_all(rounds) || count_mappings() ||
        backend_windows_close() || backend_async(rounds, megabytes, &async)) {
        fputs("the measurement failed\n", stderr);
        return 1;
    }
    print_all(rounds, megabytes, &async);
    return 0;
}
