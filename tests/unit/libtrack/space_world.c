/*
 * The world of the address space's tests.
 */
#define _GNU_SOURCE
#include "space_world_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track/address.h"
#include "track/fault.h"

/* ---- a host that fails on demand ---- */

static bool fails(struct world *world)
{
    world->calls++;
    return world->failing != 0 && world->calls == world->failing;
}

static int world_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                         unsigned rights)
{
    struct world *world = (struct world *)backend;
    if (fails(world))
        return ENOMEM;
    return world->real->protect(world->real, guest_addr, size_bytes, rights);
}

static enum trk_status world_attach(struct trk_backend *backend, uint64_t guest_addr,
                                    uint64_t size_bytes, struct trk_error *error)
{
    struct world *world = (struct world *)backend;
    if (fails(world))
        return trk_error_set(error, TRK_E_SYSTEM, "the test refuses to attach");
    return trk_backend_attach(world->real, guest_addr, size_bytes, error);
}

static void world_detach(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes)
{
    trk_backend_detach(((struct world *)backend)->real, guest_addr, size_bytes);
}

static int world_host_map(void *context, const struct trk_space_placement *placement)
{
    struct world *world = context;
    if (fails(world))
        return ENOMEM;
    return world->real_host.map(world->real_host.context, placement);
}

static int world_host_close(void *context, uint64_t host_addr, uint64_t size_bytes)
{
    struct world *world = context;
    if (fails(world))
        return ENOMEM;
    return world->real_host.close(world->real_host.context, host_addr, size_bytes);
}

static int world_host_forget(void *context, int fd, uint64_t physical_offset, uint64_t size_bytes)
{
    struct world *world = context;
    if (fails(world))
        return EOPNOTSUPP;
    return world->real_host.forget(world->real_host.context, fd, physical_offset, size_bytes);
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)failure;
    ((struct world *)context)->failures++;
}

void world_must(enum trk_status status)
{
    if (status != TRK_OK)
        abort();
}

void world_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct world *world = context;
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    world->flushes++;
    world_must(trk_tracker_drain(world->tracker, &transfer));
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct world *world = context;
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    world->flushes++;
    world_must(trk_tracker_download(world->tracker, &transfer));
}

bool world_open(struct world *world, enum backend_choice choice)
{
    memset(world, 0, sizeof *world);
    world->real = backend_choice_open(choice, trk_host_bias_default());
    if (world->real == NULL)
        return false;
    world->backend = *world->real;
    world->backend.protect = world_protect;
    if (world->real->attach != NULL) {
        world->backend.attach = world_attach;
        world->backend.detach = world_detach;
    }
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = &world->backend;
    options.failure = on_failure;
    options.failure_context = world;
    options.policy.generations = true;
    world_must(trk_tracker_create(&world->tracker, &options, NULL));
    struct trk_resource_layer layer = {world_flush, read_back, world};
    world_must(trk_tracker_set_resource_layer(world->tracker, &layer));
    world_must(trk_fault_install(trk_fault_tracker, world->tracker, NULL));

    struct trk_space_options space = trk_space_options_default();
    space.tracker = world->tracker;
    space.direct_bytes = 32 * PAGE;
    space.flexible_bytes = 32 * PAGE;
    world->real_host = space.host;
    space.host.map = world_host_map;
    space.host.close = world_host_close;
    space.host.forget = world_host_forget;
    space.host.context = world;
    world_must(trk_space_create(&world->space, &space, NULL));
    world_must(trk_space_own(world->space, WORLD_BASE, WORLD_BYTES, NULL));
    return true;
}

void world_close(struct world *world)
{
    world->failing = 0;
    world_must(trk_fault_uninstall(NULL));
    trk_space_destroy(world->space);
    trk_tracker_destroy(world->tracker);
    trk_backend_destroy(world->real);
}

void world_fail(struct world *world, unsigned nth)
{
    world->calls = 0;
    world->failing = nth;
}

/* ---- what there is to see ---- */

const char *world_rights(unsigned rights)
{
    static const char *const texts[] = {"none", "r", "w", "rw", "x", "rx", "wx", "rwx"};
    return texts[rights & 7u];
}

uint64_t world_host_addr(const struct world *world, uint64_t page)
{
    return WORLD_BASE + page * PAGE + (uint64_t)world->backend.host_bias_bytes;
}

/* Lines of the kernel's table that touch the world or show the object. */
static void maps_text(const struct world *world, FILE *out)
{
    char line[512];
    uint64_t first = world_host_addr(world, 0), end = world_host_addr(world, WORLD_PAGES);
    FILE *maps = fopen("/proc/self/maps", "r");
    if (maps == NULL)
        abort();
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to, offset;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s %lx", &from, &to, rights, &offset) != 4)
            abort();
        if ((from < end && to > first) || strstr(line, "trk-guest") != NULL)
            fprintf(out, "%lx-%lx %s %lx\n", from, to, rights, offset);
    }
    fclose(maps);
}

unsigned world_kernel_rights(const struct world *world, uint64_t page)
{
    char *text = NULL, *at;
    size_t bytes = 0;
    unsigned rights = 8;
    FILE *out = open_memstream(&text, &bytes);
    maps_text(world, out);
    fclose(out);
    uint64_t host_addr = world_host_addr(world, page);
    for (at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        unsigned long from, to;
        char flags[8];
        if (sscanf(at, "%lx-%lx %7s", &from, &to, flags) == 3 && from <= host_addr &&
            host_addr < to)
            rights = (flags[0] == 'r' ? 1u : 0u) | (flags[1] == 'w' ? 2u : 0u) |
                     (flags[2] == 'x' ? 4u : 0u);
    }
    free(text);
    return rights;
}

static const char *kind_text(enum trk_space_kind kind)
{
    static const char *const texts[] = {"hole", "reserved", "direct", "flexible"};
    return texts[kind];
}

void world_stretch(struct world *world, uint64_t page, FILE *out)
{
    struct trk_space_stretch stretch;
    enum trk_status status = trk_space_query(world->space, WORLD_BASE + page * PAGE, &stretch);
    if (status != TRK_OK) {
        fprintf(out, "%s", trk_status_name(status));
        return;
    }
    fprintf(out, "%s %llu+%llu %s", kind_text(stretch.kind),
            (unsigned long long)(stretch.guest_addr - WORLD_BASE) / PAGE,
            (unsigned long long)(stretch.size_bytes / PAGE), world_rights(stretch.rights));
    if (stretch.kind == TRK_SPACE_DIRECT)
        fprintf(out, " @%llu", (unsigned long long)(stretch.physical_offset / PAGE));
    if (stretch.is_private)
        fprintf(out, " private");
}

char *world_text(struct world *world)
{
    static unsigned char byte[PAGE];
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    maps_text(world, out);
    for (uint64_t page = 0; page < WORLD_PAGES; page++) {
        uint64_t guest_addr = WORLD_BASE + page * PAGE, others[TRK_VIEWS_MAX];
        struct trk_page_view view = trk_pages_view(world->tracker, guest_addr);
        enum trk_status status = trk_space_read(world->space, guest_addr, byte, sizeof byte);
        unsigned long sum = 0;
        for (size_t i = 0; status == TRK_OK && i < PAGE; i++)
            sum = sum * 31 + byte[i];
        fprintf(out, "%llu: ", (unsigned long long)page);
        world_stretch(world, page, out);
        fprintf(out, "; cpu %d gpu %d watches %u/%d guest %u host %u views %u bytes %lx\n",
                view.cpu_dirty, view.gpu_dirty, view.write_watches, view.read_watch,
                view.guest_rights, view.host_rights,
                trk_tracker_views(world->tracker, guest_addr, others), sum);
    }
    fclose(out);
    return text;
}
