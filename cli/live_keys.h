/*
 * The decisions "this page is clean" of a recorded run, by what stays the same in a run with other
 * timing: frame, page, and how many about that page the frame had before (recorder/trust.h).
 */
#ifndef CLI_LIVE_KEYS_H
#define CLI_LIVE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"

struct trk_live_key {
    uint64_t frame, page_addr;
    uint32_t ordinal;
    bool trusted;   /* in its trace */
    uint64_t event; /* in its trace */
    uint64_t tsc,
        frame_tsc; /* its time, and that of its frame's beginning; 0: the trace has none */
};

/* When events were lost that keys rest on. */
struct trk_live_loss {
    uint64_t first_tsc, end_tsc;
};

/* In the order in which limits rise. Zero-initialised is empty. */
struct trk_live_keys {
    struct trk_live_key *all;
    size_t count, capacity;
    struct trk_live_loss *losses;
    size_t loss_count, loss_capacity;
    bool lacks; /* decisions may be missing, or be of another frame */
};

/* Read them anew. TRK_E_MEMORY; what opening and reading a trace gives. */
TRK_MUST_USE enum trk_status trk_live_keys_read(struct trk_live_keys *keys, const char *path,
                                                struct trk_error *error);

void trk_live_keys_deinit(struct trk_live_keys *keys);

/* Whether nothing is missing that would give one of the keys another frame or ordinal. */
bool trk_live_key_sure(const struct trk_live_keys *keys, const struct trk_live_key *key);

bool trk_live_key_same(const struct trk_live_key *a, const struct trk_live_key *b);

#endif
