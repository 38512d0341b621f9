/*
 * The rate that a device's link gives at best: the same bytes in one region, in one submit.
 */
#ifndef REPLAYER_ONE_REGION_H
#define REPLAYER_ONE_REGION_H

#include "replayer/replay.h"

TRK_EXTERN_C_BEGIN

struct trk_one_region;

/* The device must outlive it. */
struct trk_one_region_options {
    size_t size;         /* sizeof(struct trk_one_region_options) */
    uint64_t size_bytes; /* above 0 */
    bool down;           /* from the device to the host's memory; else the other way */
};

/**
 * Make the two buffers of it.
 *
 * @return TRK_OK; TRK_E_MEMORY: of the host or the device; TRK_E_SYSTEM.
 *
 * Allocates: yes. Blocks: as the driver does. Signal-safe: no. Threads: the device's.
 */
TRK_MUST_USE enum trk_status trk_one_region_create(struct trk_one_region **out, struct trk_gpu *gpu,
                                                   const struct trk_one_region_options *options,
                                                   struct trk_error *error);
void trk_one_region_destroy(struct trk_one_region *one);
uint64_t trk_one_region_bytes(const struct trk_one_region *one);

/**
 * Copy once, on the universal queue: host_ns is from recording the command to the end of the wait;
 * nothing is copied by the host.
 *
 * @return TRK_OK; TRK_E_SYSTEM: the device was lost, or does not answer.
 */
TRK_MUST_USE enum trk_status trk_one_region_pass(struct trk_one_region *one,
                                                 struct trk_replay_times *out,
                                                 struct trk_error *error);

TRK_EXTERN_C_END

#endif
