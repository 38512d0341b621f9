/*
 * When which frame began.
 *
 * Frames are those of the first thread that notes any, and an event is in the newest of them that
 * began no later than it, by their time stamps. Their numbers are taken to ascend; with that, the
 * time of a frame is found by halves. Where numbers that are met do not, all are read.
 */
#ifndef TRACES_QUERY_FRAMES_H
#define TRACES_QUERY_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

struct trk_query;

struct trk_query_frame {
    uint64_t tsc, number;
};

/* Frames one after the other. */
struct trk_query_frame_list {
    struct trk_query_frame *at;
    size_t count, room;
    uint64_t first_tsc, last_tsc; /* known in here: outside nothing is said */
};

struct trk_query_frames {
    bool looked; /* for the thread */
    bool none;   /* no thread notes frames */
    bool all;    /* list has all of them */
    bool mixed;  /* their numbers do not ascend */
    uint32_t stream;
    uint32_t first_chunk; /* of the stream, with a frame in it */
    uint32_t *chunks;     /* of the stream, from that on */
    size_t chunk_count;
    struct trk_query_frame_list list; /* all */
};

void trk_query_frames_deinit(struct trk_query_frames *frames);

/* Read all frames. TRK_OK; what reading gives. */
TRK_MUST_USE enum trk_status trk_query_frames_all(struct trk_query *query, struct trk_error *error);

/**
 * Find the times at which the frames `first` to `last` run.
 *
 * @param out  Frames of that time; to be freed by trk_query_frame_list_deinit. Its first_tsc is
 * above its last_tsc if there are no such frames.
 * @return TRK_OK; what reading gives.
 */
TRK_MUST_USE enum trk_status trk_query_frames_find(struct trk_query *query, uint64_t first,
                                                   uint64_t last, struct trk_query_frame_list *out,
                                                   struct trk_error *error);
void trk_query_frame_list_deinit(struct trk_query_frame_list *list);

/* The frame at a time, or TRK_NOT_KNOWN: before the first. */
uint64_t trk_query_frame_at(const struct trk_query_frame_list *list, uint64_t tsc);

#endif
