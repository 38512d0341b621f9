/*
 * Programs on tapes that several tests judge, or begin with.
 */
#ifndef TAPE_PROGRAMS_H
#define TAPE_PROGRAMS_H

#include "tape.h"

/* Annotations alone, as another tracker's: each side's bytes reach the other. */
void tape_foreign_good(struct tape *tape);
/* And then an upload over bytes that only the GPU has. */
void tape_foreign_upload_over_gpu(struct tape *tape);

/* A page that an upload has taken and copied, and the GPU has read. */
void tape_taken(struct tape *tape);

/* A frame of two threads in which nothing is wrong, though its last store races a check. */
void tape_plain_frame(struct tape *tape);

/* The GPU has not run what is read back. */
void tape_early_read_back(struct tape *tape);

/* An operation of stream 0 whose events are lost. */
void tape_lost_operation(struct tape *tape);

#endif
