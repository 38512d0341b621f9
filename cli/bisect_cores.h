/*
 * Two builds of a tracker over one trace or scenario: what each came to, and where they part.
 */
#ifndef CLI_BISECT_CORES_H
#define CLI_BISECT_CORES_H

#include "bisect_probe.h"
#include "contained.h"
#include "simulator/states.h"
#include "simulator/why.h"

#define TRK_BISECT_CORES_SCHEMA "trk-bisect-cores/1"

/* Steps between two hashes that are compared first. */
#define TRK_CORES_BLOCK UINT64_C(65536)
/* Pages that may differ behind one step: as many as 64 regions have. */
#define TRK_CORES_PAGES 65536u

struct trk_cores_page {
    uint64_t guest_addr;
    struct trk_page_view view;
};

/* One build's side, in memory that its process shares with us. */
struct trk_cores_side {
    /* What it came to. */
    uint64_t reached;    /* steps behind it */
    bool over;           /* it came to an end, that of the trace or its own */
    bool crashed;        /* or its process did not, error says how; or there is a complaint */
    char complaint[160]; /* how it broke the interface; "" */
    char lacks[96];      /* it cannot be asked at all; "" */
    enum trk_status status;
    struct trk_error error;
    struct trk_sim_report report;        /* of a trace */
    struct trk_scenario_report scenario; /* of a scenario */
    struct trk_scenario_fault fault;
    /* Of a scenario, the operation of the step that was asked for. */
    char thread[64], operation_text[160];
    uint32_t operation;
    /* Rolling digests of the states. */
    uint64_t block[TRK_CORES_BLOCK]; /* behind each step of one block */
    size_t page_count;
    struct trk_cores_page pages[TRK_CORES_PAGES]; /* behind one step */
    uint64_t marks[];                             /* behind each block */
};

struct trk_cores {
    const struct trk_options *options;
    const char *path;
    struct trk_input input;              /* of a trace */
    const struct trk_scenario *scenario; /* NULL: it is a trace */
    const char *schedule;                /* of a scenario; NULL: the file's own */
    char verdicts[2][32];                /* of a scenario, whatever its orders are */
    struct trk_contained cores[2];       /* the good one, the bad one */
    struct trk_cores_side *sides[2];
    uint64_t steps, blocks; /* at most */
    uint64_t probes;        /* hashes that were compared */
    uint64_t runs;          /* of a build over all of it, or a part */
    /* What was found. */
    bool found;
    uint64_t step;
    bool state;      /* pages differ behind the step; else one of them did not go on */
    size_t page;     /* state: the first that differs, in both lists */
    const char *why; /* it was not found, though not all was compared; or NULL */
    bool has_event;  /* of a trace */
    struct trk_trace_event event;
    struct trk_why_report story; /* state, of a trace: of the page */
};

/* ---- bisect_cores_run.c ---------------------------------------------------------------------- */

/* What a run of a build is to give. */
enum trk_cores_pass {
    TRK_CORES_VERDICT, /* of a scenario, whatever its schedules are */
    TRK_CORES_MARKS,   /* the digest behind each block */
    TRK_CORES_STEPS,   /* behind each step of a block */
    TRK_CORES_VIEWS,   /* the pages behind a step */
};

/* Run both builds: an exit code, after a message. A crash is none: it is noted in the side. */
int trk_cores_run(struct trk_cores *cores, enum trk_cores_pass pass, uint64_t first, uint64_t end);
/* Of a side, with its marks. */
size_t trk_cores_side_bytes(const struct trk_cores *cores);

/* ---- bisect_cores_print.c -------------------------------------------------------------------- */

/* Print what was found. */
void trk_cores_print(struct trk_cores *cores);

#endif
