/*
 * Inside the simulator: one run over one trace.
 *
 * Glossary
 *   stream    one recorded thread; it runs on a coroutine of its own
 *   due       the recorded event whose turn it is; its stream is resumed with it
 *   consume   a due event is used up: by the interpreter (a command that is no operation), or by
 *             the core emitting the same event
 *   operation a public call of the core, being re-executed; they nest through callbacks
 *   stop      the first rule broke: the report is written and no stream is resumed again
 *
 * A stream waits in two places only: its interpreter needs a command, or the core has emitted an
 * event and the stream's next one is not due yet. Since a hold's last event is emitted after the
 * release, the core never has to wait for a lock unless it does otherwise than recorded.
 */
#ifndef SIMULATOR_RUN_H
#define SIMULATOR_RUN_H

#include "core.h"
#include "coroutine.h"
#include "domains.h"
#include "foreign.h"
#include "judge.h"
#include "losses.h"
#include "recorder/trace.h"
#include "rules.h"
#include "simulator/sim.h"
#include "sums.h"

#define RUN_TRACKERS    16u
#define RUN_NESTED_KEPT 3u

/* A tracker of the trace and its host, which obeys the recorded outcome of each protection call. */
struct machine {
    struct trk_backend backend;   /* first: the core knows this part */
    struct trk_mappings mappings; /* no limit but what the log says was refused */
    struct run *run;
    struct trk_tracker *tracker; /* NULL: not declared */
    struct trk_policy policy;
    uint64_t last_watch; /* event that began the newest watch taken directly */
    uint32_t last_watch_stream;
};

struct span {
    uint64_t guest_addr, size_bytes;
};

/* What a story says of an operation that is over. */
struct past {
    uint64_t event;
    enum trk_op op;
    uint64_t guest_addr, size_bytes;
};

struct operation_run {
    struct operation_run *outer;
    struct machine *machine;
    struct asked asked;
    uint64_t guest_addr, size_bytes;
    uint64_t event; /* that began it */
    /* The newest callback; the event is TRK_NOT_KNOWN before the first. */
    uint64_t callback_event;
    enum trk_callback callback; /* 0: a range callback */
    struct span callback_range;
    uint32_t holds;       /* region locks taken and not yet released */
    uint32_t last_domain; /* of them */
    bool protect_failed;
    bool over; /* OP_END is through */
    uint32_t nested_count;
    struct past nested[RUN_NESTED_KEPT]; /* newest first */
};

struct stream {
    struct run *run;
    uint32_t index;
    struct coroutine *coroutine;
    struct core_thread thread;
    struct trk_trace_event due;
    bool has_due;
    /* The host needs the outcome of a call before the core emits the former call's event. */
    struct trk_trace_event ahead;
    bool has_ahead;
    uint32_t calls_open; /* protection calls whose event has not been emitted */
    bool in_core;        /* stands inside the core, between two outcomes */
    uint32_t wanted;     /* domain it waits for, or would */
    uint64_t previous;   /* event before the due one */
    uint64_t taken;      /* events consumed or due */
    bool waits_for_tail; /* the lock that it wants may be released behind the log's end */
    bool dead;           /* went past its last event: it is not resumed any more */
    struct operation_run *operation; /* innermost */
    uint64_t mask[TRK_REGION_WORDS]; /* of the watch_mask that is to follow */
    uint64_t operand;                /* of the join_views that is to follow */
    bool has_operand;
    /* An unhandled fault that another tracker may still serve. */
    bool unhandled;
    uint64_t unhandled_addr, unhandled_event;
};

/* Regions, in the order in which they were met. */
struct first_touches {
    struct first_touch *list;
    size_t count, capacity;
};

struct run {
    struct trk_trace *trace;
    struct trk_sim_report *report;
    enum trk_status failure; /* of the world: memory */
    uint64_t number;         /* of the due event */
    bool stopped;
    bool whole;       /* no event is missing, as far as the file says */
    bool cut;         /* the file has no END, or lost some before it */
    bool damaged;     /* somewhere in the file */
    bool resumed;     /* it begins at a checkpoint, and behind that nothing is missing */
    bool ended_early; /* one stream has ended, in a file that is cut */
    bool lossy;       /* events are missing: what differs from now on proves nothing */
    uint64_t guesses; /* events whose order is a guess */
    struct losses losses;
    uint64_t lost;       /* 1 + the newest event that a lost one may come behind */
    uint64_t views_lost; /* likewise a lost change of views */
    bool windowed;       /* the trace begins with a snapshot: what was before is not known */
    uint32_t restored;   /* trackers that got their state from it, a bit each */
    bool probing;        /* after the last event: who would wait for whom */
    bool tail;           /* the stream that runs is going past its last event */
    bool tail_hold;      /* what it did there was part of a hold */
    bool closing;        /* the trackers are being destroyed */
    uint32_t stream_count;
    struct stream *streams;
    struct stream aside; /* what is no step of an operation, even if it comes in the midst of one */
    uint32_t machine_count;
    struct machine machines[RUN_TRACKERS];
    struct stream *current;
    struct domains domains;
    struct sums sums;
    struct first_touches touches;
    struct judge judge; /* the oracle; it needs nothing of the above */
    struct foreign foreign;
    bool oracle_only; /* no core was asked for */
    bool deaf;        /* what the oracle finds ends nothing */
    bool core_lost;   /* events are missing: the core cannot be followed any more */
    uint32_t core_lost_stream;
    uint64_t core_lost_at; /* the first event that it was not followed to */
};

/* ---- run.c ----------------------------------------------------------------------------------- */

/*
 * A run over a trace, which stands at its beginning then; the report says nothing yet. Reads what
 * the trace's index does not hold. Where it fails *out is NULL and error filled.
 */
TRK_MUST_USE enum trk_status run_create(struct run **out, struct trk_trace *trace,
                                        const struct trk_sim_options *options,
                                        struct trk_sim_report *report, struct trk_error *error);
/* Likewise at the checkpoint where the trace stands. */
TRK_MUST_USE enum trk_status run_create_here(struct run **out, struct trk_trace *trace,
                                             const struct trk_sim_options *options,
                                             struct trk_sim_report *report,
                                             struct trk_error *error);
/* NULL: nothing. */
void run_destroy(struct run *run);

/* Likewise in place, of a trace that stands there; run_deinit in any case. */
enum trk_status run_init(struct run *run, struct trk_trace *trace,
                         const struct trk_sim_options *options, struct trk_sim_report *report);
void run_deinit(struct run *run);

/*
 * Let the oracle take the event, and the event's stream of the core, as far as that is followed.
 * After it run->stopped or run->failure may be set.
 */
void run_event(struct run *run, const struct trk_trace_event *event);

/* Take an event from before the checkpoint that the run begins at: it tells of what exists. */
void run_prologue(struct run *run, const struct trk_trace_event *event);

/* Run a stream until it waits. */
void stream_resume(struct stream *stream);
/* Give a stream its next event; false without memory for its coroutine. */
bool stream_make_due(struct stream *stream, const struct trk_trace_event *event);

/* The file just stops, and one stream before the others; or chunks are damaged somewhere. */
bool run_ends_early(const struct run *run);

/*
 * Whether events before the due one may be missing, so that what differs proves nothing: some were
 * lost or damaged, or the file just stops and a stream has ended before the others.
 */
bool run_doubtful(const struct run *run);

/* Whether no event is missing, and the order of none a guess, in what was read. */
bool run_whole(const struct run *run);

/* The core went another way than the log, and events are missing before this one: the stream's
 * coroutine is left where it stands, and the oracle goes on alone. */
void run_lose_core(struct run *run, uint64_t event);

/* Whether a stream has no further events in the log. */
bool stream_exhausted(const struct stream *stream);

/* Let each stream that stands in the core go on until it would wait or emit. */
void run_probe(struct run *run);

/* ---- core_trace.c ---------------------------------------------------------------------------- */

/* Whether the core in force can run a trace again; TRK_E_UNSUPPORTED with the reason. */
enum trk_status run_core_fits(const struct trk_trace *trace, const struct trk_sim_options *options,
                              struct trk_error *error);
/* The run whose streams are on this host thread; NULL: none. */
void run_in_force(struct run *run);
/* A plug-in wants a lock that is not free. Does not come back where it never will be; false: it is
 * none that the log knows. */
bool run_wait_word(const uint32_t *word);

/* ---- run_tail.c ------------------------------------------------------------------------------ */

/* Let a stream whose events have all been taken do its next step, which the log does not have. */
void run_tail(struct run *run, struct stream *stream);
/* Whether holds are missing between the newest known of a domain and this event's. */
bool run_hold_missing(const struct run *run, const struct trk_event *event);
/* Find the missing holds in what was not written down at the end of other streams. */
void run_find_missing(struct run *run, const struct trk_trace_event *due);

/* ---- first_touch.c --------------------------------------------------------------------------- */

/* A region is met with the due event, by one of its domains. run->failure may be set. */
void first_touch_note(struct run *run, uint32_t domain);
/* Before and behind a stream's run up to its due event. */
void first_touch_begin(struct run *run, const struct stream *stream,
                       const struct trk_trace_event *due);
void first_touch_end(struct run *run, const struct stream *stream);
void first_touch_deinit(struct run *run);

/* ---- alone.c --------------------------------------------------------------------------------- */

/* What follows from an event where no core is followed; run->stopped may be set. */
void alone_take(struct run *run, const struct trk_trace_event *event);
/* After the last event, of a trace that lacks nothing: who waits for whom in a circle, and, at_end,
 * watches that were not given back. */
void alone_end(struct run *run, bool at_end);

/* ---- run_finish.c ---------------------------------------------------------------------------- */

/* The last event was taken and nothing broke: what shows only now, and the verdict. */
enum trk_status run_finish(struct run *run);
/* A run over a part of the trace found the verdict: it is the report's. What was counted over all
 * of the trace stays. */
void run_take_verdict(struct trk_sim_report *report, const struct trk_sim_report *part);

/* What the oracle has counted so far, into the report. */
void run_take_counts(struct run *run);

/* ---- on a stream's coroutine ----------------------------------------------------------------- */

/* Wait until an event is due. Does not come back after a stop. */
void stream_await(struct stream *stream);
/* The due event is used up; wait for the next one. */
void stream_consume(struct stream *stream);
/* The run has ended, for the reason in the report or in run->failure. Does not come back. */
void stream_stop(struct stream *stream);
/* The world failed: no verdict. Does not come back. */
void stream_fail(struct stream *stream, enum trk_status status);

/* observer.c: the functions that the core calls. */
void observer_emit(void *context, const struct trk_event *event);
void observer_wait(void *context, uint32_t domain);
int observer_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                     unsigned rights);
void observer_failure(void *context, const struct trk_failure *failure);

/* interpreter.c: the body of a stream's coroutine, and of its callbacks. */
/* What the core calls with a range; the context is the tracker's machine. */
void interpreter_range(void *machine, uint64_t guest_addr, uint64_t size_bytes);
void interpreter_body(void *stream);

/* annotation.c: a command that is no operation. The due event. */
void annotation_take(struct stream *stream, const struct trk_trace_event *event);

/* outcome.c: the core did what was recorded; keep the books and look at the rules. */
void outcome_accept(struct stream *stream, const struct trk_trace_event *event);
/* The core did what must have come next; only the books are kept. */
void outcome_tail(struct stream *stream, const struct trk_event *event);

/* story.c, story_bytes.c, story_refusal.c: the verdict. Each fills the report once; the caller
 * stops. */
void verdict_divergence(struct stream *stream, const struct trk_trace_event *due,
                        const struct trk_event *done);
void verdict_wait(struct stream *stream, uint32_t domain);
void verdict_fatal(struct stream *stream, const struct trk_trace_event *event);
/* What the oracle found of bytes. */
void verdict_finding(struct run *run, const struct finding *finding);
/* What the oracle says of the tracker's refusal, or of one that is missing, at this event. */
void verdict_refusal(struct run *run, const struct trk_trace_event *event,
                     const struct finding *finding);
void verdict_breach(struct stream *stream, const struct breach *breach, uint64_t guest_addr,
                    uint64_t size_bytes);
void verdict_unhandled(struct run *run, uint32_t stream, uint64_t guest_addr, uint64_t event,
                       uint64_t visible);
void verdict_unknown(struct stream *stream, const char *text);
/* The event and stream are those of the newest watch that was taken directly. */
void verdict_watch_leak(struct run *run, uint64_t event, uint32_t stream, uint64_t guest_addr);
/* After the last event, when nothing broke. */
void verdict_end(struct run *run);

#endif
