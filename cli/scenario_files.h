/*
 * Running scenario files: one, or all below a folder.
 *
 * Files of a folder are taken in the order of their paths, byte by byte, so that a report is the
 * same on every machine.
 */
#ifndef CLI_SCENARIO_FILES_H
#define CLI_SCENARIO_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "contained.h"
#include "simulator/scenario.h"

/* The most files that one run takes. */
#define TRK_SCENARIO_FILES_MOST 100000u

enum trk_scenario_end {
    TRK_SCENARIO_HELD = 0, /* the expectation is met */
    TRK_SCENARIO_FAILED,   /* it is not */
    TRK_SCENARIO_REFUSED,  /* it needs what this program cannot do yet */
    TRK_SCENARIO_BROKEN,   /* it is no scenario */
    TRK_SCENARIO_CRASHED,  /* a plug-in's core ended its process, never came back, or gave no answer
                            */
    TRK_SCENARIO_END_COUNT,
};

struct trk_scenario_file {
    char *path;
    const unsigned char *json; /* size_bytes of it, instead of the file of that path; NULL: none */
    size_t size_bytes;
    enum trk_scenario_end end;
    char name[64];
    char needs[128];                     /* refused */
    uint32_t scaled_bytes;               /* pages of this size instead of 4 KiB ones; 0: as it is */
    const char *unscaled;                /* refused for its pages, and why it was not scaled */
    struct trk_policy policy;            /* of all but broken and crashed ones */
    struct trk_scenario_fault fault;     /* broken, crashed */
    bool slow;                           /* crashed: no, it was going on when its time was over */
    struct trk_scenario_report report;   /* held, failed */
    struct trk_scenario_passing passing; /* beside the report's schedule, if that breaks a rule */
    const struct trk_contained *core;    /* that it ran against; NULL: the built-in one */
};

/* What is asked for beside what the files say; all 0: nothing. */
struct trk_scenario_asked {
    const char *schedule; /* NULL, or the one schedule to run, of a report; then path is a file */
    unsigned jobs;        /* processes, up to TRK_JOBS_MOST; the outcome is the same */
    struct trk_scenario_options options;
    struct trk_contained core; /* core NULL: the built-in one */
    bool folder;               /* set by the run: only of files that fail look for passing orders */
    bool brief;                /* look for none */
    bool scale; /* cases of 4 KiB pages on trackers of larger ones: core-check alone */
};

struct trk_scenario_files {
    struct trk_scenario_file *files;
    size_t count, capacity;
    size_t ends[TRK_SCENARIO_END_COUNT];
    bool folder;                     /* given as a folder, though it may hold one file only */
    struct trk_scenario_asked asked; /* what files point to */
    struct trk_core_about core;      /* that they ran against; inside: the built-in one, too */
};

/* Whether a path names a folder or, by its ending, a scenario file. */
bool trk_scenario_files_named(const char *path);

/**
 * List a file, or every *.json below a folder, and run them all.
 *
 * @return TRK_OK; TRK_E_ARGUMENT when there is none, or a schedule for a folder, or one that the
 *         file does not run; TRK_E_SYSTEM;
 *         TRK_E_MEMORY. files may be destroyed in any case.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one at a time.
 */
TRK_MUST_USE enum trk_status trk_scenario_files_run(struct trk_scenario_files *out,
                                                    const char *path,
                                                    const struct trk_scenario_asked *asked,
                                                    struct trk_error *error);

/* Add one out of memory that outlives the list, which was zeroed before its first. */
TRK_MUST_USE enum trk_status trk_scenario_files_add(struct trk_scenario_files *files,
                                                    const char *path, const unsigned char *json,
                                                    size_t size_bytes, struct trk_error *error);
/* Run those that were added; as trk_scenario_files_run() of a folder. */
TRK_MUST_USE enum trk_status trk_scenario_files_run_added(struct trk_scenario_files *files,
                                                          const struct trk_scenario_asked *asked,
                                                          struct trk_error *error);

void trk_scenario_files_destroy(struct trk_scenario_files *files);

/* "held", "failed", "refused", "broken", "crashed". */
const char *trk_scenario_end_name(enum trk_scenario_end end);

/* Print all of it on standard output, for people or as one JSON object. */
void trk_scenario_files_print(const struct trk_scenario_files *files, const char *path);
void trk_scenario_files_print_json(const struct trk_scenario_files *files, const char *path);

/* The schema of that object. */
const char *trk_scenario_files_schema(const struct trk_scenario_files *files);

/* What the files come to, as an exit code. */
int trk_scenario_files_exit_code(const struct trk_scenario_files *files);

#endif
