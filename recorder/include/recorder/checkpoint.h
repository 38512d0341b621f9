/*
 * Checkpoints: the state in the middle of a trace, from which it can be read and re-executed
 * without what was before [F-40]. Who writes a trace again puts them in (`trk pack --checkpoints`).
 *
 * They stand where no operation, hold or copy is open. Each says what has changed since the one
 * before it; every so many one says all. Reading puts them together.
 */
#ifndef RECORDER_CHECKPOINT_H
#define RECORDER_CHECKPOINT_H

#include "recorder/packing.h"
#include "recorder/trace.h"
#include "recorder/writer.h"

TRK_EXTERN_C_BEGIN

/* How many a trace has that are not damaged; after the scan. They are in the order of events. */
size_t trk_trace_checkpoint_count(const struct trk_trace *trace);

struct trk_trace_checkpoint {
    uint64_t event_number; /* of the first event behind it, as trk_trace_next numbers them */
    bool whole_behind;     /* no event behind it is lost, damaged or cut off */
};

/**
 * Go on at a checkpoint: trk_trace_next gives the first event behind it, trk_trace_snapshot the
 * state there, both until the trace is rewound.
 *
 * @param index  Below trk_trace_checkpoint_count.
 * @param out    NULL: nobody asks.
 * @return TRK_OK; TRK_E_DAMAGED: it is not readable, and the trace is rewound; TRK_E_MEMORY;
 *         TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_trace_go_to(struct trk_trace *trace, size_t index,
                                             struct trk_trace_checkpoint *out,
                                             struct trk_error *error);

/**
 * Let trk_trace_next give this event next: from the last checkpoint before it, or where there is
 * none from the beginning. Scans the trace if that was not done; after trk_trace_scan_quick nothing
 * before the checkpoint is read.
 *
 * @return TRK_OK; TRK_E_END: there are not so many events; what scanning and reading give.
 */
TRK_MUST_USE enum trk_status trk_trace_seek(struct trk_trace *trace, uint64_t event_number,
                                            struct trk_error *error);

/*
 * After trk_trace_go_to: what must be known of the time before, as it was recorded: declared
 * trackers, views. The trace's, until it is rewound.
 */
const struct trk_trace_event *trk_trace_prologue(const struct trk_trace *trace, size_t *count);

/* After trk_trace_go_to: how many events of a stream there are before; else 0. */
uint64_t trk_trace_before(const struct trk_trace *trace, size_t stream);

/* What a checkpoint says, but for where the streams stand: that is each file's own. */
struct trk_checkpoint_body {
    bool full;               /* it says all, and rests on none before it */
    struct trk_packing rest; /* of the payload, behind the streams; bytes are to be freed */
};

/**
 * For who writes the events of a trace again: what the checkpoint says that trk_trace_go_to went
 * to.
 *
 * @param index  As was given there.
 * @param full   Say all, also where the checkpoint tells only what is other than before.
 * @return TRK_OK; TRK_E_DAMAGED, TRK_E_MEMORY, TRK_E_SYSTEM: out is empty.
 */
TRK_MUST_USE enum trk_status trk_trace_checkpoint_body(struct trk_trace *trace, size_t index,
                                                       bool full, struct trk_checkpoint_body *out,
                                                       struct trk_error *error);

/**
 * Write a checkpoint behind all that was appended so far.
 *
 * @param event_number  Of the next event in canonical order.
 * @param payload       As [F-40] says.
 * @return TRK_OK, TRK_E_ARGUMENT (it is too large), TRK_E_MEMORY, TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_writer_checkpoint(struct trk_writer *writer, uint64_t event_number,
                                                   const void *payload, size_t size_bytes,
                                                   struct trk_error *error);

/* Flags, the first number of a payload. */
#define TRK_CHECKPOINT_FULL 1u

TRK_EXTERN_C_END

#endif
