/*
 * Bytes for copies up that the trace does not tell the bytes of, or not all.
 *
 * Each copy up comes with stores of its own (plan_read.c). Of these is kept, page by page, what it
 * takes for a wrong copy to show:
 *
 *   - a page that a witnessed store has changed since the copy before: nothing, for that store
 * tells the copy. With the page's first copy those of its bytes that nobody ever says anything of;
 *   - any other page: all but the bytes of witnessed stores. Somebody has changed it, or the copy
 *     would not be, and did not say so.
 *
 * Where such a store lies over what the GPU wrote, the oracle, which knows only of that, is not
 * asked: a check there is held against what the copies leave.
 */
#include "plan_internal.h"

#include <stdlib.h>

#define PAGE_BYTES ((uint64_t)TRK_PLAN_PAGE_BYTES)
#define WORD_BITS  64u

enum page_state {
    PAGE_NEW = 1,    /* a witnessed store, since it was copied up */
    PAGE_COPIED = 2, /* it was copied up before */
};

/* Bit sets have a bit for each byte of the mirror. */
struct versions {
    struct plan_raws out;
    uint64_t *told;    /* bytes of witnessed stores, whenever they are */
    uint64_t *drawn;   /* likewise of writes by the GPU */
    uint64_t *made[2]; /* by enum trk_plan_side: made up, and not stored or written since */
    uint8_t *pages;    /* enum page_state */
    const struct plan_raw *raw;
    uint64_t run_first, run_end; /* of it, to be kept; none: equal */
};

/* ---- sets of bytes --------------------------------------------------------------------------- */

struct range {
    uint64_t first, end;
};

static struct range range_of(const struct plan_raw *raw)
{
    return (struct range){raw->item.offset, raw->item.offset + raw->item.size_bytes};
}

/* The bits of a range in the word that `at` is in; *next: the first byte behind that word. */
static uint64_t word_mask(const struct range *range, uint64_t at, uint64_t *next)
{
    const uint64_t word_end = (at / WORD_BITS + 1) * WORD_BITS;
    const uint64_t end = range->end < word_end ? range->end : word_end;
    const uint64_t count = end - at;
    *next = end;
    return (count == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << count) - 1) << at % WORD_BITS;
}

static void bytes_set(uint64_t *set, const struct range *range, bool in)
{
    for (uint64_t at = range->first, next; at < range->end; at = next) {
        const uint64_t mask = word_mask(range, at, &next);
        uint64_t *word = &set[at / WORD_BITS];
        if (in) {
            *word |= mask;
        } else if ((*word & mask) != 0) { /* nothing is written to memory that is still all zeros */
            *word &= ~mask;
        }
    }
}

static void bytes_copy(uint64_t *to, const uint64_t *from, const struct range *range)
{
    for (uint64_t at = range->first, next; at < range->end; at = next) {
        const uint64_t mask = word_mask(range, at, &next), bits = from[at / WORD_BITS] & mask;
        uint64_t *word = &to[at / WORD_BITS];
        if ((*word & mask) != bits) {
            *word = (*word & ~mask) | bits;
        }
    }
}

/* The first byte of a range that is in the set, or that is not; its end where there is none. */
static uint64_t bytes_find(const uint64_t *set, const struct range *range, bool in)
{
    for (uint64_t at = range->first, next; at < range->end; at = next) {
        const uint64_t mask = word_mask(range, at, &next), word = set[at / WORD_BITS];
        const uint64_t found = (in ? word : ~word) & mask;
        if (found != 0) {
            return at / WORD_BITS * WORD_BITS + (uint64_t)__builtin_ctzll(found);
        }
    }
    return range->end;
}

/* ---- stores that are kept -------------------------------------------------------------------- */

static enum trk_status versions_keep(struct versions *versions, const struct plan_raw *raw)
{
    if (!plan_raws_grow(&versions->out)) {
        return TRK_E_MEMORY;
    }
    versions->out.all[versions->out.count++] = *raw;
    return TRK_OK;
}

/* The run that was gathered. */
static enum trk_status run_keep(struct versions *versions)
{
    const struct range run = {versions->run_first, versions->run_end};
    struct plan_raw store = *versions->raw;
    versions->run_first = versions->run_end;
    if (run.first == run.end) {
        return TRK_OK;
    }
    store.item.guest_addr += run.first - store.item.offset;
    store.item.offset = run.first;
    store.item.size_bytes = run.end - run.first;
    bytes_set(versions->made[TRK_PLAN_GUEST], &run, true);
    return versions_keep(versions, &store);
}

/* Bytes of one page that a made-up store is wanted for; first: with the page's first copy. */
static enum trk_status page_keep(struct versions *versions, const struct range *range, bool first)
{
    enum trk_status status = TRK_OK;
    struct range left = *range;
    while (left.first < left.end && status == TRK_OK) {
        uint64_t begin = bytes_find(versions->told, &left, false);
        left.first = begin;
        if (first) {
            begin = bytes_find(versions->drawn, &left, false);
        }
        if (begin > left.first) { /* it may be one that is told */
            left.first = begin;
            continue;
        }
        left.first = bytes_find(versions->told, &left, true);
        if (first) {
            const struct range run = {begin, left.first};
            left.first = bytes_find(versions->drawn, &run, true);
        }
        if (begin != versions->run_end) {
            status = run_keep(versions);
            versions->run_first = begin;
        }
        versions->run_end = left.first;
    }
    return status;
}

static enum trk_status versions_made_up(struct versions *versions, const struct plan_raw *raw)
{
    const struct range all = range_of(raw);
    enum trk_status status = TRK_OK;
    versions->raw = raw;
    versions->run_first = versions->run_end = all.first;
    for (uint64_t at = all.first, next; at < all.end && status == TRK_OK; at = next) {
        const uint64_t page = at / PAGE_BYTES;
        next = (page + 1) * PAGE_BYTES < all.end ? (page + 1) * PAGE_BYTES : all.end;
        const struct range range = {at, next};
        const bool fresh = (versions->pages[page] & PAGE_NEW) != 0;
        if (!fresh || (versions->pages[page] & PAGE_COPIED) == 0) {
            status = page_keep(versions, &range, fresh);
        }
    }
    return status == TRK_OK ? run_keep(versions) : status;
}

/* ---- all raws -------------------------------------------------------------------------------- */

static void pages_change(struct versions *versions, const struct range *range, uint8_t gone,
                         uint8_t come)
{
    for (uint64_t page = range->first / PAGE_BYTES; page * PAGE_BYTES < range->end; page++) {
        versions->pages[page] = (uint8_t)((versions->pages[page] & ~gone) | come);
    }
}

static enum trk_status versions_take(struct versions *versions, struct plan_raw *raw)
{
    const struct range range = range_of(raw);
    uint64_t *guest = versions->made[TRK_PLAN_GUEST], *device = versions->made[TRK_PLAN_DEVICE];
    switch (raw->item.kind) {
    case TRK_PLAN_STORE:
        if (raw->synthetic && raw->item.page == 0) {
            return versions_made_up(versions, raw);
        }
        bytes_set(guest, &range, false);
        if (!raw->synthetic) {
            pages_change(versions, &range, 0, PAGE_NEW);
        }
        break;
    case TRK_PLAN_UPLOAD:
        bytes_copy(device, guest, &range);
        pages_change(versions, &range, PAGE_NEW, PAGE_COPIED);
        break;
    case TRK_PLAN_DOWNLOAD:
        bytes_copy(guest, device, &range);
        break;
    case TRK_PLAN_GPU_WRITE:
        bytes_set(device, &range, false);
        break;
    case TRK_PLAN_CHECK:
        if (bytes_find(versions->made[raw->item.side], &range, true) < range.end) {
            raw->item.content = raw->item.by_gpu = 0;
        }
        break;
    default:
        break;
    }
    return versions_keep(versions, raw);
}

static bool versions_open(struct versions *versions, uint64_t mirror_bytes)
{
    const size_t words = (size_t)(mirror_bytes / WORD_BITS) + 1;
    versions->told = calloc(words, sizeof *versions->told);
    versions->drawn = calloc(words, sizeof *versions->drawn);
    versions->made[0] = calloc(words, sizeof *versions->made[0]);
    versions->made[1] = calloc(words, sizeof *versions->made[1]);
    versions->pages = calloc((size_t)(mirror_bytes / PAGE_BYTES) + 1, 1);
    return versions->told != NULL && versions->drawn != NULL && versions->made[0] != NULL &&
           versions->made[1] != NULL && versions->pages != NULL;
}

static enum trk_status versions_run(struct versions *versions, struct plan_raws *raws)
{
    enum trk_status status = TRK_OK;
    for (size_t i = 0; i < raws->count; i++) {
        const struct plan_raw *raw = &raws->all[i];
        const struct range range = range_of(raw);
        if (raw->item.kind == TRK_PLAN_STORE && !raw->synthetic) {
            bytes_set(versions->told, &range, true);
        } else if (raw->item.kind == TRK_PLAN_GPU_WRITE) {
            bytes_set(versions->drawn, &range, true);
        }
    }
    for (size_t i = 0; i < raws->count && status == TRK_OK; i++) {
        status = versions_take(versions, &raws->all[i]);
    }
    return status;
}

enum trk_status plan_versions(struct plan_raws *raws, uint64_t mirror_bytes,
                              struct trk_error *error)
{
    struct versions versions = {.run_end = 0};
    enum trk_status status = TRK_E_MEMORY;
    if (versions_open(&versions, mirror_bytes)) {
        status = versions_run(&versions, raws);
    }
    free(versions.told);
    free(versions.drawn);
    free(versions.made[0]);
    free(versions.made[1]);
    free(versions.pages);
    if (status != TRK_OK) {
        free(versions.out.all);
        return trk_error_set(error, status, "no memory for the versions of the plan's pages");
    }
    free(raws->all);
    raws->all = versions.out.all;
    raws->count = versions.out.count;
    raws->capacity = versions.out.capacity;
    return TRK_OK;
}
