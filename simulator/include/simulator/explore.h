/*
 * Other legal orders of a recorded trace.
 *
 * What a trace's threads did to a few pages is cut into windows: some operations of several
 * threads, the state in which they found the pages, and the order that the program itself made
 * among them. Each window is a scenario (simulator/scenario.h), and the scenario's engines try the
 * orders that the tracker's locks would have allowed as well. Whatever concerns other pages is left
 * out.
 *
 * Beyond the first read that sees something else than in the recording nobody knows what the guest
 * would have done: a verdict there is speculative, and says from which event on.
 *
 * With a plug-in in force (simulator/core.h) the orders are tried on it, of foreign trackers'
 * operations too, and of one thread's alone: the tracker is another than the one that was recorded.
 * Whether a window tells the trace is asked of libtrack's own core.
 *
 * Deterministic: the same trace and options give the same report, byte for byte.
 */
#ifndef SIMULATOR_EXPLORE_H
#define SIMULATOR_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"
#include "simulator/scenario_story.h"
#include "simulator/sim.h"

TRK_EXTERN_C_BEGIN

#define TRK_EXPLORE_PAGES_MOST    16u /* neighbouring pages looked at together, or single ones */
#define TRK_EXPLORE_FINDINGS_MOST 16u /* that a report holds; more are counted */
#define TRK_EXPLORE_STEPS_MOST    64u /* operations of a window */

enum trk_explore_engine {
    TRK_EXPLORE_EXHAUSTIVE = 0,
    TRK_EXPLORE_RANDOM,
    TRK_EXPLORE_PCT,
};

struct trk_explore_report;

struct trk_explore_options {
    size_t size; /* sizeof(struct trk_explore_options) */
    /*
     * The pages: `pages` neighbours from guest_addr on, in one window; or, when that is
     * TRK_NOT_KNOWN, the pages of the verdict of trk_sim_trace, or else the `pages` single pages
     * that threads took turns at most often. 1 .. TRK_EXPLORE_PAGES_MOST.
     */
    uint64_t guest_addr;
    uint32_t pages;
    uint64_t from, to; /* events, both included; default all */
    uint32_t steps;    /* operations a window, 1 .. TRK_EXPLORE_STEPS_MOST */
    enum trk_explore_engine engine;
    uint64_t seed;        /* random, pct */
    uint64_t schedules;   /* at most, a window; at least 1 */
    uint32_t preemptions; /* pct */
    /* Asked before each window, before its first order and behind each that is tried; false ends
     * the exploration, which is then not complete. What was found stays. NULL: no. */
    bool (*go_on)(void *context, const struct trk_explore_report *so_far);
    void *context;
    bool want_script; /* fill the report's script */
};

/* All events, the 8 most shared pages, 12 operations a window, exhaustive, 100,000 schedules. */
struct trk_explore_options trk_explore_options_default(void);

/* A verdict that some order of a window ends in. */
struct trk_explore_finding {
    char verdict[32]; /* a word of the scenario format */
    char text[512];   /* one line: what broke */
    char thread[64];
    char operation[160];
    uint64_t event_at;   /* event of that operation; TRK_NOT_KNOWN: after the window */
    uint64_t guest_addr; /* first byte concerned; TRK_NOT_KNOWN: none */
    uint64_t page_addr;  /* of the window */
    uint32_t pages;
    uint64_t from, to;       /* events of the window */
    bool recorded;           /* the recorded order ends so, too */
    uint64_t speculative_at; /* the read that first saw something else; TRK_NOT_KNOWN: none */
    uint64_t schedules;      /* tried in this window */
    char orders[40];         /* all there are, in decimal; "" not known */
    char failing[40];        /* likewise those of them that break a rule */
    uint64_t preemptions;    /* in the order shown */
    struct trk_scenario_story story;
    char schedule[640]; /* for trk_explore_replay; "" too long for a line */
};

struct trk_explore_report {
    struct trk_sim_report recorded; /* of the trace as it is */
    uint32_t foci;                  /* sets of pages */
    /* Where pages were chosen of those that threads took turns at (with a plug-in, of all): how
     * many there are. More than foci: not complete. TRK_NOT_KNOWN: they were named, or are the
     * verdict's. */
    uint64_t pages_met;
    uint64_t windows;    /* with more than one thread in them */
    uint64_t distinct;   /* that differ in more than numbers: these were explored */
    uint64_t left_out;   /* that no scenario can say, or that the plug-in cannot run */
    char lacks[128];     /* what the first of these needs of the plug-in; "": none does */
    uint64_t unfaithful; /* whose recorded order ends otherwise than the trace: not judged */
    uint64_t stopped;    /* that have more orders than were to be tried */
    uint64_t schedules;  /* tried in all */
    char orders[40];     /* of all windows explored, in decimal; "" not known */
    /* The trace itself breaks a rule, and no window's recorded order does: that needs what windows
     * leave out. */
    bool not_shown;
    /* Pages or events were asked for in which no threads meet: no window, so nothing was judged. */
    bool nothing;
    /* Sets of pages in which no window begins, since the log never proves what state they are in:
     * of a foreign tracker's trace that begins in the middle, or lacks events. Not complete. */
    uint32_t unsettled;
    /* Operations of foreign trackers are in no window: not complete. Never so with a plug-in. */
    bool foreign;
    bool ended;             /* by go_on, before all was tried */
    bool complete;          /* the trace is whole, and every order of every window was tried */
    uint64_t finding_count; /* findings beyond the first TRK_EXPLORE_FINDINGS_MOST are counted */
    struct trk_explore_finding findings[TRK_EXPLORE_FINDINGS_MOST];
    /* The window of the first finding, or else the one with the most schedules, as a scenario file
     * that holds. The caller's; NULL: none. */
    char *script;
    /* While orders are tried, with want_script: their window, as a scenario file that asks for ok;
     * for whoever is left with what go_on was shown. NULL else. */
    const char *trying;
};

/**
 * Explore a trace.
 *
 * @return TRK_OK: report is filled (a broken rule is no error); its script is the caller's to free
 *         whatever is returned. TRK_E_ARGUMENT: options out of bounds. TRK_E_DAMAGED,
 *         TRK_E_VERSION, TRK_E_MEMORY, TRK_E_SYSTEM, TRK_E_UNSUPPORTED as trk_sim_trace.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_explore_trace(struct trk_trace *trace,
                                               const struct trk_explore_options *options,
                                               struct trk_explore_report *report,
                                               struct trk_error *error);

/**
 * Run one order that a finding gave: the report has its window, and the finding if it is there.
 *
 * @return As above; TRK_E_ARGUMENT with a text in error: the line is none, or none of this trace;
 *         TRK_E_CONFLICT: the core does otherwise than it did; the text says where.
 */
TRK_MUST_USE enum trk_status trk_explore_replay(struct trk_trace *trace, const char *schedule,
                                                struct trk_explore_report *report,
                                                struct trk_error *error);

TRK_EXTERN_C_END

#endif
