/*
 * Memory of which little changes: kept and known again by what is no longer as it was.
 *
 * What lies there from the beginning may be large, as a program's pages are. Whoever is about to
 * change a part says so; what it held before is kept, and a state of all of it is the parts that
 * differ from that. Changes that nobody announced are lost when a state is put back.
 */
#ifndef SIMULATOR_SCENARIO_TOUCHED_H
#define SIMULATOR_SCENARIO_TOUCHED_H

#include "scenario_pool.h"

struct touched;

/* All that a pool has given out so far; NULL: no memory. The pool's blocks must outlive it. */
struct touched *touched_create(const struct scenario_pool *pool);
/* NULL is accepted. */
void touched_destroy(struct touched *touched);
/* Before memory changes. NULL is accepted, and memory that lies elsewhere. */
void touched_note(struct touched *touched, const void *memory, size_t size_bytes);
/* Visit what differs from the beginning, ascending: no order of changes changes that. */
void touched_pieces(const struct touched *touched, scenario_piece_fn *piece, void *context);
/* Put all back to the beginning; the pieces of a state go on top of that. */
void touched_reset(const struct touched *touched);

#endif
