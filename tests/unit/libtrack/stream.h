/*
 * A checker of the core's event stream: the grammar that track/event.h promises.
 *
 * One checker a thread. It is fed each event as it comes and remembers the first rule that broke.
 * Hold numbers are checked for being without gaps when the checker is the only one.
 */
#ifndef TESTS_STREAM_H
#define TESTS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "track/event.h"

#define STREAM_DEPTH_MAX   16
#define STREAM_HELD_MAX    64
#define STREAM_DOMAINS_MAX 256

struct stream_operation {
    uint16_t op;
    uint8_t failed;    /* the class that FAIL named, or 0 */
    size_t held_below; /* locks that were held when it began */
    bool written;
    bool in_protect; /* a PROTECT without HOLD_END came: more must follow */
    bool refused;    /* in that hold a call was refused */
    struct trk_event last_protect;
    uint32_t range_domain, range_seq, range_end; /* the last RANGE */
    uint64_t ranges, flushes;                    /* so far */
};

struct stream {
    bool single; /* the only thread: hold numbers have no gaps here */
    struct stream_operation operations[STREAM_DEPTH_MAX];
    size_t depth;
    struct {
        uint32_t domain, seq;
        bool by_hand;
    } held[STREAM_HELD_MAX];
    size_t held_count;
    struct {
        uint32_t domain, seq;
    } domains[STREAM_DOMAINS_MAX];
    size_t domain_count;
    bool has_operand;      /* OPERAND was there, its OP_BEGIN is to follow */
    struct trk_event mask; /* the last MASK of a run of them; type 0: none */
    size_t events;
    char broken[160]; /* the first broken rule, or empty */
};

void stream_init(struct stream *stream, bool single);
void stream_feed(struct stream *stream, const struct trk_event *event);
/* Nothing is open any more but locks taken by hand. */
void stream_finish(struct stream *stream);

#endif
