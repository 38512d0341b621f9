/*
 * Inside the address space.
 *
 * Glossary
 *   piece   consecutive guest pages of one kind, rights and consecutive memory, out of one mapping
 *           where it is direct
 *   table   all pieces, ascending; holes are not in it. Never changed: a change makes another
 *   extent  consecutive free bytes of the object
 *   edit    a guest range that gets other pieces, as part of a change
 */
#ifndef TRACK_SPACE_INTERNAL_H
#define TRACK_SPACE_INTERNAL_H

#include <pthread.h>

#include "track/space.h"

struct space_piece {
    uint64_t first_addr, end_addr;
    uint64_t physical; /* offset in the object; 0 for reserved ones */
    /* Direct: the mapping as it was asked for, of which this is what is left; else 0. */
    uint64_t mapping_first, mapping_end;
    enum trk_space_kind kind;
    unsigned rights;
    bool is_private;
};

struct space_table {
    struct space_piece *pieces;
    size_t count;
};

struct space_extent {
    uint64_t first, end;
};

struct space_extents {
    struct space_extent *items; /* ascending, never touching */
    size_t count, capacity;
};

struct trk_space {
    struct trk_tracker *tracker;
    struct trk_space_host host;
    int fd;
    unsigned char *alias;
    uint64_t direct_bytes, object_bytes;
    pthread_mutex_t change;   /* one change at a time; outside all locks of the tracker */
    pthread_rwlock_t publish; /* table and owned; inside all locks of the tracker */
    struct space_table *table;
    struct space_extents owned; /* guest addresses */
    struct space_extents direct_free, flexible_free;
};

/* ---- space_table.c --------------------------------------------------------------------------- */

struct space_table *trk_space_table_create(size_t capacity);
void trk_space_table_destroy(struct space_table *table);
/* The first piece that ends behind the address; table->count if there is none. */
size_t trk_space_table_search(const struct space_table *table, uint64_t guest_addr);
/* The table with [first_addr, end_addr) replaced by other pieces; NULL: no memory. */
struct space_table *trk_space_table_replace(const struct space_table *table, uint64_t first_addr,
                                            uint64_t end_addr, const struct space_piece *pieces,
                                            size_t count);

/* Whether one piece goes on with the same kind, rights and memory as the other. */
bool trk_space_piece_goes_on(const struct space_piece *piece, const struct space_piece *next);

/* The next part of a piece inside a range; `at` goes on. False: no more. */
bool trk_space_table_next(const struct space_table *table, size_t *at, uint64_t first_addr,
                          uint64_t end_addr, struct space_piece *out);

/* Declares the piece. */
#define FOR_PIECES(piece, table, first_addr, end_addr)                                             \
    struct space_piece piece;                                                                      \
    for (size_t piece##_at = trk_space_table_search(table, first_addr);                            \
         trk_space_table_next(table, &piece##_at, first_addr, end_addr, &piece);)

/* Whether all of a range is, or none of it is, in pieces of the kinds (bits 1 << kind). */
bool trk_space_table_all(const struct space_table *table, uint64_t first_addr, uint64_t end_addr,
                         unsigned kinds);
bool trk_space_table_none(const struct space_table *table, uint64_t first_addr, uint64_t end_addr,
                          unsigned kinds);

/* ---- space_extents.c ------------------------------------------------------------------------- */

/* Room for so many more extents. */
bool trk_space_extents_room(struct space_extents *extents, size_t more);
/* Add a range, joined with what it touches; there is room for one. */
void trk_space_extents_give(struct space_extents *extents, uint64_t first, uint64_t end);
/* Take a range that is wholly inside one extent; there is room for one. */
void trk_space_extents_take(struct space_extents *extents, uint64_t first, uint64_t end);
/* Find the lowest free place of a size and alignment. */
bool trk_space_extents_find(const struct space_extents *extents, uint64_t size_bytes,
                            uint64_t alignment_bytes, uint64_t *first);
bool trk_space_extents_hold(const struct space_extents *extents, uint64_t first, uint64_t end);
bool trk_space_extents_touch(const struct space_extents *extents, uint64_t first, uint64_t end);

/* ---- space_change.c -------------------------------------------------------------------------- */

struct space_edit {
    uint64_t first_addr, end_addr;
};

/*
 * Go from the space's table to another that differs inside the edits only: the tracker, the host,
 * then the table. On failure all is as before, and `to` is still the caller's; on success the
 * memory of pieces that are gone is free.
 */
enum trk_status trk_space_change(struct trk_space *space, struct space_table *to,
                                 const struct space_edit *edits, size_t count,
                                 struct trk_error *error);
/* The same for rights alone. */
enum trk_status trk_space_change_rights(struct trk_space *space, struct space_table *to,
                                        uint64_t first_addr, uint64_t end_addr,
                                        struct trk_error *error);
/* Make bytes of the object zeros, and give their memory back where the host can. */
void trk_space_zero(struct trk_space *space, uint64_t physical, uint64_t size_bytes);

#endif
