#include "redact_other.h"

#include <stddef.h>
#include <string.h>

#include "track/address.h"

/* Between the bands' end and the highest address that trk takes. */
#define OTHER_FIRST (UINT64_C(1) << 44)
#define OTHER_END   (UINT64_C(1) << 46)

/* What is larger is no memory that somebody has: only where it begins counts. */
#define RANGE_MOST (UINT64_C(1) << 40)

/* The first run that ends at a place, or behind it. */
static uint32_t search(const struct trk_redact_other *other, uint64_t place)
{
    uint32_t low = 0, high = other->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (other->runs[middle].end < place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Runs that overlap or touch become one. */
static void add(struct trk_redact_other *other, uint64_t first, uint64_t end)
{
    uint32_t at = search(other, first);
    uint32_t behind = at;
    struct trk_redact_run run = {.first = first, .end = end};
    while (behind < other->count && other->runs[behind].first <= end) {
        run.first = other->runs[behind].first < run.first ? other->runs[behind].first : run.first;
        run.end = other->runs[behind].end > run.end ? other->runs[behind].end : run.end;
        behind++;
    }
    if (behind == at && other->count == TRK_REDACT_RUNS) {
        other->full = true;
        return;
    }
    memmove(&other->runs[at + 1], &other->runs[behind],
            (other->count - behind) * sizeof other->runs[0]);
    other->runs[at] = run;
    other->count = other->count - (behind - at) + 1;
}

void trk_redact_other_note(struct trk_redact_other *other, uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t last_addr = guest_addr + (size_bytes > 0 ? size_bytes - 1 : 0);
    if (guest_addr < TRK_LOW_FIRST) {
        return;
    }
    if (last_addr < guest_addr || size_bytes > RANGE_MOST) {
        last_addr = guest_addr;
    }
    if (guest_addr < TRK_ARENA_FIRST && last_addr >= TRK_ARENA_FIRST) {
        last_addr = TRK_ARENA_FIRST - 1;
    }
    add(other, guest_addr / TRK_REGION_BYTES, last_addr / TRK_REGION_BYTES + 1);
}

void trk_redact_other_join(struct trk_redact_other *other, const struct trk_redact_other *more)
{
    for (uint32_t i = 0; i < more->count; i++) {
        add(other, more->runs[i].first, more->runs[i].end);
    }
    other->full |= more->full;
}

bool trk_redact_other_alike(const struct trk_redact_other *a, const struct trk_redact_other *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = a->runs[i].first == b->runs[i].first && a->runs[i].end == b->runs[i].end;
    }
    return same || a->count == 0 || b->count == 0;
}

void trk_redact_other_decide(struct trk_redact_other *other)
{
    uint64_t to = OTHER_FIRST / TRK_REGION_BYTES;
    other->moves = false;
    for (uint32_t i = 0; i < other->count; i++) {
        struct trk_redact_run *run = &other->runs[i];
        run->to = to;
        to += run->end - run->first + 1; /* and one between them */
        other->moves |= run->to != run->first;
    }
    other->full |= to > OTHER_END / TRK_REGION_BYTES;
    other->moves &= !other->full;
}

uint64_t trk_redact_other_moved(const struct trk_redact_other *other, uint64_t guest_addr)
{
    uint64_t place = guest_addr / TRK_REGION_BYTES;
    uint32_t at = search(other, place + 1);
    if (guest_addr < TRK_LOW_FIRST || !other->moves || at == other->count ||
        other->runs[at].first > place) {
        return guest_addr;
    }
    return guest_addr + (other->runs[at].to - other->runs[at].first) * TRK_REGION_BYTES;
}
