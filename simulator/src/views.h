/*
 * Which bytes are the same: views of the backing object, as MAP and UNMAP events give them.
 *
 * Two guest pages that show one frame share a key. A page of no known view has its address for a
 * key. Pages are 4 KiB.
 */
#ifndef SIMULATOR_VIEWS_H
#define SIMULATOR_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

#define VIEWS_MAX 65536u

struct view {
    uint64_t guest_addr, end_addr;
    uint64_t frame; /* of guest_addr, in pages of the backing object */
    unsigned flags; /* TRK_MAP_* */
};

/* Ascending by address, disjoint. Zero-initialised is empty. */
struct views {
    struct view *view;
    size_t count, capacity;
};

void views_deinit(struct views *views);

/* Page-rounded. What the range showed before is gone. TRK_E_MEMORY, also beyond VIEWS_MAX. */
TRK_MUST_USE enum trk_status views_map(struct views *views, const struct view *view);
TRK_MUST_USE enum trk_status views_unmap(struct views *views, uint64_t guest_addr,
                                         uint64_t end_addr);

/* The view of an address, or NULL. */
const struct view *views_find(const struct views *views, uint64_t guest_addr);

/* The key of an address's page. */
uint64_t views_key(const struct views *views, uint64_t guest_addr);

/* The address by which the tracker knows a byte of a view: of the first view of its frame that is
 * not TRK_MAP_UNTRACKED; the byte's own where there is none. */
uint64_t views_tracked(const struct views *views, const struct view *view, uint64_t guest_addr);

/* Whether a key is that of a page of the backing object, and of which. */
bool views_key_frame(uint64_t key, uint64_t *frame);

/* Whether any view shows this frame. */
bool views_show(const struct views *views, uint64_t frame);

/* Whether the page of a key is shown at more than one address. */
bool views_shared(const struct views *views, uint64_t key);

#endif
