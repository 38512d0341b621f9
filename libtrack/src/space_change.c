/*
 * Going from one table to another, or staying as it was.
 *
 * Each edit goes through the same steps: the guest's rights become none, which closes the pages
 * through the page manager; the pages leave their views; the host's mapping is replaced by a closed
 * one; the pages join the views of their new frames; the guest's rights become the new ones. The
 * way back is the same steps for the former pieces, from whichever step was reached. Last the table
 * is published, and only then is the memory of what is gone let go: nothing can fail after that.
 *
 * Rules: [M-76] [M-77] [M-79].
 */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "space.h"
#include "track/pages.h"

enum step {
    STEP_NONE,
    STEP_CLOSED,
    STEP_LEFT,
    STEP_MAPPED,
    STEP_JOINED,
    STEP_OPENED,
};

struct change {
    struct trk_space *space;
    const struct space_table *to;
    struct trk_error *error;
};

static uint64_t host_addr_of(const struct trk_space *space, uint64_t guest_addr)
{
    return guest_addr + (uint64_t)space->tracker->backend->host_bias_bytes;
}

static enum trk_status host_failed(struct trk_error *error, int host_errno)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, host_errno, "a mapping of guest memory failed");
}

static enum trk_status tracker_failed(struct trk_error *error, enum trk_status status)
{
    if (status == TRK_OK)
        return status;
    return trk_error_set(error, status, "the tracker refused a change of guest memory: %s",
                         trk_status_name(status));
}

static enum trk_status set_rights(const struct trk_space *space, uint64_t first_addr,
                                  uint64_t end_addr, unsigned rights)
{
    return trk_tracker_set_guest_protection(space->tracker, first_addr, end_addr - first_addr,
                                            rights);
}

/* The rights of all pieces in the range, and none between them. */
static enum trk_status open_pieces(const struct trk_space *space, const struct space_table *table,
                                   const struct space_edit *edit)
{
    enum trk_status status = TRK_OK;
    FOR_PIECES(piece, table, edit->first_addr, edit->end_addr)
    {
        if (status == TRK_OK && piece.kind != TRK_SPACE_RESERVED)
            status = set_rights(space, piece.first_addr, piece.end_addr, piece.rights);
    }
    return status;
}

/* ---- the host's mappings --------------------------------------------------------------------- */

/* Closed through the backend, region by region, whose own way of closing splits no mapping. */
static enum trk_status piece_close(const struct trk_space *space, const struct space_piece *piece,
                                   struct trk_error *error)
{
    struct trk_backend *backend = space->tracker->backend;
    struct range range =
        range_pages(piece->first_addr, piece->end_addr - piece->first_addr, TRK_HOST_PAGE_BYTES);
    for (uint32_t index = range.first_region; index < range.end_region; index++) {
        struct window window = range_window(&range, index);
        uint64_t first_addr = trk_region_address(index) + window.first * TRK_HOST_PAGE_BYTES;
        int result =
            env_protect(backend, first_addr, (window.end - window.first) * TRK_HOST_PAGE_BYTES,
                        TRK_RIGHTS_NONE);
        if (result != 0)
            return host_failed(error, result);
    }
    return TRK_OK;
}

/*
 * Without rights from its first moment, and the backend is told afterwards: the tracker would not
 * hear of a store that finds it open.
 */
static enum trk_status piece_map(const struct trk_space *space, const struct space_piece *piece,
                                 struct trk_error *error)
{
    struct trk_backend *backend = space->tracker->backend;
    struct trk_space_placement placement = {
        .host_addr = host_addr_of(space, piece->first_addr),
        .size_bytes = piece->end_addr - piece->first_addr,
        .fd = space->fd,
        .physical_offset = piece->physical,
        .rights = TRK_RIGHTS_NONE,
    };
    int result = space->host.map(space->host.context, &placement);
    if (result != 0)
        return host_failed(error, result);
    enum trk_status status =
        trk_backend_attach_closed(backend, piece->first_addr, placement.size_bytes, error);
    bool attached = status == TRK_OK && backend->attach_closed != NULL;
    return attached ? piece_close(space, piece, error) : status;
}

static enum trk_status hole_map(const struct trk_space *space, uint64_t first_addr,
                                uint64_t end_addr, struct trk_error *error)
{
    if (first_addr == end_addr)
        return TRK_OK;
    int result = space->host.close(space->host.context, host_addr_of(space, first_addr),
                                   end_addr - first_addr);
    if (result != 0)
        return host_failed(error, result);
    trk_backend_forget(space->tracker->backend, first_addr, end_addr - first_addr);
    return TRK_OK;
}

/* Closed mappings for the pieces of a table in the range, placeholders between. */
static enum trk_status range_map(const struct trk_space *space, const struct space_table *table,
                                 const struct space_edit *edit, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    uint64_t at = edit->first_addr;
    FOR_PIECES(piece, table, edit->first_addr, edit->end_addr)
    {
        if (status != TRK_OK || piece.kind == TRK_SPACE_RESERVED)
            continue;
        status = hole_map(space, at, piece.first_addr, error);
        if (status == TRK_OK)
            status = piece_map(space, &piece, error);
        at = piece.end_addr;
    }
    return status == TRK_OK ? hole_map(space, at, edit->end_addr, error) : status;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Join a piece with every other piece of the table that shows bytes of it. */
static enum trk_status piece_join(const struct trk_space *space, const struct space_table *table,
                                  const struct space_piece *piece)
{
    uint64_t physical_end = piece->physical + (piece->end_addr - piece->first_addr);
    for (size_t i = 0; i < table->count; i++) {
        const struct space_piece *other = &table->pieces[i];
        if (other->kind != TRK_SPACE_DIRECT)
            continue;
        uint64_t other_end = other->physical + (other->end_addr - other->first_addr);
        uint64_t first = piece->physical > other->physical ? piece->physical : other->physical;
        uint64_t end = physical_end < other_end ? physical_end : other_end;
        if (first >= end)
            continue;
        uint64_t guest_addr = piece->first_addr + (first - piece->physical);
        uint64_t other_addr = other->first_addr + (first - other->physical);
        if (guest_addr == other_addr)
            continue;
        enum trk_status status =
            trk_tracker_join_views(space->tracker, guest_addr, other_addr, end - first);
        if (status != TRK_OK)
            return status;
    }
    return TRK_OK;
}

static enum trk_status range_join(const struct trk_space *space, const struct space_table *table,
                                  const struct space_edit *edit)
{
    enum trk_status status = TRK_OK;
    FOR_PIECES(piece, table, edit->first_addr, edit->end_addr)
    {
        if (status == TRK_OK && piece.kind == TRK_SPACE_DIRECT)
            status = piece_join(space, table, &piece);
    }
    return status;
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* The next step of an edit; whatever it gives, the way back begins with this one. */
static enum trk_status step_do(const struct change *change, const struct space_edit *edit,
                               enum step step)
{
    const struct trk_space *space = change->space;
    uint64_t size_bytes = edit->end_addr - edit->first_addr;
    enum trk_status status = TRK_OK;
    switch (step) {
    case STEP_CLOSED:
        status = set_rights(space, edit->first_addr, edit->end_addr, TRK_RIGHTS_NONE);
        return tracker_failed(change->error, status);
    case STEP_LEFT:
        status = trk_tracker_leave_view(space->tracker, edit->first_addr, size_bytes);
        return tracker_failed(change->error, status);
    case STEP_MAPPED:
        return range_map(space, change->to, edit, change->error);
    case STEP_JOINED:
        return tracker_failed(change->error, range_join(space, change->to, edit));
    case STEP_OPENED:
        return tracker_failed(change->error, open_pieces(space, change->to, edit));
    case STEP_NONE:
        break;
    }
    return status;
}

/*
 * Undo an edit that reached a step, done or not. What fails on the way back has no further way: the
 * rest is still put back.
 */
static void steps_undo(const struct change *change, const struct space_edit *edit, enum step step)
{
    struct trk_space *space = change->space;
    if (step >= STEP_OPENED)
        (void)step_do(&(struct change){.space = space, .to = space->table}, edit, STEP_CLOSED);
    if (step >= STEP_JOINED)
        (void)step_do(&(struct change){.space = space, .to = space->table}, edit, STEP_LEFT);
    if (step >= STEP_MAPPED)
        (void)range_map(space, space->table, edit, NULL);
    if (step >= STEP_LEFT)
        (void)range_join(space, space->table, edit);
    (void)open_pieces(space, space->table, edit);
}

void trk_space_zero(struct trk_space *space, uint64_t physical, uint64_t size_bytes)
{
    if (space->host.forget(space->host.context, space->fd, physical, size_bytes) != 0)
        memset(space->alias + physical, 0, (size_t)size_bytes);
}

/* Bytes of flexible pieces that are not in the other table are free. They become zeros. */
static void let_go(struct trk_space *space, const struct space_table *former,
                   const struct space_edit *edit)
{
    FOR_PIECES(piece, former, edit->first_addr, edit->end_addr)
    {
        if (piece.kind != TRK_SPACE_FLEXIBLE)
            continue;
        uint64_t size_bytes = piece.end_addr - piece.first_addr;
        trk_space_zero(space, piece.physical, size_bytes);
        trk_space_extents_give(&space->flexible_free, piece.physical, piece.physical + size_bytes);
    }
}

static void publish(struct trk_space *space, struct space_table *to)
{
    pthread_rwlock_wrlock(&space->publish);
    space->table = to;
    pthread_rwlock_unlock(&space->publish);
}

enum trk_status trk_space_change(struct trk_space *space, struct space_table *to,
                                 const struct space_edit *edits, size_t count,
                                 struct trk_error *error)
{
    struct change change = {.space = space, .to = to, .error = error};
    struct space_table *former = space->table;
    if (!trk_space_extents_room(&space->flexible_free, former->count + 1))
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the space's tables");
    size_t edit = 0;
    enum step step = STEP_NONE;
    enum trk_status status = TRK_OK;
    for (; edit < count && status == TRK_OK; edit += status == TRK_OK) {
        step = STEP_NONE;
        while (status == TRK_OK && step < STEP_OPENED)
            status = step_do(&change, &edits[edit], ++step);
    }
    if (status != TRK_OK) {
        if (step != STEP_NONE)
            steps_undo(&change, &edits[edit], step);
        while (edit-- > 0)
            steps_undo(&change, &edits[edit], STEP_OPENED);
        return status;
    }
    publish(space, to);
    for (size_t i = 0; i < count; i++)
        let_go(space, former, &edits[i]);
    trk_space_table_destroy(former);
    return TRK_OK;
}

enum trk_status trk_space_change_rights(struct trk_space *space, struct space_table *to,
                                        uint64_t first_addr, uint64_t end_addr,
                                        struct trk_error *error)
{
    struct space_edit edit = {first_addr, end_addr};
    struct space_table *former = space->table;
    enum trk_status status = tracker_failed(error, open_pieces(space, to, &edit));
    if (status != TRK_OK) {
        enum trk_status back = open_pieces(space, former, &edit);
        (void)back; /* refused on the way back as well: there is no further way */
        return status;
    }
    publish(space, to);
    trk_space_table_destroy(former);
    return TRK_OK;
}
