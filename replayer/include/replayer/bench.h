/*
 * Passes of several policies in rounds, so that they can be compared.
 *
 * A turn is each policy once in an order, and then once more in the same order backwards: A B B A,
 * or A C B B C A. A round is one or more turns of the same order. The order is drawn from the seed
 * for every other round, and the round behind it has it reversed, so that each policy comes first
 * as often as last (with an even number of rounds).
 *
 * A round's time of a policy is that of its fastest pass: what disturbs a pass makes it longer,
 * never shorter, and where something disturbs most of them a few are left alone.
 *
 * What a pass is, the caller knows; here are only the order and the book of what came out.
 */
#ifndef REPLAYER_BENCH_H
#define REPLAYER_BENCH_H

#include <stdint.h>

#include "replayer/statistics.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_BENCH_POLICIES_MOST 64u
#define TRK_BENCH_TURNS_MOST    64u

struct trk_bench_times {
    uint64_t host_ns;
    uint64_t device_ns; /* TRK_NOT_KNOWN: the device does not say */
};

struct trk_bench_pass {
    uint32_t round;  /* from 0 */
    uint32_t place;  /* in the round, from 0 */
    uint32_t policy; /* its number */
    struct trk_bench_times times;
};

/* Run a policy once. A status that is not TRK_OK ends the bench with it. */
typedef enum trk_status trk_bench_pass_fn(void *context, uint32_t policy,
                                          struct trk_bench_times *out, struct trk_error *error);

struct trk_bench;

/* Whether to run another round behind those of `so_far`. Whoever compares the policies by the
 * rounds must not let what they say of the difference decide this; trk_bench_detects does not. */
typedef bool trk_bench_more_fn(void *context, const struct trk_bench *so_far);

struct trk_bench_options {
    size_t size;       /* sizeof(struct trk_bench_options) */
    uint32_t policies; /* 1 to TRK_BENCH_POLICIES_MOST */
    uint32_t rounds;   /* 1 to TRK_STATISTICS_ROUNDS_MOST */
    uint32_t turns;    /* of a round, 1 to TRK_BENCH_TURNS_MOST */
    uint64_t seed;
    trk_bench_pass_fn *pass;
    trk_bench_more_fn *more; /* asked before each round but the first; NULL: always */
    bool warm;               /* each policy has run already */
    void *context;
};

struct trk_bench {
    uint32_t policies, turns;
    uint32_t rounds;               /* that were run */
    struct trk_bench_pass *passes; /* in the order in which they ran */
    size_t pass_count;             /* 2 * policies * turns * rounds */
};

/* The order of a round: `policies` numbers; a turn is these, and these backwards. */
void trk_bench_order(uint32_t *out, uint32_t policies, uint32_t round, uint64_t seed);

/**
 * Run all rounds. Before the first, each policy runs once that is not noted, so that no policy pays
 * for what happens only once. One round at least is run.
 *
 * @return TRK_OK: out is to be given to trk_bench_free; TRK_E_MEMORY; as a pass says. out holds
 *         nothing then.
 *
 * Allocates: yes. Blocks: as the passes do. Signal-safe: no. Threads: one.
 */
TRK_MUST_USE enum trk_status trk_bench_run(struct trk_bench *out,
                                           const struct trk_bench_options *options,
                                           struct trk_error *error);
void trk_bench_free(struct trk_bench *bench);

enum trk_bench_clock {
    TRK_BENCH_HOST = 0,
    TRK_BENCH_DEVICE = 1,
};

/* Whether every pass of a policy has a time of that clock. 0, less than a tick, is none. */
bool trk_bench_has(const struct trk_bench *bench, uint32_t policy, enum trk_bench_clock clock);

/* The sorted times of a policy's passes into out: as many as this. */
size_t trk_bench_passes_of(const struct trk_bench *bench);
void trk_bench_times_of(const struct trk_bench *bench, uint32_t policy, enum trk_bench_clock clock,
                        double *out);

/**
 * Compare two policies by one clock; for each round a policy's fastest pass is taken.
 *
 * @return As trk_comparison_make; TRK_E_ARGUMENT also where a pass has no time of that clock.
 */
TRK_MUST_USE enum trk_status trk_bench_compare(struct trk_comparison *out,
                                               const struct trk_bench *bench,
                                               const uint32_t pair[2], enum trk_bench_clock clock,
                                               uint64_t seed, struct trk_error *error);

/* How small a difference is to be detectable. */
struct trk_bench_detect {
    double share;      /* of the first policy's time */
    uint32_t policies; /* so many, the first one among them, are looked at */
    bool by_host;      /* compared by the host's clock also where there is the device's */
};

/* The clock that two policies are compared by, where none is asked for. */
enum trk_bench_clock trk_bench_clock_of(const struct trk_bench *bench, const uint32_t pair[2]);

/**
 * Whether the smallest detectable difference of each policy from the first is at most so much: for
 * a trk_bench_more_fn that ends a bench with it.
 *
 * To end a bench where its interval is narrow must not make its verdict wrong more often. So the
 * interval's width alone counts, never its place. As a width can be small by chance, too, it is
 * looked at only now and then, with TRK_BENCH_LOOK_FIRST rounds and each time that there are a
 * quarter more, and it must be so small in two looks in a row. With other numbers of rounds this
 * gives false.
 *
 * Allocates: yes; without memory it gives false. Blocks: no. Threads: any.
 */
#define TRK_BENCH_LOOK_FIRST 20u
bool trk_bench_detects(const struct trk_bench *bench, const struct trk_bench_detect *detect,
                       uint64_t seed);

TRK_EXTERN_C_END

#endif
