/*
 * Random scenarios: legal scenario files made from a seed.
 *
 * Each seed takes a random part of the features that it may use (a swarm), so that operations also
 * meet in mixtures that a fixed weight would never give. A program has two parts: threads that work
 * on memory, with faults injected into some of their steps, and `finally`, where nothing goes wrong
 * any more and both copies of every byte must come to the newest one. Some pages belong to one
 * thread alone: there the generator knows what the tracker must answer and writes it behind =>.
 * Others are shared: there only such steps are taken that are right in every order. So on a correct
 * core every schedule of every program ends in `ok`, which is what each file expects.
 *
 * It does not run anything: see simulator/scenario.h.
 *
 * Deterministic: the same options give the same bytes on every machine.
 */
#ifndef SIMULATOR_GENERATE_H
#define SIMULATOR_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_GENERATE_THREADS 4u
#define TRK_GENERATE_ALL     UINT32_MAX /* every feature */

enum trk_generate_schedule {
    TRK_GENERATE_IN_ORDER,
    TRK_GENERATE_RANDOM,
    TRK_GENERATE_PCT,
    TRK_GENERATE_EXPLORE, /* makes the program small enough for that */
};

struct trk_generate_options {
    size_t size; /* of this struct */
    uint64_t seed;
    uint32_t features; /* bits that may be used: trk_generate_feature_name() */
    uint32_t threads;  /* 1 to TRK_GENERATE_THREADS; 0: the seed says */
    enum trk_generate_schedule schedule;
    /*
     * Let threads touch pages of others, and write no results: any verdict may come out, whatever
     * the file expects. For holding engines against each other.
     */
    bool careless;
    uint32_t runs; /* schedules of random and pct, at least 1 */
};

/* The name of a feature, which has the bit 1 << number; NULL: there are no more. */
const char *trk_generate_feature_name(uint32_t number);

/**
 * Make a scenario file.
 *
 * @param out         Its JSON, size_bytes and a NUL behind them; the caller's, to be freed.
 * @param size_bytes  How many bytes it has.
 * @return TRK_OK; TRK_E_MEMORY: out is NULL.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_generate_scenario(char **out, size_t *size_bytes,
                                                   const struct trk_generate_options *options);

TRK_EXTERN_C_END

#endif
