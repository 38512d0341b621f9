/*
 * A regression: stored traces and scenarios, run against one build of a tracker and held against
 * what is expected of them, against another build, or against an earlier run.
 *
 * Each is run in a process of its own, so that a crash or a loop is a part of the table. What comes
 * out stands in the order of the names and is the same for any number of jobs.
 *
 * Glossary
 *   item     a trace or a scenario file
 *   side     a core that the items run against: the one in question, or the other one
 *   outcome  what an item came to on a side
 *   key      what an outcome depends on: content, core, schedule, seeds, build of trk. Two outcomes
 *            of one key that differ are an error of their own.
 */
#ifndef CLI_REGRESS_H
#define CLI_REGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "contained.h"
#include "traces/catalogue.h"
#include "traces/content.h"

#define TRK_REGRESS_SCHEMA "trk-regress/1"
/* The most items of a run. */
#define TRK_REGRESS_MOST 100000u

enum trk_regress_end {
    TRK_REGRESS_PASS = 0,   /* as expected */
    TRK_REGRESS_FAIL,       /* not as expected */
    TRK_REGRESS_CHANGED,    /* otherwise than on the other side */
    TRK_REGRESS_UNSTABLE,   /* two outcomes of one key differ */
    TRK_REGRESS_LEFT_OUT,   /* over a budget, or nothing that this core can be judged by */
    TRK_REGRESS_UNREADABLE, /* damaged, not there, or not what the manifest says */
    TRK_REGRESS_END_COUNT,
};

struct trk_regress_outcome {
    char verdict[32]; /* a word of the simulator's, or "crashed"; "": none */
    char detail[64];
    char thread[64];
    char text[256];                   /* what broke, in words */
    char event[224];                  /* the event or operation, in words */
    uint64_t event_at, event_visible; /* TRK_NOT_KNOWN: none */
    bool met;                         /* a scenario: what its file expects */
    bool ended;                       /* its time was over: how long it takes is chance */
    char left_out[96];                /* why it was not run to its end; "": it was */
    char unreadable[160];             /* why it cannot be run at all; "": it can */
};

/* Which file it is, and how it lies there: another is another. */
struct trk_regress_stamp {
    uint64_t device, inode, bytes;
    struct timespec changed;
};

struct trk_regress_item {
    char *path; /* to open */
    struct trk_regress_stamp stamp;
    char stored_name[128]; /* in a catalogue; "" in a folder */
    const char *name;      /* below the folder; of several folders the path */
    bool scenario;
    char hash[TRK_CONTENT_BYTES];
    uint64_t bytes;
    char expected[128];   /* "": the scenario's own */
    char unreadable[160]; /* found before anything was run */
    bool by_manifest;     /* unreadable is what a manifest makes of it */
    struct trk_regress_outcome outcome, other;
    bool compared; /* other is there */
    enum trk_regress_end end;
    char why[192]; /* one line; "" for pass */
};

/* One side's core. */
struct trk_regress_core {
    const char *path; /* of the plug-in; NULL: the built-in one */
    struct trk_core_about about;
    char build[TRK_CONTENT_BYTES]; /* its file's content */
    struct trk_regress_stamp stamp;
};

struct trk_regress {
    const char *const *folders; /* as given */
    size_t folder_count;
    struct trk_regress_item *items;
    size_t count, capacity;
    struct trk_regress_core core, other;
    bool two_cores;                /* other is one to run */
    const char *run;               /* other is this earlier run; NULL: it is not */
    struct trk_catalogue_run kept; /* that run, of the catalogue; id "": it is a file */
    unsigned jobs, repeat;         /* at least 1 */
    unsigned limit_s;              /* for one item on one side */
    uint64_t budget_s;             /* for all that begins; 0: none */
    uint64_t begun_s;
    uint64_t events_most;  /* of a trace; 0: any number */
    uint64_t walks, seed;  /* of scenarios with many schedules; walks 0: as their files say */
    const char *catalogue; /* whose traces they are; NULL: none's */
    bool keeps;            /* outcomes in it: it may be written */
    size_t ends[TRK_REGRESS_END_COUNT];
    char trk_build[64]; /* version and content of this program */
};

/* ---- files that may change meanwhile ----------------------------------------------------------
 */

/* How a file lies there; all 0: it does not. */
struct trk_regress_stamp trk_regress_stamp(const char *path);
/* Whether it lies there otherwise than then. */
bool trk_regress_changed(const char *path, const struct trk_regress_stamp *then);

/* ---- what there is to run -------------------------------------------------------------------- */

/* All below some folders, by their manifests where they have one. TRK_E_ARGUMENT: there is nothing.
 */
TRK_MUST_USE enum trk_status trk_regress_list(struct trk_regress *regress,
                                              const char *const *folders, size_t count,
                                              struct trk_error *error);
/* Add one; path and expected are copied. name_at: where in path the name begins. */
TRK_MUST_USE enum trk_status trk_regress_add(struct trk_regress *regress, const char *path,
                                             size_t name_at, const char *expected,
                                             struct trk_error *error);
/* All that a catalogue stores. */
TRK_MUST_USE enum trk_status trk_regress_list_catalogue(struct trk_regress *regress,
                                                        const char *folder,
                                                        struct trk_error *error);
void trk_regress_free(struct trk_regress *regress);

/* ---- running --------------------------------------------------------------------------------- */

/* Find out what a core is, within limit_s seconds. As trk_contained_probe, and TRK_E_SYSTEM. */
TRK_MUST_USE enum trk_status trk_regress_core_open(struct trk_regress_core *core, unsigned limit_s,
                                                   struct trk_error *error);
/* Name this program by its version and content. */
TRK_MUST_USE enum trk_status trk_regress_name_trk(struct trk_regress *regress,
                                                  struct trk_error *error);
/* Run all items on all sides. */
TRK_MUST_USE enum trk_status trk_regress_run(struct trk_regress *regress, struct trk_error *error);
/* Take the other side out of an earlier run's JSON. TRK_E_DAMAGED: it is none, or says of an item
 * what cannot be;
 * TRK_E_SYSTEM: it cannot be read. */
TRK_MUST_USE enum trk_status trk_regress_read_run(struct trk_regress *regress, const char *path,
                                                  struct trk_error *error);
/* Find the earlier run in the catalogue, by the beginning of its id. TRK_E_ARGUMENT: none, or
 * several. */
TRK_MUST_USE enum trk_status trk_regress_find_run(struct trk_regress *regress,
                                                  struct trk_error *error);
/* Take the other side out of that run. */
TRK_MUST_USE enum trk_status trk_regress_take_run(struct trk_regress *regress,
                                                  struct trk_error *error);
/* Fill in the words of an outcome's event, which a catalogue does not keep. */
void trk_regress_describe(const struct trk_regress_item *item, struct trk_regress_outcome *outcome);
/* Whether an item can have an event of that number; TRK_NOT_KNOWN: none, which all can. */
bool trk_regress_may_have(const struct trk_regress_item *item, uint64_t event);
/* Keep an outcome in the catalogue; one that is there and differs makes the item unstable. */
TRK_MUST_USE enum trk_status trk_regress_keep(const struct trk_regress *regress,
                                              struct trk_regress_item *item,
                                              const struct trk_regress_core *core,
                                              const struct trk_regress_outcome *outcome,
                                              struct trk_error *error);
/* All is kept: close the catalogue, so that its database has it all and nothing lies beside it. */
TRK_MUST_USE enum trk_status trk_regress_kept(const struct trk_regress *regress,
                                              struct trk_error *error);
/* Say of each item how it ends, and count. */
void trk_regress_judge(struct trk_regress *regress);

/* Whether it is what its key comes to each time: a verdict. A core that crashed may have been
 * ended, and how long it may take is chance. */
bool trk_regress_lasts(const struct trk_regress_outcome *outcome);
/* Whether two outcomes are the same: verdict, detail, events, thread. */
bool trk_regress_same(const struct trk_regress_outcome *one,
                      const struct trk_regress_outcome *other);
/* Whether there are two sides, and they did the same. */
bool trk_regress_unchanged(const struct trk_regress_item *item);
/* The first event at which two sides differ, or that broke both; TRK_NOT_KNOWN: none. which: whose
 * it is. */
uint64_t trk_regress_first(const struct trk_regress_item *item,
                           const struct trk_regress_outcome **which);

/* What of the key is the schedule: "recorded", "file" or "walk", and the seeds "0-0". */
const char *trk_regress_schedule(const struct trk_regress *regress,
                                 const struct trk_regress_item *item);
void trk_regress_seeds(const struct trk_regress *regress, const struct trk_regress_item *item,
                       char out[48]);
void trk_regress_core_id(const struct trk_regress_core *core, char out[200]);

/* ---- telling --------------------------------------------------------------------------------- */

const char *trk_regress_end_name(enum trk_regress_end end);
void trk_regress_print(const struct trk_regress *regress);
void trk_regress_print_json(const struct trk_regress *regress);
TRK_MUST_USE enum trk_status trk_regress_junit(const struct trk_regress *regress, int fd,
                                               struct trk_error *error);
int trk_regress_exit_code(const struct trk_regress *regress);

/* ---- around it ------------------------------------------------------------------------------- */

/* Record each trace of a folder's manifest again, by its command, into a new folder, each
 * within limit_s seconds. Exit code. */
int trk_regress_make(const char *folder, const char *out, unsigned limit_s);
/* Write a CTest entry and a GitHub Actions job below the working folder. core: may be NULL. Exit
 * code. */
int trk_regress_init(const char *folder, const char *core);

#endif
