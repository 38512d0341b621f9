/*
 * Samples of a measurement: medians and percentiles, the clock, and how they stand in JSON.
 *
 * The machine changes its speed by a factor of two in phases of seconds. So variants are measured
 * in short batches that alternate in one process, and compared pair by pair: the median of the
 * ratios is the figure, 5th and 95th percentile are its spread.
 */
#ifndef TRK_BENCH_SAMPLES_H
#define TRK_BENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_SAMPLES_MAX 1024u

struct bench_samples {
    size_t count;
    double values[BENCH_SAMPLES_MAX]; /* those beyond the maximum are not kept */
};

struct bench_spread {
    double p5, median, p95;
    bool known; /* there were samples */
};

void bench_samples_add(struct bench_samples *samples, double value);

/* In ascending order. */
void bench_samples_sort(struct bench_samples *samples);

/* Percentiles by nearest rank; the samples keep their order. */
struct bench_spread bench_samples_spread(const struct bench_samples *samples);

/* The spread of a[i] / b[i]. */
struct bench_spread bench_samples_ratio(const struct bench_samples *a,
                                        const struct bench_samples *b);

/* `"name": {"p5": .., "median": .., "p95": ..}` or `"name": null`. */
void bench_spread_print(FILE *out, const char *name, const struct bench_spread *spread);

struct bench_row {
    const char *name;
    struct bench_spread spread;
};

/* Each row as bench_spread_print() has it, behind `before`. */
void bench_rows_print(FILE *out, const char *before, const struct bench_row *rows, size_t count);

/* Monotonic nanoseconds. */
uint64_t bench_now_ns(void);

/* Nanoseconds of the processor that this process has had, all threads together. */
uint64_t bench_processor_ns(void);

#endif
