#include "demo_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/capture.h"

#define HLE_PAGES    24u
#define PING_PAGES   16u
#define RESULT_PAGES 32u
/* No fewer than there can be threads, so that each thread owns slots in each vertex area. */
#define VERTEX_PAGES       32u
#define VERTEX_PAGES_LARGE 64u
#define LARGE_WINDOW_PAGES 512u

/* Stamps a frame: more than the stores that one slot can get in it. */
#define FRAME_STAMPS 256u

static void memory_place(struct demo_memory *memory, uint32_t id, uint32_t page, uint32_t pages)
{
    memory->areas[id] = (struct demo_area){.page = page, .pages = pages};
}

/*
 * In each window: two vertex areas, an area of the GPU's around the middle, two more vertex areas.
 * In windows of 8 MiB the middle is a region's edge.
 */
static void memory_layout(struct demo_memory *memory)
{
    const uint32_t window_pages = memory->pages / 2;
    const uint32_t gap = window_pages / 32;
    const uint32_t vertex[2] = {
        window_pages >= LARGE_WINDOW_PAGES ? VERTEX_PAGES_LARGE : VERTEX_PAGES,
        VERTEX_PAGES,
    };
    for (uint32_t window = 0; window < 2; window++) {
        const uint32_t base = window * window_pages;
        const uint32_t middle = window == 0 ? HLE_PAGES : RESULT_PAGES;
        const uint32_t middle_page = base + (window_pages - middle) / 2;
        uint32_t page = base + gap;
        memory_place(memory, window == 0 ? DEMO_AREA_HLE : DEMO_AREA_RESULT, middle_page, middle);
        for (uint32_t i = 0; i < DEMO_VERTEX_AREAS / 2; i++) {
            if (i == DEMO_VERTEX_AREAS / 4) {
                page = middle_page + middle + gap;
            }
            memory_place(memory, DEMO_AREA_VERTEX + window * DEMO_VERTEX_AREAS / 2 + i, page,
                         vertex[i % 2]);
            page += vertex[i % 2] + gap;
        }
        if (window == 0) {
            memory_place(memory, DEMO_AREA_PING, page, PING_PAGES);
            page += PING_PAGES;
        }
        const uint32_t end = base + window_pages;
        memory->rest[window] = (struct demo_area){page, page < end ? end - page : 0};
    }
}

uint32_t demo_memory_rest(const struct demo_memory *memory)
{
    return memory->rest[0].pages + memory->rest[1].pages;
}

uint32_t demo_memory_rest_page(const struct demo_memory *memory, uint32_t number)
{
    const uint32_t first = memory->rest[0].pages;
    return number < first ? memory->rest[0].page + number : memory->rest[1].page + number - first;
}

uint32_t demo_memory_rest_of(uint32_t megabytes)
{
    struct demo_memory memory = {.pages = megabytes * 256u};
    memory_layout(&memory);
    return demo_memory_rest(&memory);
}

/* A view of the memfd; guest_addr 0 lets the kernel choose. NULL and error on failure. */
static char *memory_view(const struct demo_memory *memory, uint64_t guest_addr, uint64_t offset,
                         uint64_t size_bytes, struct trk_error *error)
{
    uint64_t host = guest_addr == 0 ? 0 : guest_addr + (uint64_t)memory->bias;
    int flags = MAP_SHARED | (guest_addr == 0 ? 0 : MAP_FIXED_NOREPLACE);
    void *wanted = (void *)(uintptr_t)host;
    void *view = mmap(wanted, size_bytes, PROT_READ | PROT_WRITE, flags, memory->fd, (off_t)offset);
    if (view != MAP_FAILED && (guest_addr == 0 || view == wanted)) {
        return view;
    }
    int os_errno = view == MAP_FAILED ? errno : EEXIST; /* old kernels place it elsewhere */
    if (view != MAP_FAILED) {
        munmap(view, size_bytes);
    }
    trk_error_set(error, os_errno == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM,
                  "cannot map guest memory at 0x%llx", (unsigned long long)guest_addr);
    if (error != NULL) {
        error->os_errno = os_errno;
    }
    return NULL;
}

static enum trk_status memory_views(struct demo_memory *memory, struct trk_error *error)
{
    struct trk_error failed = {.status = TRK_E_SYSTEM};
    const struct demo_area *hle = &memory->areas[DEMO_AREA_HLE];
    const uint64_t half = memory->half_bytes;
    memory->backing = memory_view(memory, 0, 0, half * 2, &failed);
    if (memory->backing != NULL) {
        memory->low = memory_view(memory, DEMO_LOW_WINDOW, 0, half, &failed);
    }
    if (memory->low != NULL) {
        memory->arena = memory_view(memory, DEMO_ARENA_WINDOW, half, half, &failed);
    }
    if (memory->arena != NULL) {
        memory->alias = memory_view(memory, DEMO_ALIAS_WINDOW, hle->page * TRK_HOST_PAGE_BYTES,
                                    hle->pages * TRK_HOST_PAGE_BYTES, &failed);
    }
    if (memory->alias != NULL) {
        return TRK_OK;
    }
    if (error != NULL) {
        *error = failed;
    }
    return failed.status;
}

enum trk_status demo_memory_map(struct demo_memory *memory, uint32_t megabytes,
                                struct trk_error *error)
{
    memory->bias = trk_host_bias_default();
    memory->pages = megabytes * 256u;
    memory->half_bytes = ((uint64_t)megabytes << 20) / 2;
    memory_layout(memory);
    memory->expected = calloc((size_t)memory->pages * DEMO_PAGE_SLOTS, sizeof *memory->expected);
    if (memory->expected == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the demo's tables");
    }
    memory->fd = memfd_create("trk-demo", MFD_CLOEXEC);
    enum trk_status status = TRK_OK;
    if (memory->fd < 0 || ftruncate(memory->fd, (off_t)(memory->half_bytes * 2)) != 0) {
        status = trk_error_set_errno(error, TRK_E_SYSTEM, errno,
                                     "cannot create %u MiB of guest memory", megabytes);
    } else {
        status = memory_views(memory, error);
    }
    if (status != TRK_OK) {
        demo_memory_unmap(memory);
    }
    return status;
}

static void memory_unview(char **view, uint64_t size_bytes)
{
    if (*view != NULL) {
        munmap(*view, size_bytes);
        *view = NULL;
    }
}

void demo_memory_unmap(struct demo_memory *memory)
{
    memory_unview(&memory->alias, memory->areas[DEMO_AREA_HLE].pages * TRK_HOST_PAGE_BYTES);
    memory_unview(&memory->arena, memory->half_bytes);
    memory_unview(&memory->low, memory->half_bytes);
    memory_unview(&memory->backing, memory->half_bytes * 2);
    if (memory->fd >= 0) {
        close(memory->fd);
        memory->fd = -1;
    }
    free(memory->expected);
    memory->expected = NULL;
}

enum trk_status demo_memory_attach(const struct demo_memory *memory, struct trk_backend *backend,
                                   struct trk_error *error)
{
    enum trk_status status =
        trk_backend_attach(backend, DEMO_LOW_WINDOW, memory->half_bytes, error);
    if (status == TRK_OK) {
        status = trk_backend_attach(backend, DEMO_ARENA_WINDOW, memory->half_bytes, error);
    }
    return status;
}

void demo_memory_detach(const struct demo_memory *memory, struct trk_backend *backend)
{
    if (backend != NULL) {
        trk_backend_detach(backend, DEMO_LOW_WINDOW, memory->half_bytes);
        trk_backend_detach(backend, DEMO_ARENA_WINDOW, memory->half_bytes);
    }
}

void demo_memory_announce(const struct demo_memory *memory)
{
    const struct demo_area *hle = &memory->areas[DEMO_AREA_HLE];
    trk_capture_map(DEMO_LOW_WINDOW, memory->half_bytes, 0, TRK_RIGHTS_RW, 0);
    trk_capture_map(DEMO_ARENA_WINDOW, memory->half_bytes, memory->pages / 2, TRK_RIGHTS_RW, 0);
    trk_capture_map(DEMO_ALIAS_WINDOW, hle->pages * TRK_HOST_PAGE_BYTES, hle->page, TRK_RIGHTS_RW,
                    TRK_MAP_ALIAS | TRK_MAP_UNTRACKED);
}

uint64_t demo_memory_guest(const struct demo_memory *memory, uint32_t page)
{
    uint64_t offset = page * TRK_HOST_PAGE_BYTES;
    return offset < memory->half_bytes ? DEMO_LOW_WINDOW + offset
                                       : DEMO_ARENA_WINDOW + offset - memory->half_bytes;
}

uint32_t demo_memory_page(const struct demo_memory *memory, uint64_t guest_addr)
{
    uint64_t offset = guest_addr < DEMO_ARENA_WINDOW
                          ? guest_addr - DEMO_LOW_WINDOW
                          : guest_addr - DEMO_ARENA_WINDOW + memory->half_bytes;
    return (uint32_t)(offset / TRK_HOST_PAGE_BYTES);
}

uint32_t demo_memory_hole(const struct demo_memory *memory)
{
    return memory->areas[DEMO_AREA_HLE].page - 1;
}

uint64_t demo_memory_slot_guest(const struct demo_memory *memory, uint32_t slot)
{
    return demo_memory_guest(memory, slot / DEMO_PAGE_SLOTS) +
           (uint64_t)(slot % DEMO_PAGE_SLOTS) * DEMO_SLOT_BYTES;
}

uint32_t demo_memory_texture(void)
{
    return 0; /* before the first area there is a gap */
}

volatile uint32_t *demo_memory_slot(const struct demo_memory *memory, uint32_t slot)
{
    uint64_t offset = (uint64_t)slot * DEMO_SLOT_BYTES;
    char *view = offset < memory->half_bytes ? memory->low + offset
                                             : memory->arena + (offset - memory->half_bytes);
    return (volatile uint32_t *)(void *)view;
}

uint32_t demo_memory_stamp(const struct demo_memory *memory, uint32_t slot, uint32_t frame)
{
    uint32_t first = (frame + 1) * FRAME_STAMPS;
    uint32_t next = memory->expected[slot] + 1;
    return next > first ? next : first;
}
