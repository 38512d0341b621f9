/*
 * The streams of a recording that is put together from parts: how far each is written, and where
 * the next part goes on.
 *
 * A part is looked at first, then taken: what it has of a stream up to the record that was written
 * last is left out, and all of it where it ends before that one. Where it begins behind it, so many
 * events are between as the losses before say.
 */
#ifndef CLI_MERGE_STREAMS_H
#define CLI_MERGE_STREAMS_H

#include "recorder/trace.h"

/* So many records before the place are held against each other. */
#define TRK_MERGE_TAIL 64u

struct trk_merge_tail {
    struct trk_record records[TRK_MERGE_TAIL];
    uint64_t count; /* of all; the last ones are kept */
};

struct trk_merge_stream {
    uint32_t stream_id;
    struct trk_merge_tail written;
    uint64_t start; /* events of the stream before what is written, by the state it begins with */
    uint64_t position; /* events of the stream up to there, those that a ring had forgotten too */
    bool opened;       /* something else than a TRACKER was written */
    /* Of the part that is looked at and taken. */
    struct trk_merge_tail seen;
    uint64_t seen_position; /* as position, of what was looked at */
    bool seen_opened;
    uint64_t seen_begin; /* position of its first event */
    bool exact;          /* where it goes on was found by its position */
    uint64_t skip;       /* records up to the one that was written last; 0: it is not there */
    bool fits;           /* what is before it is what was written */
    uint64_t
        first_tsc;   /* of the first record that is no loss and was not kept from the beginning */
    bool begun;      /* that one was met */
    uint64_t kept;   /* records before it */
    uint64_t taken;  /* records met while the part is taken */
    uint64_t before; /* events of the stream before the one that is taken */
    uint64_t told;   /* events of the stream that some part says there were */
};

/* Zero-initialised is empty. */
struct trk_merge_streams {
    struct trk_merge_stream *list;
    size_t count, room;
    bool any_loss;
    uint64_t first_tsc; /* nothing that is written comes before */
};

void trk_merge_streams_deinit(struct trk_merge_streams *streams);

/* Whether a record stands for what a ring had forgotten before what it has. */
bool trk_merge_streams_forgotten(const struct trk_record *record);
/* Whether it is one that a ring had in its time. */
bool trk_merge_streams_opens(const struct trk_record *record);

/* A part begins: it is looked at as a whole, then taken as a whole. */
void trk_merge_streams_begin(struct trk_merge_streams *streams);
/*
 * The part begins with a state that so many events of a stream are of: it has none of them. Where
 * it is the first part nothing is missing. Before the looks. False: no memory.
 */
TRK_MUST_USE bool trk_merge_streams_before(struct trk_merge_streams *streams, uint32_t stream_id,
                                           uint64_t events, bool first);
/* Some part says that a stream has so many events, and has none of them. False: no memory. */
TRK_MUST_USE bool trk_merge_streams_tell(struct trk_merge_streams *streams, uint32_t stream_id,
                                         uint64_t events);
/* False: no memory. */
TRK_MUST_USE bool trk_merge_streams_look(struct trk_merge_streams *streams, uint32_t stream_id,
                                         const struct trk_record *record);
/* Behind the last look: whether each stream goes on from what was written; else which does not. */
bool trk_merge_streams_fit(struct trk_merge_streams *streams, uint32_t *stream_id);

/* Take records[0]. How many records are to be written, in place: none, it, or a loss and it. */
unsigned trk_merge_streams_take(struct trk_merge_streams *streams, uint32_t stream_id,
                                struct trk_record records[2]);

/*
 * Behind the last part: what is missing of a stream that no part has anything behind. Each stream
 * once; false: there is no other.
 */
bool trk_merge_streams_end(struct trk_merge_streams *streams, uint32_t *stream_id,
                           struct trk_record *loss);

#endif
