/*
 * What has been written of each stream: numbers chunks and events, and tells END of them [F-16].
 */
#ifndef RECORDER_TOTALS_H
#define RECORDER_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct trk_totals_stream {
    uint32_t stream_id;
    uint32_t chunks;
    uint64_t events;
    uint64_t dropped;
};

/* Zero-initialised is empty. */
struct trk_totals {
    struct trk_totals_stream *streams; /* in order of first appearance */
    size_t count, room;
    size_t last_found;
};

void trk_totals_deinit(struct trk_totals *totals);

/* Find a stream or add it; NULL without memory. Valid until the next call. */
struct trk_totals_stream *trk_totals_stream(struct trk_totals *totals, uint32_t stream_id);

/* The size of END's payload, and the payload, into room of that size. */
size_t trk_totals_size(const struct trk_totals *totals);
/* chunks: of the file, END included. last_index: offset of the last INDEX chunk. */
void trk_totals_put(const struct trk_totals *totals, uint8_t *to, uint32_t chunks,
                    uint64_t last_index, const struct trk_format_end *end);

#endif
