/* How far the file has come with each ring: kept for a process that may have to continue. */
#ifndef RECORDER_RECORD_BOOK_H
#define RECORDER_RECORD_BOOK_H

#include "record_drain.h"

/* Write down how far the file has come with a ring. Does nothing without a book. */
void trk_record_book_keep(const struct trk_record_drain *drain, uint32_t index);

/* Everything taken is in the file: say so, and give the threads their room and their rings back. */
void trk_record_book_settle(struct trk_record_drain *drain);

/* What the file has of a stream. */
struct trk_record_book_stream {
    bool there; /* its note */
    uint64_t events;
};

/*
 * Go on where the book of another process says. has: of streams, by their ids. What the book says
 * was written, and has does not know of, counts as lost. TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_record_book_continue(struct trk_record_drain *drain,
                                                      const struct trk_record_book *book,
                                                      const struct trk_record_book_stream *has,
                                                      size_t streams);

#endif
