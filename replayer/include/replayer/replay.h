/*
 * Running a plan under a policy on a device, measured or checked.
 *
 * A replay is one plan, one policy and all that they need on the device: it is prepared once, then
 * passes are run. A pass begins with the state in which the plan's first frame began, and leaves
 * everything as it is; restoring is not in the times. Several replays may stand on one device at
 * once, so that passes of two can alternate; those of one plan share their images on both sides.
 * One thread uses a device.
 */
#ifndef REPLAYER_REPLAY_H
#define REPLAYER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replayer/calibration.h"
#include "replayer/plan.h"
#include "replayer/policy.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_gpu;
struct trk_replay;

/* A device opened for replaying. */
struct trk_gpu_info {
    char device_name[256];
    char driver[256]; /* "name version" */
    uint32_t vendor_id, device_id;
    uint32_t api_version; /* as Vulkan packs it */
    double tick_ns;       /* of a timestamp */
    bool import;          /* VK_EXT_external_memory_host */
    bool direct;          /* device-local memory that the host can write */
    bool host_copy;       /* VK_EXT_host_image_copy */
    /* The extension that reads the clocks of both sides together, and the host's clock that it
     * reads; NULL: there is none. */
    const char *calibrated, *host_clock;
    bool labels;    /* VK_EXT_debug_utils */
    bool validated; /* the validation layer is loaded */
};

struct trk_gpu_options {
    size_t size; /* sizeof(struct trk_gpu_options) */
    uint32_t device_number;
    bool validate; /* load the validation layer, with synchronization validation */
};

/**
 * @return TRK_OK; TRK_E_UNSUPPORTED: no loader, driver or device, an API below 1.2, or no
 * validation layer where it was asked for; TRK_E_SYSTEM; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status
trk_gpu_open(struct trk_gpu **out, const struct trk_gpu_options *options, struct trk_error *error);
void trk_gpu_close(struct trk_gpu *gpu);
/* Destroy the device, and nothing of what is known of it: the validation layer may have something
 * to say of that, too. Behind it come trk_gpu_info, trk_gpu_messages and trk_gpu_close alone. */
void trk_gpu_end(struct trk_gpu *gpu);
const struct trk_gpu_info *trk_gpu_info(const struct trk_gpu *gpu);

/* What the validation layer has said so far: how often, and the first of it ("" if nothing). */
uint64_t trk_gpu_messages(const struct trk_gpu *gpu, const char **first);

/* What copies cost on a queue of the device, measured with copies into device-local memory. */
struct trk_gpu_cost {
    double region_ns;   /* each further region of a copy */
    double byte_ns;     /* each byte, in one region */
    double submit_ns;   /* an empty submit and the wait for it, by the host's clock */
    uint64_t gap_bytes; /* a gap that costs as much as a region: what `auto` bridges */
};

/**
 * Measure, once a queue: a second call gives what the first found.
 *
 * Blocks: well below a second. Returns TRK_OK or what the device answers.
 */
TRK_MUST_USE enum trk_status trk_gpu_cost(struct trk_gpu *gpu, enum trk_policy_queue queue,
                                          struct trk_gpu_cost *out, struct trk_error *error);

/**
 * Prepare a plan under a policy. All must outlive the replay.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: the device cannot run the policy (error says what it lacks);
 *         TRK_E_MEMORY: of the host or the device; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_replay_create(struct trk_replay **out, struct trk_gpu *gpu,
                                               const struct trk_plan *plan,
                                               const struct trk_transfer_policy *policy,
                                               struct trk_error *error);
void trk_replay_destroy(struct trk_replay *replay);

struct trk_replay_times {
    uint64_t device_ns; /* a copy was under way, by timestamps; TRK_NOT_KNOWN: the queue has none */
    uint64_t host_ns;   /* from the first copy into staging to the last wait, stores left out */
};

/* Where on the host's clock, in ns since the pass began. */
struct trk_replay_place {
    uint64_t host_begin_ns, host_end_ns;
    /* The first copy's beginning and the last one's end; TRK_NOT_KNOWN: none, or not calibrated. */
    uint64_t device_begin_ns, device_end_ns;
};

struct trk_replay_pass {
    struct trk_replay_times all;
    struct trk_replay_times *frames; /* an array of the caller's, plan->frame_count; or NULL */
    struct trk_replay_place *places; /* likewise */
    uint64_t regions;                /* copied by commands, or pieces by a shader */
    uint64_t moved_bytes;            /* with the gaps that were copied along */
    uint64_t submits;
    uint64_t lost_timestamps; /* of submits: what they took is missing in device_ns */
    uint64_t lost_frame;      /* of the first one: its number, as recorded */
    uint64_t lost_event;      /* and the first of the copies that it is among */
    /* Of submits whose stamps cannot be: longer than the host saw of it, or at another time. They
     * are missing in device_ns, too. */
    uint64_t wrong_timestamps, wrong_frame, wrong_event;
    struct trk_calibration calibration;
};

/**
 * Restore the state and run all frames once, measured.
 *
 * @return TRK_OK; TRK_E_SYSTEM: the device was lost or does not answer, TRK_E_MEMORY: error names
 *         the frame, and in event_number the event.
 */
TRK_MUST_USE enum trk_status trk_replay_pass(struct trk_replay *replay, struct trk_replay_pass *out,
                                             struct trk_error *error);

/* Bytes that are not what they should be. */
struct trk_replay_wrong {
    uint64_t event;      /* of the check that saw it; TRK_NOT_KNOWN: at the end of a frame */
    uint64_t frame;      /* number as recorded */
    uint64_t guest_addr; /* the first wrong byte; TRK_NOT_KNOWN: nobody has touched it */
    uint64_t size_bytes; /* to the last wrong byte of that check, at most */
    uint64_t
        touched_event; /* at the end: the last that touched the first byte; else TRK_NOT_KNOWN */
    enum trk_plan_side side;
    uint32_t finding; /* 1 + index in plan->findings: recorded so; 0: the replay's fault */
    uint8_t seen[8], wanted[8]; /* from the first wrong byte on, zeros behind the check's end */
};

struct trk_replay_check {
    uint64_t checks;         /* looks of the trace that were compared */
    uint64_t compared_bytes; /* and with the ends of frames */
    uint64_t oracle_bytes;   /* of these, with what the oracle says is current; others with what
                                the copies leave, done one after the other by the host */
    uint64_t wrong_recorded; /* checks with wrong bytes where the oracle says so */
    uint64_t wrong_replayed; /* checks with wrong bytes where it does not */
    uint64_t not_brought;    /* checks with what the recorded copies leave, which is not what the
                                oracle says is current: the trace lacks a copy */
    uint64_t unseen;         /* findings whose bytes came out right */
    /* Valid where the counts are not 0; the first one is of either of the first two. */
    struct trk_replay_wrong first, first_replayed, first_not_brought;
};

/**
 * Restore the state, run all frames once and compare what is on both sides with what should be
 * there: at each check of the trace, and all of the mirror at its end.
 */
TRK_MUST_USE enum trk_status
trk_replay_check(struct trk_replay *replay, struct trk_replay_check *out, struct trk_error *error);

TRK_EXTERN_C_END

#endif
