/*
 * The backend that write-protects page-table entries through userfaultfd.
 *
 * A store to an armed page arrives as SIGBUS in the storing thread, at the exact byte. No mapping
 * is split, and an un-protect need not interrupt the other cores. Loads never fault this way: a
 * page that must not be read gets a guard in its page-table entry where the kernel has guards for
 * files (6.15), else mprotect. Rights with execute are mprotect's too, and so is memory that was
 * never attached.
 *
 * What a page is under is kept in a byte, since the calls to make depend on where it comes from.
 * Two rules hold on every way: never a moment in which a page lets through what neither its old nor
 * its new rights let; and never a guard over an armed page, because the call that installs it would
 * not return (Linux 6.18). A guard therefore comes and goes behind mprotect when write-protection
 * changes with it.
 *
 * Pages of a region are changed by one thread at a time: the page manager holds its lock.
 *
 * Rules: [M-46], [M-47].
 */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend_host.h"
#include "backend_probe.h"
#include "kernel_abi.h"
#include "mappings.h"
#include "track/address.h"

/* A page's byte; 0: not attached. The low bits are the rights of the mapping, TRK_RIGHT_*. */
#define PAGE_RIGHTS   0x07u
#define PAGE_ARMED    0x08u
#define PAGE_GUARDED  0x10u
#define PAGE_GUARDS   0x20u /* guards may be used: the memory is shared, so they lose nothing */
#define PAGE_ATTACHED 0x80u

#define ALL_PAGES ((size_t)TRK_REGION_COUNT * TRK_REGION_PAGES)

struct userfaultfd {
    struct trk_backend backend; /* first: the public part */
    int fd;
    bool guards; /* the kernel has guard pages for files */
    /* Without guards: pages closed to loads split mappings. With them only its reserve is used. */
    struct trk_mappings mappings;
    uint8_t *pages; /* ALL_PAGES bytes of address space, touched where memory is attached */
};

static struct userfaultfd *of(struct trk_backend *backend)
{
    return (struct userfaultfd *)backend;
}

static uint8_t *page_bytes(const struct userfaultfd *self, uint64_t guest_addr)
{
    uint64_t region_offset = guest_addr % TRK_REGION_BYTES;
    return self->pages + (size_t)trk_region_index(guest_addr) * TRK_REGION_PAGES +
           region_offset / TRK_HOST_PAGE_BYTES;
}

/* What a page has to be under for these rights, coming from `now`. */
static uint8_t wanted(uint8_t now, unsigned rights)
{
    unsigned kept = now & (PAGE_ATTACHED | PAGE_GUARDS);
    if (rights == TRK_RIGHT_READ)
        return (uint8_t)(kept | TRK_RIGHTS_RW | PAGE_ARMED);
    if (rights != TRK_RIGHTS_NONE)
        return (uint8_t)(kept | rights);
    if (kept & PAGE_GUARDS)
        return (uint8_t)(kept | TRK_RIGHTS_RW | PAGE_GUARDED);
    return (uint8_t)(kept |
                     (now & PAGE_ARMED)); /* closed by mprotect, and armed beneath if it was */
}

/*
 * With guards no mappings are short in the long run, but a page that goes from a guard to arming,
 * or back, is closed by mprotect in between. When the rest of the process has taken every mapping,
 * that alone would be refused: pieces of the reserve are let go for it, and taken back after the
 * move.
 */
static int mprotect_spared(struct userfaultfd *self, struct host_range range, unsigned rights)
{
    int result = trk_host_mprotect(range, rights);
    for (int step = 0; result == ENOMEM && self->guards && step < TRK_RELIEF_STEPS; step++) {
        trk_mappings_let_go(&self->mappings, step);
        result = trk_host_mprotect(range, rights);
    }
    return result;
}

static void take_spares_back(struct userfaultfd *self)
{
    if (TRK_UNLIKELY(__atomic_load_n(&self->mappings.reserve_out, __ATOMIC_RELAXED) != 0) &&
        self->guards && self->mappings.reserve != NULL)
        trk_mappings_refill(&self->mappings);
}

/* One step of a move: make the call, and remember in `now` that it was made. */
static int set_rights(struct userfaultfd *self, struct host_range range, uint8_t *now,
                      unsigned rights)
{
    int result = (*now & PAGE_RIGHTS) == rights ? 0 : mprotect_spared(self, range, rights);
    if (result == 0)
        *now = (uint8_t)((*now & ~PAGE_RIGHTS) | rights);
    return result;
}

static int set_armed(const struct userfaultfd *self, struct host_range range, uint8_t *now,
                     bool armed)
{
    if (((*now & PAGE_ARMED) != 0) == armed)
        return 0;
    int result = trk_host_uffd_protect(self->fd, range, armed);
    if (result == 0)
        *now ^= PAGE_ARMED;
    return result;
}

static int set_guarded(struct host_range range, uint8_t *now, bool guarded)
{
    if (((*now & PAGE_GUARDED) != 0) == guarded)
        return 0;
    int result = trk_host_guard(range, guarded);
    if (result == 0)
        *now ^= PAGE_GUARDED;
    return result;
}

/*
 * Move pages that are all under `*now` to `to`; `*now` is what was reached. A guard goes before
 * arming and comes after un-protecting, so between the two mprotect must stop stores.
 */
static int move(struct userfaultfd *self, struct host_range range, uint8_t *now, uint8_t to)
{
    bool guard_moves = ((*now ^ to) & PAGE_GUARDED) != 0;
    bool arm_moves = ((*now ^ to) & PAGE_ARMED) != 0;
    unsigned meanwhile = *now & to & PAGE_RIGHTS;
    if (guard_moves && arm_moves)
        meanwhile &= ~TRK_RIGHT_WRITE;
    int result = set_rights(self, range, now, meanwhile);
    if (result == 0 && !(to & PAGE_GUARDED))
        result = set_guarded(range, now, false);
    if (result == 0)
        result = set_armed(self, range, now, (to & PAGE_ARMED) != 0);
    if (result == 0 && (to & PAGE_GUARDED))
        result = set_guarded(range, now, true);
    if (result == 0)
        result = set_rights(self, range, now, to & PAGE_RIGHTS);
    return result;
}

/* The same for pages that are all under `from`; on failure they are under `from` again. */
static int move_or_stay(struct userfaultfd *self, struct host_range range, uint8_t from, uint8_t to,
                        uint8_t *reached)
{
    uint8_t now = from;
    int result = move(self, range, &now, to);
    *reached = now;
    if (result == 0)
        return 0;
    /* Memory that is locked takes no guards. */
    if (result == EINVAL && (to & PAGE_GUARDED) && !(now & PAGE_GUARDED)) {
        uint8_t without = (uint8_t)(from & ~(PAGE_GUARDS | PAGE_RIGHTS));
        result = move(self, range, &now, without);
        *reached = now & (uint8_t)~PAGE_GUARDS;
        if (result == 0)
            return 0;
    }
    (void)move(self, range, &now, from);
    *reached = now;
    return result;
}

/* How many of `count` pages are under the same as the first. */
static size_t equal_pages(const uint8_t *pages, size_t count)
{
    size_t equal = 1;
    while (equal < count && pages[equal] == pages[0])
        equal++;
    return equal;
}

static int protect_run(struct userfaultfd *self, struct host_range range, uint8_t *pages,
                       unsigned rights)
{
    uint8_t from = pages[0];
    if (from == 0)
        return trk_host_mprotect(range, rights);
    uint8_t reached = from;
    int result = move_or_stay(self, range, from, wanted(from, rights), &reached);
    memset(pages, reached, range.size_bytes / TRK_HOST_PAGE_BYTES);
    return result;
}

/* Put the first pages of a call back under what they were under; best effort. */
static void protect_back(struct userfaultfd *self, struct host_range range, uint8_t *pages,
                         const uint8_t *former)
{
    size_t count = range.size_bytes / TRK_HOST_PAGE_BYTES;
    for (size_t i = 0; i < count; i++) {
        struct host_range page = {range.first + i * TRK_HOST_PAGE_BYTES, TRK_HOST_PAGE_BYTES};
        uint8_t reached = pages[i];
        if (former[i] != 0)
            (void)move_or_stay(self, page, pages[i], former[i], &reached);
        pages[i] = reached;
    }
}

static int userfaultfd_protect(struct trk_backend *backend, uint64_t guest_addr,
                               uint64_t size_bytes, unsigned rights)
{
    int former_errno = errno;
    struct userfaultfd *self = of(backend);
    struct host_range range = host_range(backend, guest_addr, size_bytes);
    uint8_t *pages = page_bytes(self, guest_addr);
    uint8_t former[TRK_REGION_PAGES];
    size_t count = (size_t)size_bytes / TRK_HOST_PAGE_BYTES, done = 0;
    memcpy(former, pages, count);
    int result = 0;
    while (result == 0 && done < count) {
        size_t equal = equal_pages(pages + done, count - done);
        struct host_range run = {range.first + done * TRK_HOST_PAGE_BYTES,
                                 equal * TRK_HOST_PAGE_BYTES};
        result = protect_run(self, run, pages + done, rights);
        if (result == 0)
            done += equal;
    }
    if (result != 0)
        protect_back(self, (struct host_range){range.first, done * TRK_HOST_PAGE_BYTES}, pages,
                     former);
    take_spares_back(self);
    errno = former_errno;
    return result;
}

static enum trk_status attach_error(struct trk_error *error, int refused, uint64_t guest_addr)
{
    return trk_error_set_errno(error, refused == EBUSY ? TRK_E_EXISTS : TRK_E_SYSTEM, refused,
                               "userfaultfd: cannot attach memory at 0x%llx",
                               (unsigned long long)guest_addr);
}

/* Attach a mapping that has these rights. */
static enum trk_status attach(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                              unsigned rights, struct trk_error *error)
{
    struct userfaultfd *self = of(backend);
    struct host_range range = host_range(backend, guest_addr, size_bytes);
    if (guest_addr % TRK_HOST_PAGE_BYTES != 0 || size_bytes % TRK_HOST_PAGE_BYTES != 0 ||
        !trk_range_valid(TRK_ARENA_LOW_EXTENDED, guest_addr, size_bytes))
        return trk_error_set(error, TRK_E_ARGUMENT, "userfaultfd: no pages of the guest's");
    int refused = trk_host_uffd_register(self->fd, range);
    if (refused != 0)
        return attach_error(error, refused, guest_addr);
    bool guards = self->guards && trk_host_is_shared(range);
    memset(page_bytes(self, guest_addr), (int)(PAGE_ATTACHED | rights | (guards ? PAGE_GUARDS : 0)),
           (size_t)size_bytes / TRK_HOST_PAGE_BYTES);
    return TRK_OK;
}

static enum trk_status userfaultfd_attach(struct trk_backend *backend, uint64_t guest_addr,
                                          uint64_t size_bytes, struct trk_error *error)
{
    return attach(backend, guest_addr, size_bytes, TRK_RIGHTS_RW, error);
}

static void userfaultfd_forget(struct trk_backend *backend, uint64_t guest_addr,
                               uint64_t size_bytes)
{
    memset(page_bytes(of(backend), guest_addr), 0, (size_t)size_bytes / TRK_HOST_PAGE_BYTES);
}

static enum trk_status userfaultfd_attach_closed(struct trk_backend *backend, uint64_t guest_addr,
                                                 uint64_t size_bytes, struct trk_error *error)
{
    enum trk_status status = attach(backend, guest_addr, size_bytes, TRK_RIGHTS_NONE, error);
    if (status != TRK_OK && status != TRK_E_ARGUMENT)
        userfaultfd_forget(backend, guest_addr, size_bytes);
    return status;
}

static void userfaultfd_detach(struct trk_backend *backend, uint64_t guest_addr,
                               uint64_t size_bytes)
{
    struct userfaultfd *self = of(backend);
    struct host_range range = host_range(backend, guest_addr, size_bytes);
    uint8_t *pages = page_bytes(self, guest_addr);
    size_t count = (size_t)size_bytes / TRK_HOST_PAGE_BYTES;
    /* The memory stays usable: whoever unmaps it next does not mind. */
    for (size_t done = 0; done < count;) {
        size_t equal = equal_pages(pages + done, count - done);
        struct host_range run = {range.first + done * TRK_HOST_PAGE_BYTES,
                                 equal * TRK_HOST_PAGE_BYTES};
        if (pages[done] != 0)
            (void)protect_run(self, run, pages + done, TRK_RIGHTS_RW);
        done += equal;
    }
    (void)trk_host_uffd_unregister(self->fd, range);
    memset(pages, 0, count);
}

static void userfaultfd_destroy(struct trk_backend *backend)
{
    struct userfaultfd *self = of(backend);
    close(self->fd);
    munmap(self->pages, ALL_PAGES);
    trk_host_reserve_end(&self->mappings);
    free(self);
}

/* Guards on memory like the guest's; the page's bytes must be there again afterwards. */
static bool has_guards(struct userfaultfd *self)
{
    self->guards = true;
    return trk_probe_works(&self->backend, NULL);
}

static struct userfaultfd *make(int64_t host_bias_bytes)
{
    struct userfaultfd *self = malloc(sizeof *self);
    if (self == NULL)
        return NULL;
    *self = (struct userfaultfd){
        .backend = {.kind = TRK_BACKEND_USERFAULTFD,
                    .name = "userfaultfd",
                    .host_bias_bytes = host_bias_bytes,
                    .protect = userfaultfd_protect,
                    .destroy = userfaultfd_destroy,
                    .separate_runs = true,
                    .attach = userfaultfd_attach,
                    .detach = userfaultfd_detach,
                    .attach_closed = userfaultfd_attach_closed,
                    .forget = userfaultfd_forget},
    };
    self->pages = mmap(NULL, ALL_PAGES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (self->pages != MAP_FAILED)
        return self;
    free(self);
    return NULL;
}

enum trk_status trk_backend_userfaultfd_create(struct trk_backend **out, int64_t host_bias_bytes,
                                               enum trk_guards guards, struct trk_error *error)
{
    if (host_bias_bytes % (int64_t)TRK_HOST_PAGE_BYTES != 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "host bias is no multiple of a page");
    struct userfaultfd *self = make(host_bias_bytes);
    if (self == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the userfaultfd backend");
    uint64_t features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    /* Anonymous memory that nobody has touched can be armed where the kernel knows how. */
    self->fd = trk_host_uffd_open(features | KERNEL_UFFD_WP_UNPOPULATED);
    if (self->fd < 0)
        self->fd = trk_host_uffd_open(features);
    if (self->fd < 0) {
        trk_error_set(error, TRK_E_UNSUPPORTED,
                      "userfaultfd: no write-protection of shared memory here: %s",
                      strerror(errno));
        munmap(self->pages, ALL_PAGES);
        free(self);
        return TRK_E_UNSUPPORTED;
    }
    bool guarded = guards != TRK_GUARDS_OFF && has_guards(self);
    self->guards = guarded;
    if ((!guarded && guards == TRK_GUARDS_ON) ||
        (!guarded && !trk_probe_works(&self->backend, error))) {
        if (guards == TRK_GUARDS_ON)
            trk_error_set(error, TRK_E_UNSUPPORTED, "userfaultfd: no guard pages for files here");
        userfaultfd_destroy(&self->backend);
        return TRK_E_UNSUPPORTED;
    }
    self->mappings = (struct trk_mappings){.budget = trk_host_mapping_budget(), .loads_only = true};
    trk_host_reserve_make(&self->mappings);
    if (!guarded)
        self->backend.mappings = &self->mappings;
    *out = &self->backend;
    return TRK_OK;
}
