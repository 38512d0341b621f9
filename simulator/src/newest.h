/*
 * Which side has the newest bytes of an address, by the oracle's books.
 */
#ifndef SIMULATOR_NEWEST_H
#define SIMULATOR_NEWEST_H

#include "judge.h"
#include "shadow.h"
#include "simulator/why.h"

struct newest {
    uint64_t first_addr, size_bytes;      /* bytes beside it with the same past, in its page */
    const struct shadow_history *history; /* NULL: none is known */
    const struct said_page *said;         /* NULL: no operation has met its page */
    enum said_state state;
    bool untracked;
    bool mapped; /* by the log some view shows it */
    enum trk_why_copy guest, gpu;
    enum trk_why_copy guest_given, gpu_given; /* the same, whatever was copied over it since */
    bool lost;    /* neither side has them: a copy put older ones over the only newest */
    bool doubted; /* a copy may have */
};

void newest_find(const struct judge *judge, uint64_t guest_addr, struct newest *out);

/* Whether an operation of the log has made the page's state; else it is as it was at the log's
 * beginning: the CPU's where that is the program's, and anything where it is not. */
static inline bool newest_made(const struct newest *newest)
{
    return newest->said != NULL && newest->said->event != 0;
}

static inline bool newest_by_gpu(const struct shadow_store *store)
{
    return (store->flags & SHADOW_STORE_GPU) != 0;
}

/* The operation of some thread on the page of an address that is not over, and may not have left it
 * in its new state; whose it is. NULL: none. */
const struct judge_operation *newest_under_way(const struct judge *judge, uint64_t guest_addr,
                                               uint32_t *stream);

/*
 * Whether one side stays older where everything is synchronised that the tracker's word has: an
 * upload takes what is the CPU's, a download what is the GPU's. What is lost stays so.
 */
static inline bool newest_stays(const struct newest *newest, bool *gpu)
{
    *gpu = newest->gpu == TRK_WHY_OLDER && (newest->lost || newest->state != SAID_CPU);
    return *gpu || (newest->guest == TRK_WHY_OLDER && newest->state != SAID_GPU);
}

#endif
