#include "calibration_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "json_out.h"

#define MILLION 1e6

void trk_calibration_print(const struct trk_gpu_info *info,
                           const struct trk_calibration *calibration)
{
    const char *fault = trk_calibration_fault(calibration);
    if (info->calibrated == NULL) {
        fputs("not read together: the device has no calibrated time stamps", stdout);
    } else if (calibration->state == TRK_CALIBRATION_NONE) {
        fputs("not read together: there were no time stamps", stdout);
    } else if (fault != NULL) {
        printf("the device's %s, by %s and %s", fault, info->calibrated, info->host_clock);
    } else {
        printf("the device's is on the host's within %.2f us, and gains %+.1f ppm (%.1f either "
               "way), by %s and %s",
               (double)calibration->deviation_ns / 1e3, calibration->drift * MILLION,
               calibration->drift_error * MILLION, info->calibrated, info->host_clock);
    }
}

void trk_calibration_json(cJSON *object, const struct trk_gpu_info *info,
                          const struct trk_calibration *calibration)
{
    if (info->calibrated == NULL || calibration->state == TRK_CALIBRATION_NONE) {
        cJSON_AddNullToObject(object, "calibration");
        return;
    }
    const char *fault = trk_calibration_fault(calibration);
    cJSON *entry = cJSON_AddObjectToObject(object, "calibration");
    trk_json_out_text(entry, "extension", info->calibrated);
    trk_json_out_text(entry, "host_clock", info->host_clock);
    trk_json_out_number(entry, "deviation_ns", calibration->deviation_ns);
    if (calibration->state == TRK_CALIBRATION_BACKWARDS) {
        cJSON_AddNullToObject(entry, "drift_ppm");
        cJSON_AddNullToObject(entry, "drift_error_ppm");
    } else {
        cJSON_AddNumberToObject(entry, "drift_ppm", calibration->drift * MILLION);
        cJSON_AddNumberToObject(entry, "drift_error_ppm", calibration->drift_error * MILLION);
    }
    trk_json_out_text(entry, "fault", fault);
}

bool trk_replay_times_fault(const struct trk_replay_pass *pass, char *out, size_t size)
{
    const char *fault = trk_calibration_fault(&pass->calibration);
    if (pass->lost_timestamps > 0) {
        snprintf(out, size, "a time stamp was lost in frame %" PRIu64 ", event %" PRIu64,
                 pass->lost_frame, pass->lost_event);
    } else if (pass->wrong_timestamps > 0) {
        snprintf(out, size, "a time stamp is wrong in frame %" PRIu64 ", event %" PRIu64,
                 pass->wrong_frame, pass->wrong_event);
    } else if (fault != NULL) {
        snprintf(out, size, "the device's clock %s", fault);
    }
    return pass->lost_timestamps + pass->wrong_timestamps > 0 || fault != NULL;
}
