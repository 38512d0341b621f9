/*
 * Inside paranoid mode: the operations under way, and the bytes that their owners may fill.
 *
 * Signal-safe: a place in a table is taken and given back with a compare and swap. Operations end
 * in the order in which they nest, on the thread that began them.
 */
#ifndef TRACK_PARANOID_BUSY_H
#define TRACK_PARANOID_BUSY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* So many operations at a time have a place; while there are more, every page counts as busy. */
#define PARANOID_BUSY_MOST 128u

/* Zero-initialised is empty. */
struct paranoid_busy {
    struct {
        _Atomic bool taken;
        _Atomic uint64_t first, end; /* end 0: nothing */
    } places[PARANOID_BUSY_MOST];
    _Atomic uint32_t used;     /* of the places, the first ones that were ever taken */
    _Atomic uint32_t unplaced; /* operations under way without a place */
};

/* An operation begins that may fill [first, end). */
void trk_paranoid_busy_begin(struct paranoid_busy *busy, uint64_t first, uint64_t end);
/* The innermost one of this thread may fill these as well; fills nothing more; ends. */
void trk_paranoid_busy_add(struct paranoid_busy *busy, uint64_t first, uint64_t end);
void trk_paranoid_busy_settle(struct paranoid_busy *busy);
void trk_paranoid_busy_end(struct paranoid_busy *busy);

/* Whether an operation under way may fill bytes of a page. */
bool trk_paranoid_is_busy(const struct paranoid_busy *busy, uint64_t page_addr);

#endif
