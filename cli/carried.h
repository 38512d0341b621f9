/*
 * What another process prints for this one.
 *
 * It lies in memory that both share until this process prints it, so whatever became of the other
 * one's descriptors, nothing is lost, and nothing of anybody else's gets between.
 */
#ifndef CLI_CARRIED_H
#define CLI_CARRIED_H

#include <stdbool.h>

/* What may be printed, with talk on standard error. */
#define TRK_CARRIED_BYTES (UINT32_C(64) << 20)

struct trk_carried;

/* Before the other process is started; NULL: no memory. */
struct trk_carried *trk_carried_create(void);
void trk_carried_destroy(struct trk_carried *carried);

/* In the other process, with no other thread: from now on stdout and stderr lead there; until the
 * end. Time and again. */
void trk_carried_begin(struct trk_carried *carried);
void trk_carried_end(struct trk_carried *carried);

/* In this process: print it, in the order in which it came. False: it was more than there is room
 * for, and nothing is printed. */
bool trk_carried_print(const struct trk_carried *carried);

#endif
