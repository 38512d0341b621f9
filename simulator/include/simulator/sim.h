/*
 * Re-executing a trace through the same core, and judging it.
 *
 * The commands of each recorded thread run again, on a coroutine a thread, against a fresh tracker
 * with the simulated backend, in the trace's canonical order. Each outcome of the core is compared
 * with the recorded one; model rules are checked at every step; an oracle follows witnessed
 * stores, copies and GPU work byte by byte, with or without the core. The first rule that breaks is
 * the verdict.
 *
 * Deterministic: the same file gives the same report, byte for byte.
 */
#ifndef SIMULATOR_SIM_H
#define SIMULATOR_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

/* The words of the scenario format; trk_verdict_name gives them. */
enum trk_verdict_kind {
    TRK_VERDICT_OK = 0,
    TRK_VERDICT_STALE_GPU_READ,
    TRK_VERDICT_STALE_CPU_READ,
    TRK_VERDICT_LOST_CPU_WRITE,
    TRK_VERDICT_LOST_GPU_WRITE,
    TRK_VERDICT_FATAL, /* with failure_class: "fatal:retained" ... */
    TRK_VERDICT_PROTECTION_LOOSE,
    TRK_VERDICT_UNHANDLED_FAULT,
    TRK_VERDICT_LIVELOCK,
    TRK_VERDICT_DEADLOCK,
    TRK_VERDICT_WATCH_LEAK,
    TRK_VERDICT_DIVERGENCE,
    TRK_VERDICT_ILLEGAL_STATE,
    TRK_VERDICT_TRACE_INCOMPLETE,
    TRK_VERDICT_UNKNOWN,
};

#define TRK_STORY_LINES 10

/* One step of the story that explains a verdict; steps are counted from 1, ascending by event. */
struct trk_story_line {
    uint64_t event;  /* number */
    char thread[32]; /* who did it */
    char text[192];  /* what was done, and what it meant */
    char role[48];   /* "last writer", "event at fault, point of no return" ...; or "" */
};

/* What is judged of a trace with foreign trackers (recorder/foreign.h), each for itself. */
enum trk_sim_judgement {
    TRK_SIM_JUDGED_BYTES = 0,      /* who wrote, copied and read which bytes */
    TRK_SIM_JUDGED_STATES = 1,     /* whose pages are, by the tracker's own operations */
    TRK_SIM_JUDGED_PROTECTION = 2, /* what the host lets through, beside these */
    TRK_SIM_JUDGED_LOCKS = 3,
    TRK_SIM_JUDGED_CORE =
        4, /* the operations run again, where a policy of the core's is followed */
    TRK_SIM_JUDGEMENTS = 5,
};

struct trk_sim_judged {
    uint64_t judged, unknown; /* of what was looked at; judged 0: all of it is unknown */
    bool broken;
    char why[96]; /* why nothing could be judged, or "" */
};

struct trk_sim_report {
    enum trk_verdict_kind verdict;
    enum trk_status failure_class; /* for TRK_VERDICT_FATAL */
    uint64_t event_at;             /* the event that broke the rule; TRK_NOT_KNOWN for ok, or
                                      where it may be missing */
    uint64_t event_visible;        /* where it became visible */
    uint32_t stream_at;            /* thread of event_at */
    uint64_t guest_addr;           /* first byte concerned; TRK_NOT_KNOWN if none */
    uint64_t size_bytes;
    bool complete;   /* the trace is whole, so the verdict covers all of it */
    char text[256];  /* one line: what broke */
    char detail[64]; /* the finer word, or "" */
    size_t story_count;
    struct trk_story_line story[TRK_STORY_LINES];
    /* Each one sentence, or "". */
    char writer[192];  /* who wrote the bytes last, as far as they matter */
    char holder[192];  /* where these bytes are now */
    char teller[192];  /* which bit or call should have told, and what it said */
    char missing[192]; /* the edge that was missing */
    char passes[192];  /* the nearest order that would have passed */
    /* What was done. */
    uint64_t events, operations, faults, copies, checks, frames, divergences;
    uint64_t unknown; /* of the checks: nothing could be said */
    uint64_t ranges, protect_calls;
    uint32_t threads, regions;
    uint32_t foreign_trackers; /* a bit each; 0: there is none, and nothing in judged */
    struct trk_sim_judged judged[TRK_SIM_JUDGEMENTS];
};

enum trk_sim_mode {
    TRK_SIM_ALL = 0,     /* re-execute and compare, and let the oracle judge */
    TRK_SIM_ORACLE_ONLY, /* run nothing: who wrote, copied and read which bytes is judged */
};

struct trk_sim_options {
    size_t size; /* sizeof(struct trk_sim_options) */
    enum trk_sim_mode mode;
    /*
     * Bytes that the oracle keeps together, a power of two from 1 to 4096; 1 is exact. What covers
     * a granule in part is taken for unknown content of all of it. 0: 1, or 64 where the trace has
     * more than 16 million events.
     */
    uint32_t granule_bytes;
};

struct trk_sim_options trk_sim_options_default(void);

/**
 * Judge a trace: re-execute it, unless the options say otherwise.
 *
 * After the first loss of events the core cannot be followed any more; the oracle goes on alone and
 * passes over what the loss leaves in doubt. Memory is bounded by the pages that are touched, and
 * beyond 256 MiB what is known of some is given up: their checks are counted as unknown.
 *
 * @param options  Not NULL.
 * @return TRK_OK: report holds a verdict (a broken rule is no error). TRK_E_DAMAGED, TRK_E_VERSION,
 *         TRK_E_MEMORY, TRK_E_SYSTEM, TRK_E_UNSUPPORTED (more than 1024 threads), TRK_E_ARGUMENT
 *         (options): could not be judged at all. The trace is left at its end, or where the rule
 * broke.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_sim_trace_with(struct trk_trace *trace,
                                                const struct trk_sim_options *options,
                                                struct trk_sim_report *report,
                                                struct trk_error *error);

/* The same with the default options. */
TRK_MUST_USE enum trk_status trk_sim_trace(struct trk_trace *trace, struct trk_sim_report *report,
                                           struct trk_error *error);

/* "bytes", "states", "protection", "locks", "core"; a constant string. */
const char *trk_sim_judgement_name(enum trk_sim_judgement judgement);

/* "ok", "stale-gpu-read", "fatal:retained" ...; a constant string. */
const char *trk_verdict_name(const struct trk_sim_report *report);
/* Whether a text is one of these. */
bool trk_verdict_is_name(const char *text);

TRK_EXTERN_C_END

#endif
