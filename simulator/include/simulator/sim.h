/*
 * Re-executing a trace through the same core, and judging it.
 *
 * The commands of each recorded thread run again, on a coroutine a thread, against a fresh tracker
 * with the simulated backend, in the trace's canonical order. Each outcome of the core is compared
 * with the recorded one; model rules are checked at every step; a version check follows witnessed
 * stores, copies and GPU work byte by byte. The first rule that breaks is the verdict.
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

#define TRK_STORY_LINES 8

/* One step of the story that explains a verdict. */
struct trk_story_line {
    uint64_t event; /* number */
    char text[160];
};

struct trk_sim_report {
    enum trk_verdict_kind verdict;
    enum trk_status failure_class; /* for TRK_VERDICT_FATAL */
    uint64_t event_at;             /* the event that broke the rule; TRK_NOT_KNOWN for ok */
    uint64_t event_visible;        /* where it became visible */
    uint32_t stream_at;            /* thread of event_at */
    uint64_t guest_addr;           /* first byte concerned; TRK_NOT_KNOWN if none */
    uint64_t size_bytes;
    bool complete;   /* the trace is whole, so the verdict covers all of it */
    char text[256];  /* one line: what broke */
    char detail[64]; /* the finer word, or "" */
    size_t story_count;
    struct trk_story_line story[TRK_STORY_LINES];
    /* What was done. */
    uint64_t events, operations, faults, copies, checks, frames, divergences;
    uint64_t ranges, protect_calls;
    uint32_t threads, regions;
};

/**
 * Re-execute a trace and judge it.
 *
 * @return TRK_OK: report holds a verdict (a broken rule is no error). TRK_E_DAMAGED, TRK_E_VERSION,
 *         TRK_E_MEMORY, TRK_E_SYSTEM, TRK_E_UNSUPPORTED (more than 1024 threads): could not be
 * judged at all. The trace is left at its end, or where the rule broke.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_sim_trace(struct trk_trace *trace, struct trk_sim_report *report,
                                           struct trk_error *error);

/* "ok", "stale-gpu-read", "fatal:retained" ...; a constant string. */
const char *trk_verdict_name(const struct trk_sim_report *report);

TRK_EXTERN_C_END

#endif
