/*
 * Joining the host calls of a hold: a run of pages that get the same protection is one call.
 *
 * Rules: [M-41] [M-42].
 */
#include "mappings.h"
#include "mutation.h"

/* Neighbouring pages that get the same protection in one call. */
struct run {
    uint32_t first, end; /* end == 0: none open */
    unsigned rights;
};

/* Why the host refused a call, which its PROTECT does not say. */
static void tell_refusal(const struct trk_tracker *tracker, uint64_t guest_addr,
                         uint64_t size_bytes, unsigned rights, int os_errno)
{
    struct trk_event event = trk_event_of(TRK_EVENT_HOST_PROTECT, guest_addr);
    trk_event_set_size(&event, size_bytes);
    event.page = (uint16_t)tracker->id;
    event.flags = (uint8_t)(rights | TRK_EVENT_FAILED);
    event.context = (uint16_t)os_errno;
    emit(tracker, &event);
}

/* Make a run's call; false when the host refuses. */
static bool run_flush(struct hold *hold, struct run *run)
{
    if (run->end == 0)
        return true;
    const struct trk_tracker *tracker = hold->operation->tracker;
    uint64_t first_addr =
        trk_region_address(hold->index) + (uint64_t)run->first * TRK_HOST_PAGE_BYTES;
    uint64_t size_bytes = (uint64_t)(run->end - run->first) * TRK_HOST_PAGE_BYTES;
    int error = 0;
    if (!hold->no_room)
        error = env_protect(tracker->backend, first_addr, size_bytes, run->rights);
    bool done = (!hold->no_room && error == 0) || MUTANT(54);
    if (TRK_UNLIKELY(error != 0) && tracker->backend->kind != TRK_BACKEND_SIMULATED &&
        observed(tracker))
        tell_refusal(tracker, first_addr, size_bytes, run->rights, error);
    if (observed(tracker))
        hold_event(
            hold,
            (struct trk_event){
                .type = TRK_EVENT_PROTECT,
                .argument = hold->number == TRK_DOMAIN_SHARED ? trk_region_address(hold->index) : 0,
                .page = (uint16_t)run->first,
                .pages = (uint16_t)(run->end - run->first),
                .flags = (uint8_t)(run->rights | (done ? 0 : TRK_EVENT_FAILED)),
            });
    return done;
}

/* Whether all pages [first, end) have exactly these rights at the host. */
static bool all_have(const struct region *region, uint32_t first, uint32_t end, unsigned rights)
{
    if (first >= end || MUTANT(107))
        return true;
    struct window window = {.first = first, .end = end};
    uint64_t read = rights & TRK_RIGHT_READ ? ~UINT64_C(0) : 0;
    uint64_t write = rights & TRK_RIGHT_WRITE ? ~UINT64_C(0) : 0;
    uint64_t exec = rights & TRK_RIGHT_EXEC ? ~UINT64_C(0) : 0;
    FOR_WINDOW_WORDS(word, &window)
    {
        struct rights_word now = rights_host(region, word);
        uint64_t other = (now.read ^ read) | (now.write ^ write) | (now.exec ^ exec);
        if (other & window_mask(&window, word))
            return false;
    }
    return true;
}

/*
 * Pages [first, end) need the host to be told. Pages between the run and these are bridged when
 * they have the run's protection already; otherwise the run is flushed. (Trackers of emulators do
 * the same: for mprotect one longer call is cheaper than two.)
 */
static bool run_add(struct hold *hold, struct run *run, const struct run *added)
{
    bool near = run->end == added->first || !hold->operation->tracker->backend->separate_runs;
    if (run->end != 0 && run->rights == added->rights && near &&
        all_have(hold->region, run->end, added->first, run->rights)) {
        run->end = added->end;
        return true;
    }
    bool done = run_flush(hold, run);
    /* On failure the run stays as it was: whoever takes back must know where it stopped. */
    if (done)
        *run = *added;
    return done;
}

/* The run that starts at the lowest of `pages` (not 0) of a word: equal rights, neighbouring. */
static struct run first_run(struct rights_word rights, uint64_t pages, uint32_t word)
{
    uint32_t first = (uint32_t)__builtin_ctzll(pages);
    uint64_t same = pages & ~(rights.read ^ (0 - (rights.read >> first & 1))) &
                    ~(rights.write ^ (0 - (rights.write >> first & 1))) &
                    ~(rights.exec ^ (0 - (rights.exec >> first & 1)));
    uint64_t gaps = ~(same >> first);
    uint32_t count = gaps == 0 ? 64 : (uint32_t)__builtin_ctzll(gaps);
    return (struct run){
        .first = word * 64 + first,
        .end = word * 64 + first + count,
        .rights = rights_of_page(rights, first),
    };
}

/* Make the calls for a change; gives the first page of the refused one, or the window's end. */
static uint32_t tell(struct hold *hold, const struct window *window,
                     const struct rights_before *before)
{
    struct run run = {0};
    FOR_WINDOW_WORDS(word, window)
    {
        struct rights_word now = rights_host(hold->region, word);
        const struct rights_word *was = &before->words[word];
        uint64_t moved = (now.read ^ was->read) | (now.write ^ was->write) | (now.exec ^ was->exec);
        moved &= window_mask(window, word);
        while (moved != 0) {
            struct run added = first_run(now, moved, word);
            if (TRK_UNLIKELY(!run_add(hold, &run, &added)))
                return run.first;
            uint32_t count = added.end - added.first;
            moved &=
                ~((count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1) << (added.first % 64));
        }
    }
    return run_flush(hold, &run) ? window->end : run.first;
}

uint32_t trk_pages_protect_moved(struct hold *hold, const struct window *window,
                                 const struct rights_before *before)
{
    struct trk_mappings *mappings = hold->operation->tracker->backend->mappings;
    if (TRK_LIKELY(mappings == NULL) || hold->uncounted)
        return tell(hold, window, before);
    int64_t change = trk_mappings_change(hold, window, before);
    /* Without room the first call counts as refused; whoever re-executes sees it refused too. */
    hold->no_room = !trk_mappings_room(hold, window, before, change);
    uint32_t refused = tell(hold, window, before);
    hold->no_room = false;
    if (refused == window->end)
        trk_mappings_count(mappings, change);
    return refused;
}

void trk_pages_protect_back(struct hold *hold, const struct window *window,
                            const struct rights_before *made, uint32_t refused)
{
    struct trk_mappings *mappings = hold->operation->tracker->backend->mappings;
    /* Calls that were all made have been counted. */
    if (mappings != NULL && refused == window->end)
        trk_mappings_count(mappings, trk_mappings_change(hold, window, made));
    struct window before = {window->index, window->first, refused};
    /* If the host refuses the way back as well there is nothing more to be done. */
    if (before.first < before.end)
        tell(hold, &before, made);
}
