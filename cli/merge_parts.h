/* Which traces are parts of one recording, and in which order they make one of them. */
#ifndef CLI_MERGE_PARTS_H
#define CLI_MERGE_PARTS_H

#include <cjson/cJSON.h>

#include "input.h"

struct trk_merge_part {
    const char *path;
    struct trk_input input;
    struct trk_trace *trace; /* of the input */
    cJSON *header;
    const cJSON *before; /* in the header: events that its state is of; NULL: it is no such dump */
    const cJSON *forgotten; /* and whose events TRK_FORGOTTEN_STREAM stands for; NULL: not known */
    uint64_t before_events; /* of all streams, that came before what it has */
    uint64_t first_tsc, last_tsc;
};

struct trk_merge_parts {
    struct trk_merge_part *list; /* once all are open: by what came before them */
    size_t count;
    const struct trk_merge_part *newest; /* that ends last */
};

/*
 * Open the files that the list names, read each to its end, and put them in order. TRK_E_ARGUMENT:
 * they do not go together; TRK_E_DAMAGED. at: the one that an error is about.
 */
TRK_MUST_USE enum trk_status trk_merge_parts_open(struct trk_merge_parts *parts,
                                                  const struct trk_merge_part **at,
                                                  struct trk_error *error);
/* Free the list as well. */
void trk_merge_parts_close(struct trk_merge_parts *parts);

/* An entry of `before` or `forgotten`: how many events of a stream. False: it is none. */
bool trk_merge_part_before(const cJSON *entry, uint32_t *stream_id, uint64_t *events);

#endif
