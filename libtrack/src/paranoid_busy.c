#include "paranoid_busy.h"

#include "track/address.h"

/* The operations that this thread is in, innermost last, by their places. */
#define NESTED_MOST 8u
#define NO_PLACE    PARANOID_BUSY_MOST
static _Thread_local uint32_t nested[NESTED_MOST] __attribute__((tls_model("initial-exec")));
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

static uint32_t take_place(struct paranoid_busy *busy)
{
    for (uint32_t i = 0; i < PARANOID_BUSY_MOST; ++i) {
        bool is_free = false;
        if (!atomic_compare_exchange_strong(&busy->places[i].taken, &is_free, true))
            continue;
        uint32_t used = atomic_load(&busy->used);
        while (used <= i && !atomic_compare_exchange_weak(&busy->used, &used, i + 1)) {
        }
        return i;
    }
    return NO_PLACE;
}

/* The place of the innermost one. */
static uint32_t innermost(void)
{
    return depth > 0 && depth <= NESTED_MOST ? nested[depth - 1] : NO_PLACE;
}

/* A handler, with operations of its own, may come between any two steps. */
void trk_paranoid_busy_begin(struct paranoid_busy *busy, uint64_t first, uint64_t end)
{
    unsigned at = depth++;
    atomic_signal_fence(memory_order_seq_cst);
    uint32_t place = at < NESTED_MOST ? take_place(busy) : NO_PLACE;
    if (at < NESTED_MOST)
        nested[at] = place;
    if (place == NO_PLACE) {
        atomic_fetch_add(&busy->unplaced, 1);
        return;
    }
    atomic_store(&busy->places[place].first, first);
    atomic_store(&busy->places[place].end, end);
}

void trk_paranoid_busy_add(struct paranoid_busy *busy, uint64_t first, uint64_t end)
{
    uint32_t place = innermost();
    if (place == NO_PLACE || atomic_load(&busy->places[place].end) == 0)
        return;
    if (first < atomic_load(&busy->places[place].first))
        atomic_store(&busy->places[place].first, first);
    if (end > atomic_load(&busy->places[place].end))
        atomic_store(&busy->places[place].end, end);
}

void trk_paranoid_busy_settle(struct paranoid_busy *busy)
{
    uint32_t place = innermost();
    if (place != NO_PLACE)
        atomic_store(&busy->places[place].end, 0);
}

void trk_paranoid_busy_end(struct paranoid_busy *busy)
{
    if (depth == 0)
        return;
    uint32_t place = innermost();
    if (place == NO_PLACE) {
        atomic_fetch_sub(&busy->unplaced, 1);
    } else {
        atomic_store(&busy->places[place].end, 0);
        atomic_store(&busy->places[place].taken, false);
    }
    atomic_signal_fence(memory_order_seq_cst);
    depth--;
}

bool trk_paranoid_is_busy(const struct paranoid_busy *busy, uint64_t page_addr)
{
    uint32_t used = atomic_load(&busy->used);
    for (uint32_t i = 0; i < used; ++i) {
        if (page_addr < atomic_load(&busy->places[i].end) &&
            page_addr + TRK_HOST_PAGE_BYTES > atomic_load(&busy->places[i].first))
            return true;
    }
    return atomic_load(&busy->unplaced) > 0;
}
