/*
 * A byte that looks wrong, and the moments of a trace at which a full synchronisation would have
 * mended it.
 *
 * One pass notes since when which side has older bytes, and at which moments nothing is under way
 * there. A probe asks at one of these: the trace is re-executed up to it, from the last checkpoint
 * before it, and the core is made to upload and to download the byte's page. What it does not hand
 * over stays older.
 */
#ifndef SIMULATOR_SYMPTOM_H
#define SIMULATOR_SYMPTOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

struct trk_symptom;

/* Bytes that look wrong in a frame. */
struct trk_symptom_range {
    uint64_t guest_addr, size_bytes;
    uint64_t first_event, last_event; /* of the frame */
};

/* One of these, by their events. */
struct trk_symptom_asked {
    const struct trk_symptom_range *ranges;
    size_t range_count;
};

struct trk_symptom_found {
    bool there;
    bool known; /* a store, a copy or an operation on one of the bytes is */
    /* At the end of frames: of which none is, and that are in no mapping; where the trace begins in
     * the middle, without a store. */
    uint64_t unknown_bytes;
    /* There is none, but the byte below would be one if no event were missing, or the trace did not
     * begin in the middle: a copy of it, or an operation on it, may be among those. */
    bool doubted;
    uint64_t guest_addr; /* the first byte with an older copy, and no word of it */
    uint64_t event;      /* behind which that was seen */
    size_t range;        /* the one that it is in */
    bool gpu;            /* the GPU's copy is older; else guest memory */
};

/**
 * Look for the first byte of the ranges that is older on one side, though the tracker's operations
 * say that there is nothing to copy: where something in the frame reads it, else at the frame's
 * end. Its past until then is noted. Where events are missing, what one of them may explain is not
 * what is looked for: it is noted as doubted, and the next byte is looked at.
 *
 * @param out  NULL unless found->there.
 * @return TRK_OK; TRK_E_ARGUMENT: the trace has no such event; what trk_why_trace gives.
 *
 * Allocates: yes. Blocks: reads the trace twice. Signal-safe: no. Threads: one call at a time a
 * trace.
 */
TRK_MUST_USE enum trk_status trk_symptom_create(struct trk_symptom **out, struct trk_trace *trace,
                                                const struct trk_symptom_asked *asked,
                                                struct trk_symptom_found *found,
                                                struct trk_error *error);
void trk_symptom_destroy(struct trk_symptom *symptom);

/* The moments that can be asked about, 1 to this; the last is found->event's or one before it. */
uint64_t trk_symptom_moments(const struct trk_symptom *symptom);
/* The event that a moment is behind. 0 is before all events: TRK_NOT_KNOWN. */
uint64_t trk_symptom_event(const struct trk_symptom *symptom, uint64_t moment);

enum trk_symptom_answer {
    TRK_SYMPTOM_MENDED, /* both sides have the newest bytes then, as far as is known */
    TRK_SYMPTOM_LEFT,   /* one side stays older */
    TRK_SYMPTOM_BUSY,   /* the core holds a lock there */
};

/* What a probe cost. */
struct trk_symptom_probe {
    enum trk_symptom_answer answer;
    bool forced; /* the core was asked; else, where it cannot be followed, the log alone */
    bool from_checkpoint;
    uint64_t events; /* that were re-executed */
};

/**
 * Synchronise at a moment, and look.
 *
 * @return TRK_OK; as trk_sim_trace.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one simulation at a time in a process.
 */
TRK_MUST_USE enum trk_status trk_symptom_ask(struct trk_symptom *symptom, uint64_t moment,
                                             struct trk_symptom_probe *probe,
                                             struct trk_error *error);

TRK_EXTERN_C_END

#endif
