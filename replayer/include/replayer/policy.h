/*
 * A transfer policy: how the bytes that a tracker reported are brought to the device.
 *
 * An expression is words joined by '+', then options behind commas:
 *
 *     WORD[+WORD ...][,OPTION=VALUE ...]        auto+scatter,queue=transfer,threads=2
 *
 * One word may say how ranges become regions (per-range, coalesce:BYTES, auto, whole,
 * granule:BYTES), one how regions travel (copy, scatter, fetch, import, direct, host-copy). What is
 * not said is per-range and copy. Numbers take K, M and G (of 1024).
 */
#ifndef REPLAYER_POLICY_H
#define REPLAYER_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_POLICY_TEXT_BYTES  160u
#define TRK_POLICY_THREADS_MAX 64u

enum trk_policy_shape {
    TRK_SHAPE_PER_RANGE = 0, /* as recorded */
    TRK_SHAPE_COALESCE = 1,  /* gaps up to shape_bytes are copied along */
    TRK_SHAPE_AUTO = 2,      /* likewise, up to what a region costs on this device */
    TRK_SHAPE_WHOLE = 3,     /* any gap */
    TRK_SHAPE_GRANULE = 4,   /* ranges are widened to multiples of shape_bytes */
};

enum trk_policy_path {
    TRK_PATH_COPY = 0,      /* staging, then one copy region each */
    TRK_PATH_SCATTER = 1,   /* one linear copy; a shader puts the pieces in place, or gathers */
    TRK_PATH_IMPORT = 2,    /* guest memory itself is the source: no staging */
    TRK_PATH_DIRECT = 3,    /* the host writes the device's memory */
    TRK_PATH_HOST_COPY = 4, /* the driver's own host copies, of images */
    TRK_PATH_IMPORT_SCATTER = 5, /* the shader reads guest memory itself */
    TRK_PATH_FETCH = 6,          /* staging, and the shader reads it there: no linear copy */
};

enum trk_policy_queue {
    TRK_QUEUE_UNIVERSAL = 0,
    TRK_QUEUE_COMPUTE = 1,  /* a family that computes and does not draw */
    TRK_QUEUE_TRANSFER = 2, /* a family that only copies */
};

struct trk_transfer_policy {
    enum trk_policy_shape shape;
    uint64_t shape_bytes; /* COALESCE, GRANULE */
    enum trk_policy_path path;
    enum trk_policy_queue queue;
    uint32_t threads;     /* that copy into staging, 1 .. TRK_POLICY_THREADS_MAX */
    uint64_t ring_bytes;  /* of staging, in all */
    uint64_t batch_bytes; /* at most, in one submit */
    double slow; /* share of the copies that is done again, inside what is measured: 0.05 */
};

/**
 * Read an expression.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: error says what is wrong and at which column, from 1.
 */
TRK_MUST_USE enum trk_status trk_transfer_policy_parse(struct trk_transfer_policy *out,
                                                       const char *text, struct trk_error *error);

/* The shortest expression that means the same. */
void trk_transfer_policy_print(const struct trk_transfer_policy *policy,
                               char out[TRK_POLICY_TEXT_BYTES]);

/* One expression for each kind of policy that there is, ended by NULL; whether a device can run it
 * is known when it is tried (trk_replay_create). */
const char *const *trk_transfer_policy_list(void);

TRK_EXTERN_C_END

#endif
