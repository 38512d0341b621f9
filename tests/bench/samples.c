#include "samples.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_samples_add(struct bench_samples *samples, double value)
{
    if (samples->count < BENCH_SAMPLES_MAX) {
        samples->values[samples->count++] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double rank(const double *sorted, size_t count, unsigned percent)
{
    size_t index = (count * percent + 99) / 100;
    return sorted[index == 0 ? 0 : index - 1];
}

void bench_samples_sort(struct bench_samples *samples)
{
    qsort(samples->values, samples->count, sizeof samples->values[0], compare);
}

struct bench_spread bench_samples_spread(const struct bench_samples *samples)
{
    struct bench_spread spread = {.known = samples->count > 0};
    if (spread.known) {
        static struct bench_samples sorted;
        memcpy(&sorted, samples, sizeof sorted);
        qsort(sorted.values, sorted.count, sizeof sorted.values[0], compare);
        spread.p5 = rank(sorted.values, sorted.count, 5);
        spread.median = rank(sorted.values, sorted.count, 50);
        spread.p95 = rank(sorted.values, sorted.count, 95);
    }
    return spread;
}

struct bench_spread bench_samples_ratio(const struct bench_samples *a,
                                        const struct bench_samples *b)
{
    static struct bench_samples ratios;
    ratios.count = 0;
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        bench_samples_add(&ratios, a->values[i] / b->values[i]);
    }
    return bench_samples_spread(&ratios);
}

void bench_spread_print(FILE *out, const char *name, const struct bench_spread *spread)
{
    if (!spread->known) {
        fprintf(out, "\"%s\": null", name);
        return;
    }
    fprintf(out, "\"%s\": {\"p5\": %.4g, \"median\": %.4g, \"p95\": %.4g}", name, spread->p5,
            spread->median, spread->p95);
}

void bench_rows_print(FILE *out, const char *before, const struct bench_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fputs(before, out);
        bench_spread_print(out, rows[i].name, &rows[i].spread);
    }
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_processor_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
