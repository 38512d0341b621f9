/*
 * Inside recovery: what is read on one side and written on the other.
 */
#ifndef RECORDER_RECOVER_INTERNAL_H
#define RECORDER_RECOVER_INTERNAL_H

#include <stdio.h>

#include "checkpoint_chain.h"
#include "chunk_decoder.h"
#include "index.h"
#include "output.h"
#include "recorder/recover.h"

/* A stream while it is copied; stands beside its place in the index. */
struct trk_recover_stream {
    uint64_t lost;                          /* behind what was written last */
    uint64_t lost_first_tsc, lost_last_tsc; /* of it, by the headers of its chunks */
    bool lost_anytime;                      /* some had no header */
    uint64_t ordinal;                       /* of the next event in the output */
    uint64_t last_tsc;                      /* of what was written last */
};

/* Events of which not even the header of their chunk is there. */
static inline void trk_recover_lose_unseen(struct trk_recover_stream *to, uint64_t events)
{
    to->lost += events;
    to->lost_anytime = to->lost_anytime || events > 0;
}

struct trk_recover {
    struct trk_source source;
    struct trk_chunk_decoder decoder;
    struct trk_columns *encoder;
    struct trk_output *output;
    FILE *text;             /* what is written is written here, as text; NULL: to the output */
    struct trk_index index; /* streams only */
    struct trk_recover_stream *streams;
    struct trk_recover_result *result;
    struct trk_error *error;
    struct trk_trace_watch watch;
    uint64_t offset;
    uint64_t next_file_chunk;
    struct trk_checkpoint_chain chain;
    bool lost_place;
    bool has_totals; /* END was read */
    bool has_mark;   /* and the end mark */
    bool lost_any;   /* events of which a loss tells */
    bool lost_list;  /* a summary or a list of pages: nothing is missing, but it was damage */
    bool moves;      /* a chunk stands elsewhere than in the source */
    bool unknown;    /* a chunk of a kind that nobody here knows was copied */
    bool leaves;     /* such chunks are left out */
    bool has_state;  /* a SNAPSHOT was copied */
    bool owes_state; /* none was, and the loss that stands for it is still to be written */
};

/*
 * As trk_recover_watched, into the text form; comments stand where something is damaged. Without
 * damage it is the text of the trace as it is.
 */
TRK_MUST_USE enum trk_status trk_recover_text(const char *path, FILE *text,
                                              struct trk_recover_result *result,
                                              struct trk_error *error);

/* TRK_E_MEMORY, with its text. */
enum trk_status trk_recover_no_memory(const struct trk_recover *recover);

/* recover_begin.c: the file header and HEADER, whatever is left of them. */
enum trk_status trk_recover_begin(struct trk_recover *recover, int fd);

/* recover_write.c. */

/* A chunk that is not used; in a text a comment stands in its place. */
void trk_recover_lose(struct trk_recover *recover, const struct trk_format_chunk *chunk,
                      const char *why);

/* Each of the others: TRK_OK, TRK_E_MEMORY, TRK_E_SYSTEM. */

/* Copy the chunk whose payload is in decoder.unpack.packed. */
enum trk_status trk_recover_copy(struct trk_recover *recover, struct trk_format_chunk *chunk);
/* In place of a NOTE that is lost: one that names nobody. */
enum trk_status trk_recover_nameless(struct trk_recover *recover, struct trk_format_chunk *chunk);
/* Likewise, one of a kind that nobody here knows, or leave it out. */
enum trk_status trk_recover_unknown(struct trk_recover *recover, struct trk_format_chunk *chunk);
/* One that a text cannot have. */
enum trk_status trk_recover_left_out(struct trk_recover *recover,
                                     const struct trk_format_chunk *chunk);
/* And one of events, decoded in decoder.records, behind the loss before it. */
enum trk_status trk_recover_events(struct trk_recover *recover, size_t stream,
                                   struct trk_format_chunk *chunk);
/* A CHECKPOINT whose payload is in decoder.unpack.raw: the streams may have other ordinals now. */
enum trk_status trk_recover_checkpoint(struct trk_recover *recover, struct trk_format_chunk *chunk);
/* A short HEADER for one that is lost. */
enum trk_status trk_recover_header(struct trk_recover *recover);
/* The losses behind the last events, and the end. */
enum trk_status trk_recover_end(struct trk_recover *recover);

#endif
