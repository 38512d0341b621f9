/*
 * The runs of pages that one operation hands over.
 */
#include "foreign_runs.h"

#include <stdlib.h>

#include "run.h"

#define RUNS_MAX (size_t)(1u << 20)

void foreign_runs_deinit(struct foreign_runs *runs)
{
    free(runs->items);
    *runs = (struct foreign_runs){.items = NULL};
}

void foreign_runs_clear(struct foreign_runs *runs)
{
    runs->count = 0;
    runs->lost = false;
}

void foreign_runs_add(struct foreign_runs *runs, uint64_t guest_addr, uint64_t size_bytes)
{
    if (runs->count == runs->room) {
        size_t room = runs->room == 0 ? 16 : 2 * runs->room;
        struct span *items = room <= RUNS_MAX ? realloc(runs->items, room * sizeof *items) : NULL;
        runs->lost |= items == NULL;
        if (items == NULL)
            return;
        runs->items = items;
        runs->room = room;
    }
    /* What wraps ends with the last address. */
    uint64_t most_bytes = UINT64_MAX - guest_addr;
    runs->items[runs->count++] =
        (struct span){guest_addr, size_bytes < most_bytes ? size_bytes : most_bytes};
}

void foreign_runs_copy(struct foreign_runs *runs, const struct foreign_runs *from)
{
    foreign_runs_clear(runs);
    for (size_t i = 0; i < from->count; i++)
        foreign_runs_add(runs, from->items[i].guest_addr, from->items[i].size_bytes);
    runs->lost |= from->lost;
}

static uint64_t end_of(const struct span *run)
{
    return run->guest_addr + run->size_bytes;
}

static int compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    int order = (a->guest_addr > b->guest_addr) - (a->guest_addr < b->guest_addr);
    return order != 0 ? order : (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

void foreign_runs_sort(struct foreign_runs *runs)
{
    if (runs->count > 1)
        qsort(runs->items, runs->count, sizeof *runs->items, compare);
}

bool foreign_runs_same(const struct foreign_runs *a, const struct foreign_runs *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = compare(&a->items[i], &b->items[i]) == 0;
    return same;
}

bool foreign_runs_twice(const struct foreign_runs *runs, uint64_t *guest_addr)
{
    uint64_t end = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct span *run = &runs->items[i];
        *guest_addr = run->guest_addr;
        if (run->size_bytes > 0 && run->guest_addr < end)
            return true;
        if (end_of(run) > end)
            end = end_of(run);
    }
    return false;
}

bool foreign_runs_empty(const struct foreign_runs *runs, uint64_t *guest_addr)
{
    for (size_t i = 0; i < runs->count; i++) {
        *guest_addr = runs->items[i].guest_addr;
        if (runs->items[i].size_bytes == 0)
            return true;
    }
    return false;
}

void foreign_runs_join(struct foreign_runs *runs)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++) {
        struct span run = runs->items[i];
        struct span *last = count > 0 ? &runs->items[count - 1] : NULL;
        if (run.size_bytes == 0)
            continue;
        if (last == NULL || run.guest_addr > end_of(last))
            runs->items[count++] = run;
        else if (end_of(&run) > end_of(last))
            last->size_bytes = end_of(&run) - last->guest_addr;
    }
    runs->count = count;
}

/* The first of joined runs that ends behind an address. */
static size_t behind(const struct foreign_runs *runs, uint64_t guest_addr)
{
    size_t low = 0, high = runs->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_of(&runs->items[middle]) > guest_addr)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* A run's part of a range that it reaches; false: it does not. */
static bool part(const struct foreign_runs *runs, size_t i, struct span range, struct span *out)
{
    if (i >= runs->count || runs->items[i].guest_addr >= end_of(&range))
        return false;
    const struct span *run = &runs->items[i];
    uint64_t first = run->guest_addr > range.guest_addr ? run->guest_addr : range.guest_addr;
    uint64_t end = end_of(run) < end_of(&range) ? end_of(run) : end_of(&range);
    *out = (struct span){first, end - first};
    return true;
}

uint64_t foreign_runs_bytes(const struct foreign_runs *runs, uint64_t first, uint64_t end)
{
    const struct span range = {first, end - first};
    struct span its;
    uint64_t bytes = 0;
    for (size_t i = behind(runs, first); part(runs, i, range, &its); i++)
        bytes += its.size_bytes;
    return bytes;
}

bool foreign_runs_agree(const struct foreign_runs *a, const struct foreign_runs *b, uint64_t first,
                        uint64_t end)
{
    const struct span range = {first, end - first};
    struct span of_a = {0, 0}, of_b = {0, 0};
    for (size_t i = behind(a, first), j = behind(b, first);; i++, j++) {
        bool more = part(a, i, range, &of_a);
        if (more != part(b, j, range, &of_b) || (more && compare(&of_a, &of_b) != 0))
            return false;
        if (!more)
            return true;
    }
}

bool foreign_runs_more(const struct foreign_runs *runs, const struct foreign_runs *than,
                       struct span range, uint64_t *guest_addr)
{
    struct span its, theirs;
    for (size_t i = behind(runs, range.guest_addr); part(runs, i, range, &its); i++) {
        *guest_addr = its.guest_addr;
        for (size_t j = behind(than, its.guest_addr); part(than, j, its, &theirs); j++) {
            if (theirs.guest_addr > *guest_addr)
                return true;
            *guest_addr = end_of(&theirs);
        }
        if (*guest_addr < end_of(&its))
            return true;
    }
    return false;
}
