/* What a device's clock is by the host's: for people and as JSON. */
#ifndef CLI_CALIBRATION_PRINT_H
#define CLI_CALIBRATION_PRINT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "replayer/replay.h"

/* A part of a line: how near the two are, what the device's drifts by, or why that is not known. */
void trk_calibration_print(const struct trk_gpu_info *info,
                           const struct trk_calibration *calibration);
/* An object "calibration"; null where the clocks were not read together. */
void trk_calibration_json(cJSON *object, const struct trk_gpu_info *info,
                          const struct trk_calibration *calibration);

#define TRK_REPLAY_FAULT_BYTES 100u
/* Whether the device's times of a pass are not right, and how: a sentence without its stop. */
bool trk_replay_times_fault(const struct trk_replay_pass *pass, char *out, size_t size);

#endif
