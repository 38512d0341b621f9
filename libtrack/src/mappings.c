#include "mappings.h"

#include "backend_host.h"

#include <errno.h>
#include <unistd.h>

/* Warn when this share of the budget is used: 7 of 8. */
#define WARN_SHARE_OF 8

static const char warning[] =
    "trk: page protection has nearly used up the host's mappings (vm.max_map_count): from the "
    "limit on, pages go to the CPU in whole runs, and closing scattered pages fails";

/* The rights that split mappings on this host. */
static struct rights_word counted(const struct trk_mappings *mappings, struct rights_word rights)
{
    if (mappings->loads_only)
        rights.write = 0;
    return rights;
}

/* Bit i: page i differs from the page before it; `left` is the word before. */
static uint64_t differences(struct rights_word now, struct rights_word left)
{
    return (now.read ^ (now.read << 1 | left.read >> 63)) |
           (now.write ^ (now.write << 1 | left.write >> 63)) |
           (now.exec ^ (now.exec << 1 | left.exec >> 63));
}

int64_t trk_mappings_change(const struct hold *hold, const struct window *window,
                            const struct rights_before *before)
{
    const struct region *region = hold->region;
    const struct trk_mappings *mappings = hold->operation->tracker->backend->mappings;
    uint32_t first = window->first / 64, last = (window->end - 1) / 64;
    struct rights_word left_was = {0}, left_now = {0};
    uint64_t at_start = first == 0 ? ~UINT64_C(1) : ~UINT64_C(0);
    if (first != 0)
        left_was = left_now = counted(mappings, rights_host(region, first - 1));
    int64_t change = 0;
    for (uint32_t word = first; word <= last; word++) {
        struct rights_word now = counted(mappings, rights_host(region, word));
        struct rights_word was = counted(mappings, before->words[word]);
        change += __builtin_popcountll(differences(now, left_now) & at_start);
        change -= __builtin_popcountll(differences(was, left_was) & at_start);
        left_now = now;
        left_was = was;
        at_start = ~UINT64_C(0);
    }
    if (last + 1 < TRK_REGION_WORDS) {
        struct rights_word behind = counted(mappings, rights_host(region, last + 1));
        change += (int64_t)(differences(behind, left_now) & 1);
        change -= (int64_t)(differences(behind, left_was) & 1);
    }
    return change;
}

/* Whether a page of the window loses a right. */
static bool closes(const struct region *region, const struct window *window,
                   const struct rights_before *before)
{
    FOR_WINDOW_WORDS(word, window)
    {
        struct rights_word now = rights_host(region, word);
        const struct rights_word *was = &before->words[word];
        uint64_t lost =
            (was->read & ~now.read) | (was->write & ~now.write) | (was->exec & ~now.exec);
        if (lost & window_mask(window, word))
            return true;
    }
    return false;
}

bool trk_mappings_room(const struct hold *hold, const struct window *window,
                       const struct rights_before *before, int64_t change)
{
    const struct trk_mappings *mappings = hold->operation->tracker->backend->mappings;
    int64_t budget = __atomic_load_n(&mappings->budget, __ATOMIC_RELAXED);
    if (change <= 0 || __atomic_load_n(&mappings->count, __ATOMIC_RELAXED) + change <= budget)
        return true;
    return !hold->thrifty && !closes(hold->region, window, before);
}

static void warn(struct trk_mappings *mappings)
{
    if (__atomic_exchange_n(&mappings->warned, true, __ATOMIC_RELAXED))
        return;
    if (mappings->warn != NULL) {
        mappings->warn(mappings->warn_context, warning);
        return;
    }
    int former_errno = errno;
    static const char line_end = '\n';
    if (write(STDERR_FILENO, warning, sizeof warning - 1) > 0)
        (void)!write(STDERR_FILENO, &line_end, 1);
    errno = former_errno;
}

void trk_mappings_count(struct trk_mappings *mappings, int64_t change)
{
    int64_t count = __atomic_add_fetch(&mappings->count, change, __ATOMIC_RELAXED);
    int64_t budget = __atomic_load_n(&mappings->budget, __ATOMIC_RELAXED);
    if (TRK_UNLIKELY(change > 0 && count > budget - budget / WARN_SHARE_OF))
        warn(mappings);
}

void trk_mappings_let_go(struct trk_mappings *mappings, int step)
{
    static const int pieces[TRK_RELIEF_STEPS] = {2, 8, TRK_RESERVE_PIECES};
    if (mappings->reserve == NULL)
        return;
    for (int i = 0; i < pieces[step]; i++) {
        uint64_t held = ~__atomic_load_n(&mappings->reserve_out, __ATOMIC_RELAXED);
        if (held == 0)
            break;
        uint64_t bit = held & (0 - held);
        /* Another thread may let the same piece go; then this one does without. */
        if (!(__atomic_fetch_or(&mappings->reserve_out, bit, __ATOMIC_RELAXED) & bit))
            trk_host_reserve_set(mappings, (uint32_t)__builtin_ctzll(bit), false);
    }
}

void trk_mappings_relieve(struct trk_mappings *mappings, int step)
{
    if (mappings->reserve == NULL)
        return;
    trk_mappings_let_go(mappings, step);
    int64_t met = __atomic_load_n(&mappings->count, __ATOMIC_RELAXED);
    if (__atomic_load_n(&mappings->reserve_out, __ATOMIC_RELAXED) == ~UINT64_C(0))
        met = INT64_MIN; /* from now on nothing is risked */
    __atomic_store_n(&mappings->met, met, __ATOMIC_RELAXED);
    warn(mappings);
}

void trk_mappings_refill(struct trk_mappings *mappings)
{
    uint64_t out;
    while ((out = __atomic_load_n(&mappings->reserve_out, __ATOMIC_RELAXED)) != 0) {
        uint64_t bit = out & (0 - out);
        if (!(__atomic_fetch_and(&mappings->reserve_out, ~bit, __ATOMIC_RELAXED) & bit))
            continue;
        if (!trk_host_reserve_set(mappings, (uint32_t)__builtin_ctzll(bit), true)) {
            __atomic_fetch_or(&mappings->reserve_out, bit, __ATOMIC_RELAXED);
            return;
        }
    }
    __atomic_store_n(&mappings->met, TRK_LIMIT_NOT_MET, __ATOMIC_RELAXED);
}

static bool clean(const struct region *region, uint32_t page)
{
    uint64_t bit = UINT64_C(1) << (page % 64);
    return (region->not_cpu[page / 64] & ~region->gpu[page / 64] & bit) != 0;
}

struct window trk_mappings_clean_run(const struct region *region, const struct window *window)
{
    struct window run = *window;
    while (run.first > 0 && clean(region, run.first - 1))
        run.first--;
    while (run.end < TRK_REGION_PAGES && clean(region, run.end))
        run.end++;
    return run;
}

/* Whether the budget, and the host as it was last met, have room for one page alone. */
static bool room_for_page(const struct trk_mappings *mappings)
{
    int64_t count = __atomic_load_n(&mappings->count, __ATOMIC_RELAXED);
    /* One page takes two at most. */
    return count + 2 <= __atomic_load_n(&mappings->budget, __ATOMIC_RELAXED) &&
           (mappings->reserve == NULL ||
            count + 2 <= __atomic_load_n(&mappings->met, __ATOMIC_RELAXED));
}

struct window trk_mappings_closed_run(const struct hold *hold, uint32_t region_index, uint32_t page)
{
    const struct trk_tracker *tracker = hold->operation->tracker;
    const uint64_t *closed = region_slot(tracker, region_index)->read;
    struct window run = {region_index, page, page};
    if (tracker->backend->mappings == NULL || room_for_page(tracker->backend->mappings) ||
        !(closed[page / 64] >> (page % 64) & 1))
        return run;
    while (run.first > 0 && closed[(run.first - 1) / 64] >> ((run.first - 1) % 64) & 1)
        run.first--;
    while (run.end < TRK_REGION_PAGES && closed[run.end / 64] >> (run.end % 64) & 1)
        run.end++;
    if (run.end - run.first < 2)
        run.end = run.first;
    return run;
}
