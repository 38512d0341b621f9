/* The drain's side of the contents of pages (session_pages.h). */
#ifndef RECORDER_RECORD_PAGES_H
#define RECORDER_RECORD_PAGES_H

#include "record_drain.h"

/*
 * Give the writer what is handed over. With a book the slots are kept until it is in the file, so
 * that whoever continues finds them. Whether so many were full that the next pass should come soon.
 */
bool trk_record_pages_take(struct trk_record_drain *drain, struct trk_error *error);

/* What was taken is in the file: give the slots back. */
void trk_record_pages_settle(struct trk_record_drain *drain);

#endif
