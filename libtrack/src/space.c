/*
 * The address space: its life, and the changes that an owner asks for.
 *
 * A change is checked against the table, gets its memory, and makes the table as it would be; the
 * rest is trk_space_change.
 *
 * Rules: [M-76] [M-77].
 */
#define _GNU_SOURCE
#include "space.h"

#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

#define UNIT_BYTES    TRK_GUEST_PAGE_BYTES
#define DEFAULT_BYTES (UINT64_C(256) << 20)
#define KIND(name)    (1u << TRK_SPACE_##name)
#define KINDS_MAPPED  (KIND(DIRECT) | KIND(FLEXIBLE))
#define KINDS_TAKEN   (KINDS_MAPPED | KIND(RESERVED))
#define RIGHTS_ALL    (TRK_RIGHTS_RW | TRK_RIGHT_EXEC)

struct trk_space_options trk_space_options_default(void)
{
    return (struct trk_space_options){
        .size = sizeof(struct trk_space_options),
        .direct_bytes = DEFAULT_BYTES,
        .flexible_bytes = DEFAULT_BYTES,
        .host = trk_space_host_default(),
    };
}

static enum trk_status host_failed(struct trk_error *error, int host_errno, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, host_errno, "%s", what);
}

static enum trk_status no_memory(struct trk_error *error)
{
    return trk_error_set(error, TRK_E_MEMORY, "no memory for the space's tables");
}

static enum trk_status tables_create(struct trk_space *space)
{
    space->table = trk_space_table_create(0);
    if (space->table == NULL || !trk_space_extents_room(&space->direct_free, 2) ||
        !trk_space_extents_room(&space->flexible_free, 2))
        return TRK_E_MEMORY;
    if (space->direct_bytes > 0)
        trk_space_extents_give(&space->direct_free, 0, space->direct_bytes);
    if (space->object_bytes > space->direct_bytes)
        trk_space_extents_give(&space->flexible_free, space->direct_bytes, space->object_bytes);
    return TRK_OK;
}

static void tables_destroy(struct trk_space *space)
{
    trk_space_table_destroy(space->table);
    free(space->owned.items);
    free(space->direct_free.items);
    free(space->flexible_free.items);
}

/* Changes are rare and must not wait for ever behind readers; no reader reads within a read. */
static void publish_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

enum trk_status trk_space_create(struct trk_space **out, const struct trk_space_options *options,
                                 struct trk_error *error)
{
    uint64_t sizes = options->direct_bytes | options->flexible_bytes;
    if (options->size != sizeof *options || options->tracker == NULL)
        return trk_error_set(error, TRK_E_ARGUMENT, "space options of another version");
    if (sizes == 0 || sizes % UNIT_BYTES != 0 || sizes >= UINT64_C(1) << 46)
        return trk_error_set(error, TRK_E_ARGUMENT, "sizes of memory are multiples of 16 KiB");
    struct trk_space *space = calloc(1, sizeof *space);
    if (space == NULL)
        return no_memory(error);
    space->tracker = options->tracker;
    space->host = options->host;
    space->direct_bytes = options->direct_bytes;
    space->object_bytes = options->direct_bytes + options->flexible_bytes;
    pthread_mutex_init(&space->change, NULL);
    publish_init(&space->publish);

    int result = 0;
    void *alias = NULL;
    enum trk_status status = tables_create(space);
    if (status != TRK_OK)
        status = no_memory(error);
    else if ((result = space->host.open(space->host.context, space->object_bytes, &space->fd)) != 0)
        status = host_failed(error, result, "no memory object for the guest");
    else if ((result = space->host.alias(space->host.context, space->fd, space->object_bytes,
                                         &alias)) != 0) {
        status = host_failed(error, result, "no mapping of the guest's memory");
        close(space->fd);
    }
    if (status != TRK_OK) {
        tables_destroy(space);
        pthread_mutex_destroy(&space->change);
        pthread_rwlock_destroy(&space->publish);
        free(space);
        return status;
    }
    space->alias = alias;
    *out = space;
    return TRK_OK;
}

void trk_space_destroy(struct trk_space *space)
{
    if (space == NULL)
        return;
    uint64_t bias = (uint64_t)space->tracker->backend->host_bias_bytes;
    for (size_t i = 0; i < space->owned.count; i++) {
        const struct space_extent *range = &space->owned.items[i];
        space->host.unmap(space->host.context, range->first + bias, range->end - range->first);
        trk_backend_forget(space->tracker->backend, range->first, range->end - range->first);
    }
    space->host.unmap(space->host.context, (uint64_t)(uintptr_t)space->alias, space->object_bytes);
    close(space->fd);
    tables_destroy(space);
    pthread_mutex_destroy(&space->change);
    pthread_rwlock_destroy(&space->publish);
    free(space);
}

static enum trk_status check_aligned(uint64_t first, uint64_t size_bytes, struct trk_error *error)
{
    if ((first | size_bytes) % TRK_HOST_PAGE_BYTES != 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "ranges are multiples of 4 KiB");
    return TRK_OK;
}

/* Under the change lock: whether the range may be changed at all. */
static enum trk_status check_owned(const struct trk_space *space, uint64_t guest_addr,
                                   uint64_t size_bytes, struct trk_error *error)
{
    enum trk_status status = check_aligned(guest_addr, size_bytes, error);
    if (status == TRK_OK &&
        (guest_addr + size_bytes < guest_addr ||
         !trk_space_extents_hold(&space->owned, guest_addr, guest_addr + size_bytes)))
        return trk_error_set(error, TRK_E_RANGE, "addresses that the space does not own");
    return status;
}

/* Under the change lock. A placeholder that the tracker knows to be closed, or all as before. */
static enum trk_status placeholder_make(struct trk_space *space, uint64_t guest_addr,
                                        uint64_t size_bytes, struct trk_error *error)
{
    uint64_t host_addr = guest_addr + (uint64_t)space->tracker->backend->host_bias_bytes;
    int result = space->host.reserve(space->host.context, host_addr, size_bytes);
    if (result == EEXIST)
        return trk_error_set(error, TRK_E_EXISTS, "the process has something mapped there");
    if (result != 0)
        return host_failed(error, result, "no placeholder for guest addresses");
    enum trk_status status =
        trk_tracker_set_guest_protection(space->tracker, guest_addr, size_bytes, TRK_RIGHTS_NONE);
    if (status == TRK_OK)
        return TRK_OK;
    enum trk_status back =
        trk_tracker_set_guest_protection(space->tracker, guest_addr, size_bytes, TRK_RIGHTS_RW);
    (void)back; /* refused on the way back as well: there is no further way */
    space->host.unmap(space->host.context, host_addr, size_bytes);
    return trk_error_set(error, status, "the tracker refused to close guest addresses: %s",
                         trk_status_name(status));
}

enum trk_status trk_space_own(struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes,
                              struct trk_error *error)
{
    enum trk_status status = check_aligned(guest_addr, size_bytes, error);
    if (status != TRK_OK)
        return status;
    if (!trk_range_valid(space->tracker->policy.arena, guest_addr, size_bytes))
        return trk_error_set(error, TRK_E_RANGE, "addresses outside the bands");
    pthread_mutex_lock(&space->change);
    pthread_rwlock_wrlock(&space->publish);
    if (trk_space_extents_touch(&space->owned, guest_addr, guest_addr + size_bytes))
        status = trk_error_set(error, TRK_E_EXISTS, "addresses that the space owns already");
    else if (!trk_space_extents_room(&space->owned, 1))
        status = no_memory(error);
    pthread_rwlock_unlock(&space->publish); /* a callback of the tracker's may read the space */
    if (status == TRK_OK)
        status = placeholder_make(space, guest_addr, size_bytes, error);
    if (status == TRK_OK) {
        pthread_rwlock_wrlock(&space->publish);
        trk_space_extents_give(&space->owned, guest_addr, guest_addr + size_bytes);
        pthread_rwlock_unlock(&space->publish);
    }
    pthread_mutex_unlock(&space->change);
    return status;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Replace a range of the table and carry it out. Under the change lock. */
static enum trk_status replace(struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes,
                               const struct space_piece *pieces, size_t count,
                               struct trk_error *error)
{
    struct space_edit edit = {guest_addr, guest_addr + size_bytes};
    struct space_table *to =
        trk_space_table_replace(space->table, edit.first_addr, edit.end_addr, pieces, count);
    if (to == NULL)
        return no_memory(error);
    enum trk_status status = trk_space_change(space, to, &edit, 1, error);
    if (status != TRK_OK)
        trk_space_table_destroy(to);
    return status;
}

/* Flexible memory for a range, in as many pieces as it takes. */
struct pool_run {
    struct space_piece *pieces;
    size_t count;
};

/* Some of it may have been open to stores before the rest was refused. */
static void pool_zero(struct trk_space *space, const struct pool_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        trk_space_zero(space, run->pieces[i].physical,
                       run->pieces[i].end_addr - run->pieces[i].first_addr);
}

static void pool_give(struct trk_space *space, struct pool_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        trk_space_extents_give(&space->flexible_free, run->pieces[i].physical,
                               run->pieces[i].physical +
                                   (run->pieces[i].end_addr - run->pieces[i].first_addr));
}

static enum trk_status pool_take(struct trk_space *space, const struct trk_space_map *map,
                                 struct pool_run *run, struct trk_error *error)
{
    uint64_t at = map->guest_addr, end_addr = map->guest_addr + map->size_bytes;
    *run =
        (struct pool_run){.pieces = malloc((space->flexible_free.count + 1) * sizeof *run->pieces)};
    if (run->pieces == NULL ||
        !trk_space_extents_room(&space->flexible_free, space->flexible_free.count + 1))
        return no_memory(error);
    while (at < end_addr && space->flexible_free.count > 0) {
        struct space_extent free_extent = space->flexible_free.items[0];
        uint64_t whole = 0;
        if (trk_space_extents_find(&space->flexible_free, end_addr - at, TRK_HOST_PAGE_BYTES,
                                   &whole))
            free_extent = (struct space_extent){whole, whole + (end_addr - at)};
        uint64_t bytes = free_extent.end - free_extent.first;
        trk_space_extents_take(&space->flexible_free, free_extent.first, free_extent.end);
        run->pieces[run->count++] = (struct space_piece){
            .first_addr = at,
            .end_addr = at + bytes,
            .physical = free_extent.first,
            .kind = TRK_SPACE_FLEXIBLE,
            .rights = map->rights,
            .is_private = map->is_private,
        };
        at += bytes;
    }
    if (at == end_addr)
        return TRK_OK;
    pool_give(space, run);
    return trk_error_set(error, TRK_E_MEMORY, "the pool of flexible memory is used up");
}

static enum trk_status map_flexible(struct trk_space *space, const struct trk_space_map *map,
                                    struct trk_error *error)
{
    struct pool_run run;
    enum trk_status status = pool_take(space, map, &run, error);
    if (status == TRK_OK) {
        status = replace(space, map->guest_addr, map->size_bytes, run.pieces, run.count, error);
        if (status != TRK_OK) {
            pool_zero(space, &run);
            pool_give(space, &run);
        }
    }
    free(run.pieces);
    return status;
}

static bool physical_allocated(const struct trk_space *space, uint64_t first, uint64_t size_bytes)
{
    return size_bytes > 0 && first + size_bytes > first &&
           first + size_bytes <= space->direct_bytes &&
           !trk_space_extents_touch(&space->direct_free, first, first + size_bytes);
}

/* Whether a mapping is there in everything as it would be made: also its size, and all of it. */
static bool same_mapping(const struct space_piece *there, const struct space_piece *made)
{
    return there->first_addr == made->first_addr && there->end_addr == made->end_addr &&
           there->mapping_first == made->mapping_first && there->mapping_end == made->mapping_end &&
           there->physical == made->physical && there->kind == made->kind &&
           there->rights == made->rights && there->is_private == made->is_private;
}

static enum trk_status map_direct(struct trk_space *space, const struct trk_space_map *map,
                                  struct trk_error *error)
{
    struct space_piece piece = {
        .first_addr = map->guest_addr,
        .end_addr = map->guest_addr + map->size_bytes,
        .physical = map->physical_offset,
        .mapping_first = map->guest_addr,
        .mapping_end = map->guest_addr + map->size_bytes,
        .kind = TRK_SPACE_DIRECT,
        .rights = map->rights,
        .is_private = map->is_private,
    };
    if (map->physical_offset % TRK_HOST_PAGE_BYTES != 0 ||
        !physical_allocated(space, map->physical_offset, map->size_bytes))
        return trk_error_set(error, TRK_E_ARGUMENT, "direct memory that is not allocated");
    /* The same again: the view, and with it every watch and generation, stays. */
    size_t at = trk_space_table_search(space->table, piece.first_addr);
    if (at < space->table->count && same_mapping(&space->table->pieces[at], &piece))
        return TRK_OK;
    return replace(space, map->guest_addr, map->size_bytes, &piece, 1, error);
}

enum trk_status trk_space_map(struct trk_space *space, const struct trk_space_map *map,
                              struct trk_error *error)
{
    if (map->size != sizeof *map || map->rights > RIGHTS_ALL ||
        (map->kind != TRK_SPACE_DIRECT && map->kind != TRK_SPACE_FLEXIBLE))
        return trk_error_set(error, TRK_E_ARGUMENT, "a mapping of no known kind or rights");
    pthread_mutex_lock(&space->change);
    enum trk_status status = check_owned(space, map->guest_addr, map->size_bytes, error);
    if (status == TRK_OK && !map->fixed &&
        !trk_space_table_none(space->table, map->guest_addr, map->guest_addr + map->size_bytes,
                              KINDS_TAKEN))
        status = trk_error_set(error, TRK_E_EXISTS, "something is mapped or reserved there");
    if (status == TRK_OK)
        status = map->kind == TRK_SPACE_DIRECT ? map_direct(space, map, error)
                                               : map_flexible(space, map, error);
    pthread_mutex_unlock(&space->change);
    return status;
}

enum trk_status trk_space_reserve(struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes,
                                  struct trk_error *error)
{
    uint64_t end_addr = guest_addr + size_bytes;
    struct space_piece piece = {
        .first_addr = guest_addr, .end_addr = end_addr, .kind = TRK_SPACE_RESERVED};
    pthread_mutex_lock(&space->change);
    enum trk_status status = check_owned(space, guest_addr, size_bytes, error);
    if (status == TRK_OK && !trk_space_table_none(space->table, guest_addr, end_addr, KINDS_TAKEN))
        status = trk_error_set(error, TRK_E_EXISTS, "something is mapped or reserved there");
    if (status == TRK_OK)
        status = replace(space, guest_addr, size_bytes, &piece, 1, error);
    pthread_mutex_unlock(&space->change);
    return status;
}

enum trk_status trk_space_commit(struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes,
                                 unsigned rights, struct trk_error *error)
{
    struct trk_space_map map = {
        .guest_addr = guest_addr, .size_bytes = size_bytes, .rights = rights};
    if (rights > RIGHTS_ALL)
        return trk_error_set(error, TRK_E_ARGUMENT, "unknown rights");
    pthread_mutex_lock(&space->change);
    enum trk_status status = check_owned(space, guest_addr, size_bytes, error);
    if (status == TRK_OK &&
        !trk_space_table_all(space->table, guest_addr, guest_addr + size_bytes, KIND(RESERVED)))
        status = trk_error_set(error, TRK_E_ARGUMENT, "commit of what is not reserved");
    if (status == TRK_OK)
        status = map_flexible(space, &map, error);
    pthread_mutex_unlock(&space->change);
    return status;
}

enum trk_status trk_space_unmap(struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes,
                                struct trk_error *error)
{
    pthread_mutex_lock(&space->change);
    enum trk_status status = check_owned(space, guest_addr, size_bytes, error);
    if (status == TRK_OK &&
        !trk_space_table_all(space->table, guest_addr, guest_addr + size_bytes, KINDS_TAKEN))
        status = trk_error_set(error, TRK_E_ARGUMENT, "unmap of what is not mapped");
    if (status == TRK_OK)
        status = replace(space, guest_addr, size_bytes, NULL, 0, error);
    pthread_mutex_unlock(&space->change);
    return status;
}

/* The table with other rights in a range that is mapped. */
static struct space_table *with_rights(const struct space_table *table, uint64_t first_addr,
                                       uint64_t end_addr, unsigned rights)
{
    struct space_piece *pieces = malloc((table->count + 1) * sizeof *pieces);
    size_t count = 0;
    if (pieces == NULL)
        return NULL;
    FOR_PIECES(piece, table, first_addr, end_addr)
    {
        pieces[count] = piece;
        pieces[count++].rights = rights;
    }
    struct space_table *made = trk_space_table_replace(table, first_addr, end_addr, pieces, count);
    free(pieces);
    return made;
}

enum trk_status trk_space_protect(struct trk_space *space, uint64_t guest_addr, uint64_t size_bytes,
                                  unsigned rights, struct trk_error *error)
{
    uint64_t end_addr = guest_addr + size_bytes;
    struct space_table *to = NULL;
    if (rights > RIGHTS_ALL)
        return trk_error_set(error, TRK_E_ARGUMENT, "unknown rights");
    pthread_mutex_lock(&space->change);
    enum trk_status status = check_owned(space, guest_addr, size_bytes, error);
    if (status == TRK_OK && !trk_space_table_all(space->table, guest_addr, end_addr, KINDS_MAPPED))
        status = trk_error_set(error, TRK_E_ARGUMENT, "protection of what is not mapped");
    if (status == TRK_OK) {
        to = with_rights(space->table, guest_addr, end_addr, rights);
        status = to != NULL ? trk_space_change_rights(space, to, guest_addr, end_addr, error)
                            : no_memory(error);
    }
    if (status != TRK_OK)
        trk_space_table_destroy(to);
    pthread_mutex_unlock(&space->change);
    return status;
}
