/*
 * Inside the version check: its state, and walking a range page by page.
 */
#ifndef SIMULATOR_VERSIONS_STATE_H
#define SIMULATOR_VERSIONS_STATE_H

#include "versions.h"
#include "views.h"

#define HELD_BACK_MAX 8u

/* A finding that a racing store may still excuse. */
struct held {
    struct finding finding;
    uint64_t key; /* the bytes, whatever view shows them */
    uint32_t first, end;
};

struct versions {
    const struct order *order;
    struct shadow *shadow;
    struct views views;
    uint32_t granule_bytes;
    uint64_t doubt;         /* 1 + the newest event before which events may be missing; 0 none */
    uint64_t lost;          /* likewise by the recorder, as far as known; may become smaller */
    uint64_t views_changed; /* 1 + the newest change of views; 0 none */
    uint64_t views_lost;    /* 1 + the newest event before which others may be missing; 0 none */
    bool views_astray;      /* what came before which change is not known */
    const struct disorder *disorder;
    uint64_t now;       /* the newest event */
    uint64_t tick_done; /* of the GPU */
    uint64_t tick_event;
    size_t held_count;
    struct held held[HELD_BACK_MAX]; /* ascending by event */
};

/* The part of a range that lies in one page. */
struct piece {
    uint64_t guest_addr;
    uint32_t first, end; /* bytes of the page */
};

/* The next piece of [*at, end_addr); false at the end. */
bool piece_next(uint64_t *at, uint64_t end_addr, struct piece *piece);

bool access_valid(const struct access *access);

/*
 * Whether a store is old enough for something about it to be missing, or for the order of what came
 * since to be a guess: then nothing follows from what is not there.
 */
bool store_in_doubt(const struct versions *versions, const struct shadow_store *store);

/*
 * Whether a copy puts older bytes over the newest of this history, which are nowhere else: an
 * upload over the GPU's, a download over the CPU's; by what the log has, events missing or not.
 */
bool copy_overwrites(const struct versions *versions, const struct shadow_history *history,
                     const struct shadow_copy *copy, enum trk_copy direction);

/*
 * Whether a copy may do so: it brings something over the newest bytes, and no copy the other way is
 * known to have taken these to where it comes from.
 */
bool copy_may_overwrite(const struct shadow_history *history, const struct shadow_copy *copy,
                        enum trk_copy direction);

/*
 * Whether a copy by this stream loses the newest bytes of this history: an upload the GPU's, a
 * download the CPU's. Fills store, copy, kind, cause and the event at fault.
 */
bool copy_loses(const struct versions *versions, const struct shadow_history *history,
                const struct shadow_copy *copy, enum trk_copy direction, struct finding *lost);

#endif
