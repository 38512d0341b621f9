/* What trk replay found, and printing it. */
#ifndef CLI_REPLAY_PRINT_H
#define CLI_REPLAY_PRINT_H

#include "input.h"
#include "replayer/replay.h"

struct trk_replay_run {
    struct trk_input input;
    struct trk_plan *plan;
    struct trk_gpu *gpu;
    struct trk_transfer_policy policy;
    struct trk_replay *replay;
    uint64_t loops;
    struct trk_replay_pass *passes;     /* loops */
    struct trk_replay_times *frames;    /* of the last pass */
    struct trk_replay_place *places;    /* likewise */
    struct trk_calibration calibration; /* from the first pass to the last */
    bool by_frame;
    bool checked;
    struct trk_replay_check check;
    uint64_t messages; /* of the validation layer */
    const char *first_message;
};

void trk_replay_print_text(const struct trk_replay_run *run, const char *schema);
void trk_replay_print_json(const struct trk_replay_run *run, const char *schema);

/* Findings of the oracle that no bytes can show, where bytes were compared. */
uint64_t trk_replay_broken(const struct trk_replay_run *run);

#endif
