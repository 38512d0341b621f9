/*
 * A first look at a trace that is to be compared: what is missing of its streams, and which memory
 * it is about.
 */
#ifndef CLI_TRACE_LOOK_H
#define CLI_TRACE_LOOK_H

#include "redact.h"
#include "trace_walk.h"

/* What a trace says of a run. */
enum trk_look_part {
    TRK_LOOK_ALL = 0,
    TRK_LOOK_PART,   /* of a piece of it all: nothing of what was before and behind */
    TRK_LOOK_SPARSE, /* of a region: others of its events are anywhere between */
};

struct trk_look_stream {
    uint32_t stream_id;
    char name[32]; /* as after redaction; "" if it gave none */
    struct trk_loss *losses;
    uint32_t count, capacity;
    uint64_t begin_tsc;
};

struct trk_look {
    struct trk_redact redact; /* noted, not decided */
    struct trk_look_stream *streams;
    size_t stream_count;
    bool complete;
    enum trk_look_part part; /* given */
    bool unplaced;           /* threads may have lost events before they were seen */
    bool lacks_threads;      /* there may have been others, or by other names */
};

/* An operand that waits for its operation, which says what it means. */
struct trk_look_operand {
    bool there;
    struct trk_trace_event event;
    struct trk_walked walked;
};

/*
 * Read a trace from its start.
 *
 * @param out   part is set; to be freed whatever is returned.
 * @return TRK_OK; as trk_trace_next and TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_look_read(struct trk_look *out, struct trk_trace *trace,
                                           bool asked, struct trk_error *error);
void trk_look_free(struct trk_look *look);

#endif
