/*
 * A finding: what was proven of bytes that somebody missed or lost, and which step is to blame.
 */
#ifndef SIMULATOR_FINDING_H
#define SIMULATOR_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "said.h"
#include "shadow.h"
#include "simulator/sim.h"
#include "track/event.h"

/* Which event, of which stream, concerned which bytes. */
struct access {
    uint64_t event;
    uint32_t stream;
    uint64_t guest_addr, size_bytes;
};

/* Why newer bytes were missed; cause.h has the words. */
enum cause {
    CAUSE_NONE = 0,
    /* The GPU, or its copy, misses a store to guest memory. */
    CAUSE_COPIED_BEFORE_ARM,
    CAUSE_TAKEN_NOT_COPIED,
    CAUSE_VIEW_NOT_TOLD,
    CAUSE_AGENT_NOT_TOLD,
    CAUSE_NOT_ARMED,
    CAUSE_COPIED_NOT_SEEN,
    CAUSE_GPU_OVERWRITTEN,
    CAUSE_NOT_COPIED_AGAIN,
    CAUSE_NEVER_COPIED,
    /* Guest memory misses a write. */
    CAUSE_EARLY_READ_BACK,
    CAUSE_OLDER_DOWNLOAD,
    CAUSE_HOME_NOT_COPIED,
    CAUSE_NEVER_DOWNLOADED,
    CAUSE_DOWNLOAD_OVER_NEWER,
    CAUSE_OVERWRITTEN_BY_NOBODY,
    /* The only copy is gone. */
    CAUSE_UPLOAD_OVER_NEWER,
    CAUSE_DROPPED,
    /* The tracker's own refusals. */
    CAUSE_REENTRY,
    CAUSE_RETAINED,
    CAUSE_REFUSED,
    /* What did it may be missing. */
    CAUSE_UNPROVEN,
    CAUSE_COUNT,
};

struct finding {
    bool found;
    enum trk_verdict_kind kind;
    enum cause cause;
    bool latent;                     /* nobody has read the bytes yet */
    enum trk_agent agent;            /* who read; of a loss: whose copy was overwritten or missed */
    struct access check;             /* the read, or the event that lost */
    uint64_t guest_addr, size_bytes; /* the bytes */
    struct shadow_store store;       /* what should have been seen */
    bool stamped;                    /* the check said what it saw */
    uint32_t seen;                   /* stamp seen */
    bool has_copy;
    struct shadow_copy copy; /* that brought the older bytes, as far as known */
    bool copy_home;          /* the GPU missed a store over which that came from its own copy */
    bool has_clean;
    struct shadow_clean clean; /* that let the newer bytes be forgotten */
    uint64_t protect;          /* 1 + a change of the guest's rights before the store; 0 none */
    bool has_said;
    struct said_page said; /* of the page, at the check */
    bool queued;           /* the copy has not run on the GPU, as far as known */
    uint64_t event_at;     /* TRK_NOT_KNOWN: it may be missing */
    uint32_t stream_at;
};

/*
 * Say which event broke the rule for a stale read of bytes with this history: fills copy, clean,
 * event_at, stream_at and cause. check, agent and store are filled before.
 */
void finding_blame(struct finding *finding, const struct shadow_page *page,
                   const struct shadow_history *history);

/* Blame none: events are missing behind the store, or the order of some is a guess. */
void finding_unproven(struct finding *finding);

/* Blame an event. */
void finding_at(struct finding *finding, uint64_t event, uint32_t stream, enum cause cause);

/* Whether nobody could have told of the store but the one who made it; CAUSE_NONE: somebody. */
enum cause finding_untold(const struct shadow_store *store);

/* And it came to a page that was closed before, for certain. */
bool finding_latent(const struct shadow_store *store);

#endif
