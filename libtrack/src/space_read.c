/*
 * What looks at the space and leaves it as it is: queries, copies through the alias, and making
 * memory ready for the kernel.
 *
 * Each looks at the whole range before it touches a byte.
 *
 * Rules: [M-80] [M-81] [M-82].
 */
#include <string.h>

#include "internal.h"
#include "space.h"
#include "track/hle.h"
#include "track/pages.h"

#define KINDS_MAPPED (1u << TRK_SPACE_DIRECT | 1u << TRK_SPACE_FLEXIBLE)

/*
 * One stretch, also of several mappings. Flexible memory has no offsets that its owner sees, so
 * that it may lie anywhere.
 */
static bool goes_on(const struct space_piece *piece, const struct space_piece *next)
{
    struct space_piece beside = *next;
    if (piece->kind == TRK_SPACE_FLEXIBLE)
        beside.physical = piece->physical + (piece->end_addr - piece->first_addr);
    return trk_space_piece_goes_on(piece, &beside);
}

static void stretch_of(const struct space_table *table, size_t at, struct trk_space_stretch *out)
{
    const struct space_piece *piece = &table->pieces[at];
    size_t first = at, last = at;
    while (first > 0 && goes_on(&table->pieces[first - 1], &table->pieces[first]))
        first--;
    while (last + 1 < table->count && goes_on(&table->pieces[last], &table->pieces[last + 1]))
        last++;
    *out = (struct trk_space_stretch){
        .kind = piece->kind,
        .guest_addr = table->pieces[first].first_addr,
        .size_bytes = table->pieces[last].end_addr - table->pieces[first].first_addr,
        .physical_offset = piece->kind == TRK_SPACE_DIRECT ? table->pieces[first].physical : 0,
        .rights = piece->rights,
        .is_private = piece->is_private,
    };
}

/* A hole reaches from the piece before, or the owned range's start, to the next. */
static void hole_of(const struct trk_space *space, size_t next, uint64_t guest_addr,
                    struct trk_space_stretch *out)
{
    const struct space_table *table = space->table;
    struct space_extent hole = {0, UINT64_MAX};
    for (size_t i = 0; i < space->owned.count; i++) {
        if (space->owned.items[i].first <= guest_addr && guest_addr < space->owned.items[i].end)
            hole = space->owned.items[i];
    }
    if (next > 0 && table->pieces[next - 1].end_addr > hole.first)
        hole.first = table->pieces[next - 1].end_addr;
    if (next < table->count && table->pieces[next].first_addr < hole.end)
        hole.end = table->pieces[next].first_addr;
    *out = (struct trk_space_stretch){
        .kind = TRK_SPACE_HOLE, .guest_addr = hole.first, .size_bytes = hole.end - hole.first};
}

enum trk_status trk_space_query(struct trk_space *space, uint64_t guest_addr,
                                struct trk_space_stretch *out)
{
    enum trk_status status = TRK_OK;
    pthread_rwlock_rdlock(&space->publish);
    const struct space_table *table = space->table;
    size_t at = trk_space_table_search(table, guest_addr);
    if (!trk_space_extents_hold(&space->owned, guest_addr, guest_addr + 1))
        status = TRK_E_RANGE;
    else if (at < table->count && table->pieces[at].first_addr <= guest_addr)
        stretch_of(table, at, out);
    else
        hole_of(space, at, guest_addr, out);
    pthread_rwlock_unlock(&space->publish);
    return status;
}

static bool mapped(const struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t end_addr = guest_addr + size_bytes;
    return end_addr > guest_addr &&
           trk_space_table_all(space->table, guest_addr, end_addr, KINDS_MAPPED);
}

enum trk_status trk_space_read(struct trk_space *space, uint64_t guest_addr, void *out,
                               uint64_t size_bytes)
{
    unsigned char *to = out;
    pthread_rwlock_rdlock(&space->publish);
    enum trk_status status = mapped(space, guest_addr, size_bytes) ? TRK_OK : TRK_E_RANGE;
    if (status == TRK_OK) {
        FOR_PIECES(piece, space->table, guest_addr, guest_addr + size_bytes)
        memcpy(to + (piece.first_addr - guest_addr), space->alias + piece.physical,
               (size_t)(piece.end_addr - piece.first_addr));
    }
    pthread_rwlock_unlock(&space->publish);
    return status;
}

enum trk_status trk_space_write(struct trk_space *space, uint64_t guest_addr, const void *bytes,
                                uint64_t size_bytes)
{
    const unsigned char *from = bytes;
    pthread_rwlock_rdlock(&space->publish);
    enum trk_status status = mapped(space, guest_addr, size_bytes) ? TRK_OK : TRK_E_RANGE;
    if (status == TRK_OK) {
        FOR_PIECES(piece, space->table, guest_addr, guest_addr + size_bytes)
        memcpy(space->alias + piece.physical, from + (piece.first_addr - guest_addr),
               (size_t)(piece.end_addr - piece.first_addr));
    }
    pthread_rwlock_unlock(&space->publish);
    return status;
}

/* Owned throughout, and nothing private in it. */
static bool may_read_sparsely(const struct trk_space *space, uint64_t guest_addr, uint64_t end_addr)
{
    if (end_addr <= guest_addr || !trk_space_extents_hold(&space->owned, guest_addr, end_addr))
        return false;
    FOR_PIECES(piece, space->table, guest_addr, end_addr)
    {
        if (piece.is_private)
            return false;
    }
    return true;
}

enum trk_status trk_space_sparse_read(struct trk_space *space, uint64_t guest_addr, void *out,
                                      uint64_t size_bytes)
{
    unsigned char *to = out;
    uint64_t end_addr = guest_addr + size_bytes;
    pthread_rwlock_rdlock(&space->publish);
    bool may = may_read_sparsely(space, guest_addr, end_addr);
    if (may) {
        uint64_t at = guest_addr;
        FOR_PIECES(piece, space->table, guest_addr, end_addr)
        {
            if (piece.kind == TRK_SPACE_RESERVED)
                continue;
            memset(to + (at - guest_addr), 0, (size_t)(piece.first_addr - at));
            memcpy(to + (piece.first_addr - guest_addr), space->alias + piece.physical,
                   (size_t)(piece.end_addr - piece.first_addr));
            at = piece.end_addr;
        }
        memset(to + (at - guest_addr), 0, (size_t)(end_addr - at));
    }
    pthread_rwlock_unlock(&space->publish);
    return may ? TRK_OK : TRK_E_RANGE;
}

void *trk_space_alias(struct trk_space *space, uint64_t guest_addr)
{
    void *found = NULL;
    pthread_rwlock_rdlock(&space->publish);
    FOR_PIECES(piece, space->table, guest_addr, guest_addr + 1)
    {
        if (piece.kind != TRK_SPACE_RESERVED)
            found = space->alias + piece.physical;
    }
    pthread_rwlock_unlock(&space->publish);
    return found;
}

/* ---- for the kernel -------------------------------------------------------------------------- */

static void no_write(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)guest_addr;
    (void)size_bytes;
}

/* What a page lacks for the kernel after all was done: nobody's fault but a client's watch. */
static enum trk_status page_ready(struct trk_tracker *tracker, uint64_t page_addr, unsigned needed)
{
    struct trk_page_view view = trk_pages_view(tracker, page_addr);
    if ((view.guest_rights & needed) != needed)
        return TRK_E_ARGUMENT;
    return (view.host_rights & needed) == needed ? TRK_OK : TRK_E_UNSUPPORTED;
}

/* A load of the guest's would fault here: let the fault's service do its work. */
static enum trk_status page_read_back(struct trk_tracker *tracker, uint64_t page_addr)
{
    enum trk_status status = page_ready(tracker, page_addr, TRK_RIGHT_READ);
    if (status != TRK_E_UNSUPPORTED)
        return status;
    trk_tracker_fault(tracker, page_addr, TRK_ACCESS_READ);
    return page_ready(tracker, page_addr, TRK_RIGHT_READ);
}

enum trk_status trk_space_sys_prepare(struct trk_space *space, uint64_t guest_addr,
                                      uint64_t size_bytes, enum trk_access access)
{
    bool write = access == TRK_ACCESS_WRITE;
    pthread_rwlock_rdlock(&space->publish);
    enum trk_status status = mapped(space, guest_addr, size_bytes) ? TRK_OK : TRK_E_RANGE;
    pthread_rwlock_unlock(&space->publish);
    if (status == TRK_OK && write) {
        struct trk_hle_write nothing = {.size = sizeof nothing,
                                        .guest_addr = guest_addr,
                                        .size_bytes = size_bytes,
                                        .write = no_write};
        bool allowed = false;
        status = trk_tracker_hle_write(space->tracker, &nothing, &allowed);
        if (status == TRK_OK && !allowed)
            status = TRK_E_ARGUMENT;
    }
    uint64_t page_addr = guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    for (; status == TRK_OK && page_addr < guest_addr + size_bytes;
         page_addr += TRK_HOST_PAGE_BYTES)
        status = write ? page_ready(space->tracker, page_addr, TRK_RIGHTS_RW)
                       : page_read_back(space->tracker, page_addr);
    return status;
}
