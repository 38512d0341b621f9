/*
 * The checkpoints of a trace that is written again, at the places of the new one.
 *
 * A checkpoint stays true while the same events are before it, in the same order: it gets the new
 * places of the streams. Where the order is a guess because events are missing, it may not.
 */
#ifndef CLI_KEPT_CHECKPOINTS_H
#define CLI_KEPT_CHECKPOINTS_H

#include "rewrite.h"

struct trk_kept_checkpoint;

/* Zero-initialised is empty. */
struct trk_kept_checkpoints {
    struct trk_kept_checkpoint *list;
    size_t count;
    size_t next;
    uint64_t *seen; /* a stream of the source: events read so far */
    size_t stream_count;
    uint64_t left_out; /* that cannot be kept */
};

/*
 * Take those behind event `first` and before event `end` of a trace that was scanned, and rewind
 * it. Statuses: of reading.
 */
TRK_MUST_USE enum trk_status trk_kept_checkpoints_find(struct trk_kept_checkpoints *kept,
                                                       struct trk_trace *trace, uint64_t first,
                                                       uint64_t end, struct trk_error *error);

/*
 * An event of the source was read, and is not written yet: write the checkpoints that stand before
 * it. All events from the first one on are told. Statuses: the writer's.
 */
TRK_MUST_USE enum trk_status trk_kept_checkpoints_event(struct trk_kept_checkpoints *kept,
                                                        struct trk_rewrite *rewrite,
                                                        const struct trk_trace_event *event,
                                                        struct trk_error *error);

void trk_kept_checkpoints_deinit(struct trk_kept_checkpoints *kept);

/* Say on standard error that so many are not in what the command has written, and why. */
void trk_kept_checkpoints_say(const struct trk_options *options, const char *path, uint64_t count,
                              const char *why);

#endif
