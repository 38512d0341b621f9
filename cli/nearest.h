/*
 * The word that was probably meant.
 *
 * For messages only: nothing is ever run or taken because it is near.
 */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

/* Words longer than this are near nothing. */
#define TRK_NEAREST_LETTERS 32

/* Keep in *best the candidate nearest to word; *best is NULL at first and stays so while none is
 * near enough to be a slip of the fingers. */
void trk_nearest_consider(const char *word, const char *candidate, const char **best);

#endif
