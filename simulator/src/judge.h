/*
 * The oracle of traces: who wrote each byte last, which copy has it, and who should have told.
 *
 * It takes the events of a trace one by one and runs nothing: operations leave their pages in the
 * state that they are for, stores, copies and GPU work move the bytes, and what was read, lost or
 * refused is judged by that alone. So it works on the traces of any tracker that annotates, and
 * goes on where the core cannot be followed. What cannot be proven is not said; what could not be
 * judged is counted. Memory is bounded by the pages that are touched, and by fixed limits beyond
 * that.
 *
 * Rules: scenario-format, Order and Verdicts.
 */
#ifndef SIMULATOR_JUDGE_H
#define SIMULATOR_JUDGE_H

#include "finding.h"
#include "latent.h"
#include "order.h"
#include "recorder/trace.h"
#include "said.h"
#include "track/policy.h"
#include "versions.h"

#define JUDGE_COPIES_OPEN 32u /* copies of one stream that overlap in time */
#define JUDGE_DEPTH       8u  /* operations inside each other; deeper ones are not judged */

struct judge_copy {
    uint64_t begin;
    uint64_t guest_addr, size_bytes;
    unsigned direction;
    bool taken; /* begun in an upload's callback */
};

/* An operation that has ended inside another. */
struct judge_past {
    uint64_t event;
    uint64_t guest_addr, size_bytes;
    uint8_t op; /* 0: there was none */
};

/* An operation of the log that has not ended. */
struct judge_operation {
    uint64_t event;
    uint64_t guest_addr, size_bytes;
    uint64_t callback_event; /* TRK_NOT_KNOWN: none yet */
    uint8_t op, flags, access, tracker;
    uint8_t callback;         /* enum trk_callback; 0: a range's */
    bool in_callback;         /* what the stream does next may be the callback's */
    struct judge_past nested; /* the newest */
    bool was_gpu;             /* a fault, and its page was the GPU's */
    uint32_t holds;           /* of regions' locks, that it has taken and not given back */
    uint32_t last_domain;     /* of them */
    bool reentered;           /* it was begun inside an upload's callback of its own tracker */
};

struct judge_stream {
    uint32_t depth; /* of operations; those beyond JUDGE_DEPTH are only counted */
    struct judge_operation operations[JUDGE_DEPTH];
    uint32_t copy_count;
    struct judge_copy copies[JUDGE_COPIES_OPEN];
    uint32_t copies_beyond; /* begins of copies that are open, and for which there was no room */
    uint64_t last_await;    /* 1 + event */
    /* The newest fault, until the stream's next witness: whether a store was seen. */
    bool faulted;
    uint64_t fault_page;
    uint64_t next_pc;               /* of the fault that comes next; 0: not known */
    uint64_t place_offset;          /* of the newest event's chunk */
    uint64_t fault_pc, fault_event; /* of the newest fault */
};

struct judge {
    struct order *order;
    struct versions *versions;
    struct said said;
    uint32_t stream_count;
    struct judge_stream *streams;
    struct trk_policy policies[SAID_TRACKERS];
    uint32_t foreign;    /* a bit a tracker that is not the core's: it may be asked in callbacks */
    uint64_t last_watch; /* 1 + the newest watch that was taken directly */
    uint32_t last_watch_stream;
    bool watch_masks;  /* watches were taken or given back by masks, which are not followed */
    bool lossy;        /* begins of copies may be missing */
    bool among_losses; /* and anything else, now */
    bool holes;        /* and anything else, anywhere */
    bool disorder_known;
    bool guessed;                   /* events may stand in another order than they had */
    uint64_t newest_tsc, views_tsc; /* of any event, of a change of views */
    struct latents latents;
    /* What was done. */
    uint64_t copies, checks, unknown, frames;
};

/* granule_bytes: a power of two, 1 to 4096. judge_deinit in any case. Allocates. */
TRK_MUST_USE enum trk_status judge_init(struct judge *judge, uint32_t streams,
                                        uint32_t granule_bytes);
void judge_deinit(struct judge *judge);

/* Where the access was of the stream's newest fault, if that is this event; 0: not known. */
uint64_t judge_fault_pc(const struct judge *judge, uint32_t stream, uint64_t event);

/* Where the order of the events that follow is a guess; must outlive the judge. NULL: not known. */
void judge_disorder(struct judge *judge, const struct disorder *disorder);

/* Events before this one may be missing; UINT64_MAX: before any from now on. */
void judge_doubt(struct judge *judge, uint64_t event);

/*
 * Views may have changed untold: at some event with a number below `lost`, instead of what was said
 * here before; UINT64_MAX: at any from now on.
 */
void judge_lose_views(struct judge *judge, uint64_t lost);

/*
 * Events of any stream may be missing anywhere, before the due one and behind it, and nothing tells
 * where: what a stream has open is forgotten, and nothing rests on what is open any more.
 */
void judge_holes(struct judge *judge);

/* Whether what a stream has open now, by what it wrote down, is open. */
bool judge_sure(const struct judge *judge);

/*
 * The recorder lost events: the due event may stand among them; they are all before the due event,
 * the newest of which nothing is known to be behind has number `lost` - 1.
 */
void judge_among_losses(struct judge *judge);
void judge_behind_losses(struct judge *judge, uint64_t lost);

/* Take the next event; the first rule that breaks fills finding. TRK_OK or TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status judge_take(struct judge *judge, const struct trk_trace_event *event,
                                        struct finding *finding);

/* The tracker's own refusal, of this FAIL event: what broke, as far as the log says. */
void judge_refusal(const struct judge *judge, const struct trk_trace_event *event,
                   struct finding *finding);

/*
 * After the last event of a program that came to its end there: what nobody has excused. Others may
 * yet have noted a store that a check has met, or told of one. whole: nothing is missing.
 */
void judge_end(struct judge *judge, bool whole, struct finding *finding);

/* The innermost operation of a stream; NULL: it is in none, or in one too deep to be kept. */
struct judge_operation *judge_operation_of(const struct judge *judge, uint32_t stream);

/* judge_copies.c. A copy moves its bytes when it ends. */
void judge_copy_begin(const struct judge *judge, const struct trk_trace_event *event);
TRK_MUST_USE enum trk_status
judge_copy_end(struct judge *judge, const struct trk_trace_event *event, struct finding *finding);

/* judge_operations.c: what the tracker's operations leave behind. */
TRK_MUST_USE enum trk_status judge_operation_event(struct judge *judge,
                                                   const struct trk_trace_event *event,
                                                   struct finding *finding);
/* A run of whole pages is handed over by the operation under way; its first byte is the event's. */
TRK_MUST_USE enum trk_status judge_handed(struct judge *judge, const struct trk_trace_event *event,
                                          uint64_t size_bytes);

#endif
