/*
 * Hashes of clean pages.
 *
 * An entry is the hash of a page's bytes while the page was clean, 0 when none is known. It goes
 * with the first event of an operation that may make the page something else or clean again: from
 * then on nothing is claimed until the page is learned anew. Learning and comparing read the bytes
 * first and look at the page's state afterwards: a store that the tracker sees makes the page CPU
 * before its bytes change. A page's turn counts how often its entry was dropped, so that what was
 * read across a drop is not believed. A page is not learned while an operation that is about it is
 * under way, since the owner may be about to fill it (paranoid_busy.h). Dropping happens in fault
 * handlers too and is a store.
 */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include "track/paranoid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "paranoid_busy.h"

struct known_region {
    uint32_t index;
    struct known_region *next; /* in the order of their making, newest first */
    _Atomic uint64_t hashes[TRK_REGION_PAGES];
    _Atomic uint32_t turns[TRK_REGION_PAGES];
};

struct trk_paranoid {
    struct trk_paranoid_options options;
    const struct trk_tracker *tracker;
    void *directory;
    _Atomic(struct known_region *) *regions; /* TRK_REGION_COUNT, in the directory */
    _Atomic(struct known_region *) newest;
    pthread_mutex_t make_mutex;
    struct paranoid_busy busy;
    _Atomic uint64_t frame;
    _Atomic uint64_t compared, learned, findings, ns;
};

/* Uploads of several trackers may nest so deep; those within are looked at as other operations. */
#define UPLOADS_MOST 4u

/* The uploads that this thread is in, for what comes of them does not say their ranges. */
struct upload {
    uint64_t guest_addr, size_bytes;
    bool written;
    bool busy; /* it may still fill its pages */
};
static _Thread_local struct upload uploads[UPLOADS_MOST] __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned upload_depth __attribute__((tls_model("initial-exec")));

#define DIRECTORY_BYTES (TRK_REGION_COUNT * sizeof(_Atomic(struct known_region *)))

enum trk_status trk_paranoid_create(struct trk_paranoid **out,
                                    const struct trk_paranoid_options *options,
                                    struct trk_error *error)
{
    *out = NULL;
    if (options == NULL || options->size != sizeof *options || options->one_in == 0 ||
        options->bytes == NULL || options->finding == NULL)
        return trk_error_set(error, TRK_E_ARGUMENT, "paranoid: the options are not usable");
    struct trk_paranoid *paranoid = calloc(1, sizeof *paranoid);
    void *regions = mmap(NULL, DIRECTORY_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (paranoid == NULL || regions == MAP_FAILED) {
        if (regions != MAP_FAILED)
            munmap(regions, DIRECTORY_BYTES);
        free(paranoid);
        return trk_error_set(error, TRK_E_MEMORY, "paranoid: no memory");
    }
    paranoid->options = *options;
    paranoid->directory = paranoid->regions = regions;
    (void)pthread_mutex_init(&paranoid->make_mutex, NULL);
    *out = paranoid;
    return TRK_OK;
}

void trk_paranoid_destroy(struct trk_paranoid *paranoid)
{
    if (paranoid == NULL)
        return;
    for (struct known_region *region = paranoid->newest; region != NULL;) {
        struct known_region *next = region->next;
        free(region);
        region = next;
    }
    munmap(paranoid->directory, DIRECTORY_BYTES);
    (void)pthread_mutex_destroy(&paranoid->make_mutex);
    free(paranoid);
}

void trk_paranoid_watch(struct trk_paranoid *paranoid, const struct trk_tracker *tracker)
{
    paranoid->tracker = tracker;
}

static struct known_region *find(const struct trk_paranoid *paranoid, uint32_t index)
{
    return atomic_load_explicit(&paranoid->regions[index], memory_order_acquire);
}

/* NULL without memory: then nothing is claimed of its pages. */
static struct known_region *find_or_make(struct trk_paranoid *paranoid, uint32_t index)
{
    struct known_region *region = find(paranoid, index);
    if (region != NULL)
        return region;
    (void)pthread_mutex_lock(&paranoid->make_mutex);
    region = find(paranoid, index);
    if (region == NULL && (region = calloc(1, sizeof *region)) != NULL) {
        region->index = index;
        region->next = paranoid->newest;
        atomic_store_explicit(&paranoid->newest, region, memory_order_release);
        atomic_store_explicit(&paranoid->regions[index], region, memory_order_release);
    }
    (void)pthread_mutex_unlock(&paranoid->make_mutex);
    return region;
}

/* 64 bits of a page's bytes, never 0. Eight lanes, for the multipliers to work side by side. */
static uint64_t hash_page(const void *bytes)
{
    const uint64_t odd = UINT64_C(0x9fb21c651e98df25);
    uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const unsigned char *at = bytes;
    for (size_t i = 0; i < TRK_HOST_PAGE_BYTES; i += sizeof lanes) {
        uint64_t words[8];
        memcpy(words, at + i, sizeof words);
        for (size_t lane = 0; lane < 8; ++lane) {
            uint64_t mixed = (lanes[lane] ^ words[lane]) * odd;
            lanes[lane] = mixed ^ mixed >> 29;
        }
    }
    uint64_t hash = odd;
    for (size_t lane = 0; lane < 8; ++lane) {
        hash = (hash ^ lanes[lane]) * odd;
        hash ^= hash >> 32;
    }
    return hash != 0 ? hash : 1;
}

/* Whether the page is clean now. No lock: the bytes were read before. */
static bool is_clean(const struct trk_paranoid *paranoid, uint32_t index, uint32_t page)
{
    atomic_thread_fence(memory_order_acquire);
    if (!region_live(paranoid->tracker, index))
        return false;
    const struct region *region = region_slot(paranoid->tracker, index);
    uint64_t not_cpu = __atomic_load_n(&region->not_cpu[page / 64], __ATOMIC_RELAXED);
    uint64_t gpu = __atomic_load_n(&region->gpu[page / 64], __ATOMIC_RELAXED);
    return (not_cpu & ~gpu) >> (page % 64) & 1;
}

static void tell(struct trk_paranoid *paranoid, const struct trk_paranoid_finding *finding)
{
    atomic_fetch_add_explicit(&paranoid->findings, 1, memory_order_relaxed);
    paranoid->options.finding(paranoid->options.context, finding);
}

/* Hold a page against what is known of it, or learn it where nothing is. */
static void look(struct trk_paranoid *paranoid, struct known_region *region, uint32_t page,
                 enum trk_paranoid_moment moment)
{
    uint32_t turn = atomic_load(&region->turns[page]);
    uint64_t known = atomic_load_explicit(&region->hashes[page], memory_order_relaxed);
    uint64_t page_addr = trk_region_address(region->index) + page * TRK_HOST_PAGE_BYTES;
    if (!is_clean(paranoid, region->index, page))
        return;
    if (known == 0 && trk_paranoid_is_busy(&paranoid->busy, page_addr))
        return;
    const void *bytes = paranoid->options.bytes(paranoid->options.context, page_addr);
    if (bytes == NULL)
        return;
    uint64_t seen = hash_page(bytes);
    if (!is_clean(paranoid, region->index, page) || atomic_load(&region->turns[page]) != turn)
        return;
    if (known == 0) {
        atomic_store(&region->hashes[page], seen);
        atomic_fetch_add_explicit(&paranoid->learned, 1, memory_order_relaxed);
        if (atomic_load(&region->turns[page]) != turn ||
            trk_paranoid_is_busy(&paranoid->busy, page_addr))
            atomic_store(&region->hashes[page], 0);
        return;
    }
    atomic_fetch_add_explicit(&paranoid->compared, 1, memory_order_relaxed);
    /* Whoever exchanges it tells it. */
    if (known != seen && atomic_compare_exchange_strong(&region->hashes[page], &known, seen)) {
        struct trk_paranoid_finding finding = {page_addr, known, seen, moment};
        tell(paranoid, &finding);
    }
}

static uint64_t now_ns(const struct trk_paranoid *paranoid)
{
    return paranoid->options.now_ns != NULL ? paranoid->options.now_ns() : 0;
}

/* Whether it is this page's turn in this frame. */
static bool in_sample(const struct trk_paranoid *paranoid, uint32_t index, uint32_t page)
{
    uint64_t number = (uint64_t)index * TRK_REGION_PAGES + page;
    uint64_t frame = atomic_load_explicit(&paranoid->frame, memory_order_relaxed);
    return (number + frame) % paranoid->options.one_in == 0;
}

static void look_at_range(struct trk_paranoid *paranoid, uint64_t guest_addr, uint64_t size_bytes,
                          enum trk_paranoid_moment moment)
{
    if (paranoid->tracker == NULL ||
        !trk_range_valid(paranoid->tracker->policy.arena, guest_addr, size_bytes))
        return;
    uint64_t start = now_ns(paranoid);
    struct range range = range_pages(guest_addr, size_bytes, TRK_HOST_PAGE_BYTES);
    for (uint32_t index = range.first_region; index < range.end_region; ++index) {
        struct window window = range_window(&range, index);
        struct known_region *region = find_or_make(paranoid, index);
        for (uint32_t page = window.first; region != NULL && page < window.end; ++page) {
            if (in_sample(paranoid, index, page))
                look(paranoid, region, page, moment);
        }
    }
    atomic_fetch_add_explicit(&paranoid->ns, now_ns(paranoid) - start, memory_order_relaxed);
}

/* Claim nothing more of these pages. Signal-safe. */
static void drop(struct trk_paranoid *paranoid, uint32_t index, uint32_t first, uint32_t count)
{
    struct known_region *region = index < TRK_REGION_COUNT ? find(paranoid, index) : NULL;
    if (region == NULL)
        return;
    for (uint32_t page = first; page < first + count && page < TRK_REGION_PAGES; ++page) {
        atomic_fetch_add(&region->turns[page], 1);
        atomic_store_explicit(&region->hashes[page], 0, memory_order_relaxed);
    }
}

static void drop_range(struct trk_paranoid *paranoid, uint64_t guest_addr, uint64_t size_bytes)
{
    if (!trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, size_bytes))
        return;
    struct range range = range_pages(guest_addr, size_bytes, TRK_HOST_PAGE_BYTES);
    for (uint32_t index = range.first_region; index < range.end_region; ++index) {
        struct window window = range_window(&range, index);
        drop(paranoid, index, window.first, window.end - window.first);
    }
}

/*
 * Operations in which pages neither change state nor are written. Rights and watches are among
 * them: what was known before they arm a page again is what shows that they did not.
 */
static bool is_harmless(uint16_t op)
{
    switch (op) {
    case TRK_OP_IS_CPU:
    case TRK_OP_IS_GPU:
    case TRK_OP_LOCK:
    case TRK_OP_UNLOCK:
    case TRK_OP_REGISTER:
    case TRK_OP_GUEST_PROTECT:
    case TRK_OP_RESOURCE_LAYER:
    case TRK_OP_WATCH:
    case TRK_OP_UNWATCH:
    case TRK_OP_WATCH_MASK:
    case TRK_OP_UNWATCH_MASK:
    case TRK_OP_GEN_QUERY:
    case TRK_OP_GEN_TRACK:
        return true;
    default:
        return false;
    }
}

static void look_at_upload(struct trk_paranoid *paranoid, const struct upload *upload)
{
    look_at_range(paranoid, upload->guest_addr, upload->size_bytes, TRK_PARANOID_UPLOAD);
}

/* A range that is none may be anywhere. */
static uint64_t end_of(uint64_t first, uint64_t size_bytes)
{
    return size_bytes > 0 && first + size_bytes > first ? first + size_bytes : UINT64_MAX;
}

static void begin(struct trk_paranoid *paranoid, const struct trk_event *event)
{
    if (event->context == TRK_OP_UPLOAD && upload_depth++ < UPLOADS_MOST) {
        struct upload *upload = &uploads[upload_depth - 1];
        *upload = (struct upload){event->argument, trk_event_size(event),
                                  event->flags & TRK_OP_FLAG_WRITTEN, true};
        look_at_upload(paranoid, upload);
    }
    /* The guest's mprotect is what a watch may not come back from. */
    if (event->context == TRK_OP_GUEST_PROTECT)
        look_at_range(paranoid, event->argument, trk_event_size(event), TRK_PARANOID_PROTECT);
    if (is_harmless(event->context))
        return;
    trk_paranoid_busy_begin(&paranoid->busy, event->argument,
                            end_of(event->argument, trk_event_size(event)));
    drop_range(paranoid, event->argument, trk_event_size(event));
}

/*
 * The upload has taken its bytes: its pages are known from here on, while the owner's completion
 * runs. Of a written one that runs with all locks held and the pages become the GPU's.
 */
static void completes(struct trk_paranoid *paranoid)
{
    struct upload *upload =
        upload_depth > 0 && upload_depth <= UPLOADS_MOST ? &uploads[upload_depth - 1] : NULL;
    if (upload == NULL || upload->written || !upload->busy)
        return;
    upload->busy = false;
    trk_paranoid_busy_settle(&paranoid->busy);
    look_at_upload(paranoid, upload);
}

static void end(struct trk_paranoid *paranoid, const struct trk_event *event)
{
    if (is_harmless(event->context))
        return;
    const struct upload *upload = NULL;
    if (event->context == TRK_OP_UPLOAD && upload_depth > 0 && --upload_depth < UPLOADS_MOST)
        upload = &uploads[upload_depth];
    trk_paranoid_busy_end(&paranoid->busy);
    if (upload != NULL)
        look_at_upload(paranoid, upload);
}

/* The operation is about these pages, whatever its own range is. */
static void range(struct trk_paranoid *paranoid, uint32_t index, uint32_t first, uint32_t count)
{
    if (index >= TRK_REGION_COUNT)
        return;
    uint64_t guest_addr = trk_region_address(index) + first * TRK_HOST_PAGE_BYTES;
    trk_paranoid_busy_add(&paranoid->busy, guest_addr, guest_addr + count * TRK_HOST_PAGE_BYTES);
    drop(paranoid, index, first, count);
}

static void observe(void *context, const struct trk_event *event)
{
    struct trk_paranoid *paranoid = context;
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
        begin(paranoid, event);
        break;
    case TRK_EVENT_FAULT:
        trk_paranoid_busy_begin(&paranoid->busy, event->argument, event->argument + 1);
        drop_range(paranoid, event->argument, 1);
        break;
    case TRK_EVENT_RANGE:
        range(paranoid, trk_domain_region(event->domain), event->page, event->pages);
        break;
    case TRK_EVENT_CALLBACK:
        if (event->context == TRK_CALLBACK_COMPLETION)
            completes(paranoid);
        break;
    case TRK_EVENT_OP_END:
        end(paranoid, event);
        break;
    default:
        break;
    }
    if (paranoid->options.observer.emit != NULL)
        paranoid->options.observer.emit(paranoid->options.observer.context, event);
}

struct trk_observer trk_paranoid_observer(struct trk_paranoid *paranoid)
{
    return (struct trk_observer){.context = paranoid, .emit = observe};
}

void trk_paranoid_draw(struct trk_paranoid *paranoid, uint64_t guest_addr, uint64_t size_bytes)
{
    look_at_range(paranoid, guest_addr, size_bytes, TRK_PARANOID_DRAW);
}

void trk_paranoid_frame(struct trk_paranoid *paranoid)
{
    uint64_t start = now_ns(paranoid);
    struct known_region *region = atomic_load_explicit(&paranoid->newest, memory_order_acquire);
    for (; region != NULL; region = region->next) {
        for (uint32_t page = 0; page < TRK_REGION_PAGES; ++page) {
            if (in_sample(paranoid, region->index, page))
                look(paranoid, region, page, TRK_PARANOID_FRAME);
        }
    }
    atomic_fetch_add_explicit(&paranoid->frame, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&paranoid->ns, now_ns(paranoid) - start, memory_order_relaxed);
}

struct trk_paranoid_counts trk_paranoid_counts(const struct trk_paranoid *paranoid)
{
    return (struct trk_paranoid_counts){
        .compared = atomic_load(&paranoid->compared),
        .learned = atomic_load(&paranoid->learned),
        .findings = atomic_load(&paranoid->findings),
        .ns = atomic_load(&paranoid->ns),
    };
}
