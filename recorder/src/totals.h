/*
 * What has been written of each stream: numbers chunks and events, and tells END of them [F-16].
 * END's payload, written and read.
 */
#ifndef RECORDER_TOTALS_H
#define RECORDER_TOTALS_H

#include <stdbool.h>
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

/* END's payload without its streams. */
struct trk_totals_head {
    int32_t child_status;
    uint32_t chunks; /* of the file, END included */
    uint32_t count;  /* streams */
    bool cut;
    size_t tail_bytes; /* behind the streams; 0: as in 0.1 */
};

/* Read the fixed part. False: not all the streams that it counts are there. */
bool trk_totals_head(const uint8_t *from, size_t size_bytes, struct trk_totals_head *head);
/* Read stream `number` of a payload whose head was read. */
struct trk_totals_stream trk_totals_entry(const uint8_t *from, uint32_t number);

#endif
