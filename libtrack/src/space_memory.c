/*
 * Direct memory: taken and given back by physical offsets.
 *
 * Rules: [M-78].
 */
#include <stdlib.h>

#include "internal.h"
#include "space.h"

enum trk_status trk_space_allocate(struct trk_space *space, uint64_t size_bytes,
                                   uint64_t alignment_bytes, uint64_t *physical_offset,
                                   struct trk_error *error)
{
    bool power =
        alignment_bytes >= TRK_GUEST_PAGE_BYTES && (alignment_bytes & (alignment_bytes - 1)) == 0;
    if (size_bytes == 0 || size_bytes % TRK_GUEST_PAGE_BYTES != 0 || !power)
        return trk_error_set(error, TRK_E_ARGUMENT, "direct memory comes in multiples of 16 KiB");
    pthread_mutex_lock(&space->change);
    enum trk_status status = TRK_OK;
    uint64_t first = 0;
    if (!trk_space_extents_room(&space->direct_free, 1) ||
        !trk_space_extents_find(&space->direct_free, size_bytes, alignment_bytes, &first))
        status = trk_error_set(error, TRK_E_MEMORY, "no direct memory of that size");
    if (status == TRK_OK) {
        trk_space_extents_take(&space->direct_free, first, first + size_bytes);
        *physical_offset = first;
    }
    pthread_mutex_unlock(&space->change);
    return status;
}

/* Every mapping of the bytes, as edits of the table; gives the table without them. */
struct unmapping {
    struct space_edit *edits;
    size_t count;
    struct space_table *to;
};

static bool unmapping_add(struct unmapping *unmapping, const struct space_piece *piece,
                          uint64_t first, uint64_t end)
{
    uint64_t piece_end = piece->physical + (piece->end_addr - piece->first_addr);
    if (piece->kind != TRK_SPACE_DIRECT || piece->physical >= end || piece_end <= first)
        return true;
    uint64_t from = piece->physical > first ? piece->physical : first;
    uint64_t to = piece_end < end ? piece_end : end;
    struct space_edit edit = {piece->first_addr + (from - piece->physical),
                              piece->first_addr + (to - piece->physical)};
    struct space_table *made =
        trk_space_table_replace(unmapping->to, edit.first_addr, edit.end_addr, NULL, 0);
    if (made == NULL)
        return false;
    trk_space_table_destroy(unmapping->to);
    unmapping->to = made;
    unmapping->edits[unmapping->count++] = edit;
    return true;
}

/* Unmap all views of physical bytes, at once or not at all. */
static enum trk_status unmap_all(struct trk_space *space, uint64_t first, uint64_t end,
                                 struct trk_error *error)
{
    const struct space_table *from = space->table;
    struct unmapping unmapping = {
        .edits = malloc((from->count + 1) * sizeof *unmapping.edits),
        .to = trk_space_table_replace(from, 0, 0, NULL, 0),
    };
    bool made = unmapping.edits != NULL && unmapping.to != NULL;
    for (size_t i = 0; made && i < from->count; i++)
        made = unmapping_add(&unmapping, &from->pieces[i], first, end);
    enum trk_status status =
        made ? trk_space_change(space, unmapping.to, unmapping.edits, unmapping.count, error)
             : trk_error_set(error, TRK_E_MEMORY, "no memory for the space's tables");
    if (status != TRK_OK)
        trk_space_table_destroy(unmapping.to);
    free(unmapping.edits);
    return status;
}

enum trk_status trk_space_release(struct trk_space *space, uint64_t physical_offset,
                                  uint64_t size_bytes, struct trk_error *error)
{
    uint64_t end = physical_offset + size_bytes;
    if (size_bytes == 0 || (physical_offset | size_bytes) % TRK_GUEST_PAGE_BYTES != 0 ||
        end < physical_offset || end > space->direct_bytes)
        return trk_error_set(error, TRK_E_ARGUMENT, "no direct memory there");
    pthread_mutex_lock(&space->change);
    enum trk_status status = TRK_OK;
    if (trk_space_extents_touch(&space->direct_free, physical_offset, end))
        status = trk_error_set(error, TRK_E_ARGUMENT, "release of what is not allocated");
    else if (!trk_space_extents_room(&space->direct_free, 1))
        status = trk_error_set(error, TRK_E_MEMORY, "no memory for the space's tables");
    else
        status = unmap_all(space, physical_offset, end, error);
    if (status == TRK_OK) {
        trk_space_zero(space, physical_offset, size_bytes);
        trk_space_extents_give(&space->direct_free, physical_offset, end);
    }
    pthread_mutex_unlock(&space->change);
    return status;
}
