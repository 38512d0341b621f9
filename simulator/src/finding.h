/*
 * A finding: what was proven of one stale read, and which step is to blame.
 */
#ifndef SIMULATOR_FINDING_H
#define SIMULATOR_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow.h"
#include "track/event.h"

/* Which event, of which stream, concerned which bytes. */
struct access {
    uint64_t event;
    uint32_t stream;
    uint64_t guest_addr, size_bytes;
};

/* What was proven of a stale read, and all that its story needs. */
struct finding {
    enum trk_agent agent; /* who read */
    struct access check;
    uint64_t guest_addr, size_bytes; /* the stale bytes */
    struct shadow_store store;       /* what should have been seen */
    bool stamped;                    /* the check said what it saw */
    uint32_t seen;                   /* stamp seen */
    bool has_copy;
    struct shadow_copy copy; /* that brought the older bytes, as far as known */
    bool has_clean;
    struct shadow_clean clean; /* that let the newer bytes be forgotten */
    uint64_t event_at;
    uint32_t stream_at;
    const char *detail; /* a constant, or "" */
};

/*
 * Say which event broke the rule for a stale read of bytes with this history: fills copy, clean,
 * event_at, stream_at and detail. check and store are filled before.
 */
void finding_blame(struct finding *finding, const struct shadow_page *page,
                   const struct shadow_history *history);

#endif
