/*
 * Which random operation comes next.
 */
#include "model_run.h"

static void pick_place(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t window = run->windows[random_chance(random, 3)];
    uint32_t page = window + random_below(random, WINDOW_PAGES);
    uint32_t room = window + WINDOW_PAGES - page;
    uint64_t pages = 1 + random_below(random, random_chance(random, 4) ? room
                                              : room < 4               ? room
                                                                       : 4);
    step->first = (uint64_t)page * MODEL_PAGE;
    step->size = pages * MODEL_PAGE;
    if (random_chance(random, 3)) { /* inside pages */
        uint32_t inset = random_below(random, MODEL_PAGE);
        step->first += inset;
        step->size -= inset;
        step->size -= random_below(random, MODEL_PAGE - inset);
        if (step->size == 0)
            step->size = 1;
    }
    if (random_chance(random, run->sparse ? 50 : 500)) { /* all of it */
        step->first = 0;
        step->size = MODEL_BYTES;
    }
    if (random_chance(random, 300))
        step->size = 0;
}

static void pick_mask(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t window = run->windows[random_chance(random, 3)];
    uint32_t region = (window + random_below(random, WINDOW_PAGES)) / TRK_REGION_PAGES;
    step->first = (uint64_t)region * TRK_REGION_BYTES;
    step->size = 1;
    step->read = random_chance(random, 3);
    for (uint32_t i = 0; i < WINDOW_PAGES; i++) {
        uint32_t page = window + i;
        if (page / TRK_REGION_PAGES == region && random_chance(random, 4))
            step->mask[page % TRK_REGION_PAGES / 64] |= UINT64_C(1) << (page % 64);
    }
    if (random_chance(random, 50))
        step->first += MODEL_PAGE;
}

/* Pages at either place, or at one: then the ranges may overlap, and frames become chains. */
static void pick_join(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t from = random_chance(random, 4), to = random_chance(random, 5) ? from : !from;
    uint32_t pages = 1 + random_below(random, 6);
    uint32_t at = random_below(random, WINDOW_PAGES - 2 * pages);
    uint32_t skip = random_chance(random, 2) ? 0 : random_below(random, 3);
    uint32_t other =
        from == to ? at + 1 + random_below(random, pages) : at + (skip < pages ? skip : 0);
    step->first = (uint64_t)(run->windows[from] + at) * MODEL_PAGE;
    step->other = (uint64_t)(run->windows[to] + other) * MODEL_PAGE;
    step->size = (uint64_t)pages * MODEL_PAGE;
}

/* What must begin and end at pages. */
static void pick_aligned(struct run *run, struct model_step *step)
{
    uint64_t end = (step->first + step->size + MODEL_PAGE - 1) / MODEL_PAGE * MODEL_PAGE;
    step->first -= step->first % MODEL_PAGE;
    step->size = step->size == 0 ? 0 : end - step->first;
    step->other = (uint64_t)random_below(&run->random, 2) * TRK_REGION_BYTES;
    /* Few places and sizes, so that the same comes again. */
    if (step->verb == MODEL_MAP && step->size <= WINDOW_PAGES * MODEL_PAGE && step->size > 0) {
        step->first = step->first / MODEL_GUEST_PAGE * MODEL_GUEST_PAGE;
        step->size = MODEL_GUEST_PAGE;
    }
}

/*
 * The core counts watches and not whose they are, so a client that takes away more than it set
 * would take the tracker's: that is the client's mistake, and no test.
 */
bool run_takes_from_tracker(const struct run *run, const struct model *model,
                            const struct model_step *step)
{
    if (step->verb != MODEL_UNWATCH && step->verb != MODEL_UNWATCH_MASK)
        return false;
    bool wide = step->size > WINDOW_PAGES * MODEL_PAGE;
    for (uint32_t i = 0; i < (wide ? FIXTURE_PAGES : 2 * WINDOW_PAGES); i++) {
        uint32_t page = wide ? i : run->windows[i / WINDOW_PAGES] + i % WINDOW_PAGES;
        bool read = step->verb == MODEL_UNWATCH_MASK && step->read;
        if (read ? model->gpu[page] && !model->foreign_read[page]
                 : !model->cpu[page] && model->foreign_writes[page] == 0)
            return true;
    }
    return false;
}

/*
 * A read watch of somebody else over a page that is to become GPU fails the operation in the
 * middle; what has been reported cannot be taken back, so the model leaves it open.
 */
bool run_leaves_open(const struct run *run, const struct model *model,
                     const struct model_step *step)
{
    bool acquires = step->verb == MODEL_MARK_GPU || step->verb == MODEL_UPLOAD_WRITTEN ||
                    step->verb == MODEL_INVALIDATE || step->verb == MODEL_FAULT ||
                    step->verb == MODEL_HLE_WRITE;
    if (!acquires)
        return false;
    for (uint32_t i = 0; i < 2 * WINDOW_PAGES; i++) { /* masks stay inside the windows */
        if (model->foreign_read[run->windows[i / WINDOW_PAGES] + i % WINDOW_PAGES])
            return true;
    }
    return false;
}

static enum model_verb pick_verb(uint64_t *random)
{
    static const uint8_t weights[MODEL_VERB_COUNT] = {
        [MODEL_IS_CPU] = 2,       [MODEL_IS_GPU] = 2,
        [MODEL_MARK_CPU] = 4,     [MODEL_MARK_GPU] = 4,
        [MODEL_UNMARK_GPU] = 3,   [MODEL_UNTRACK] = 2,
        [MODEL_UPLOAD] = 10,      [MODEL_UPLOAD_WRITTEN] = 8,
        [MODEL_DOWNLOAD] = 2,     [MODEL_DOWNLOAD_CLEAR] = 4,
        [MODEL_DRAIN] = 4,        [MODEL_INVALIDATE] = 10,
        [MODEL_REGISTER] = 4,     [MODEL_UNREGISTER] = 1,
        [MODEL_GUEST] = 3,        [MODEL_WATCH] = 1,
        [MODEL_UNWATCH] = 3,      [MODEL_WATCH_MASK] = 1,
        [MODEL_UNWATCH_MASK] = 3, [MODEL_FAULT] = 14,
        [MODEL_LOCK] = 1,         [MODEL_UNLOCK] = 2,
        [MODEL_JOIN] = 2,         [MODEL_LEAVE] = 1,
        [MODEL_TRACK] = 4,        [MODEL_QUERY] = 4,
        [MODEL_NOTIFY] = 1,       [MODEL_MAP] = 2,
        [MODEL_HLE_WRITE] = 2,
    };
    uint32_t total = 0, verb = 0;
    for (uint32_t i = 0; i < MODEL_VERB_COUNT; i++)
        total += weights[i];
    for (uint32_t rest = random_below(random, total); rest >= weights[verb]; verb++)
        rest -= weights[verb];
    return (enum model_verb)verb;
}

/* Whether a verb leaves untouched regions so. */
static bool touches_nothing(enum model_verb verb)
{
    switch (verb) {
    case MODEL_IS_GPU:
    case MODEL_UNMARK_GPU:
    case MODEL_UNTRACK:
    case MODEL_DOWNLOAD:
    case MODEL_DOWNLOAD_CLEAR:
    case MODEL_DRAIN:
    case MODEL_INVALIDATE:
    case MODEL_UNREGISTER:
    case MODEL_FAULT:
    case MODEL_QUERY:
        return true;
    default:
        return false;
    }
}

bool run_keeps_short_ways(enum model_verb verb)
{
    switch (verb) {
    case MODEL_GUEST:
    case MODEL_JOIN:
    case MODEL_TRACK:
    case MODEL_MAP:
        return false;
    default:
        return true;
    }
}

static bool may_be_bad(enum model_verb verb)
{
    switch (verb) {
    case MODEL_WATCH_MASK:
    case MODEL_UNWATCH_MASK:
    case MODEL_FAULT:
    case MODEL_LOCK:
    case MODEL_UNLOCK:
    case MODEL_JOIN:
    case MODEL_LEAVE:
    case MODEL_MAP:
        return false;
    default:
        return true;
    }
}

struct model_step run_pick(struct run *run)
{
    static const uint8_t rights[] = {3, 3, 3, 2, 1, 0, 5, 7};
    uint64_t *random = &run->random;
    struct model_step step = {.verb = pick_verb(random)};
    while (run->short_ways && !run_keeps_short_ways(step.verb))
        step.verb = pick_verb(random);
    pick_place(run, &step);
    if (run->sparse && step.size == MODEL_BYTES && !touches_nothing(step.verb)) {
        step.first = (uint64_t)run->windows[0] * MODEL_PAGE;
        step.size = MODEL_PAGE;
    }
    step.rights = rights[random_below(random, 8)];
    step.access = (enum trk_access)(random_below(random, 8) % 3);
    if (step.verb == MODEL_FAULT && random_chance(random, 20))
        step.repeats = 9; /* one more than livelock takes */
    if (step.verb == MODEL_WATCH && random_chance(random, 20))
        step.repeats = 128; /* one more than a page may have */
    /* The layer's callbacks are there for all or none. */
    step.silent =
        step.verb != MODEL_FAULT && step.verb != MODEL_HLE_WRITE && random_chance(random, 4);
    if (step.verb == MODEL_WATCH_MASK || step.verb == MODEL_UNWATCH_MASK)
        pick_mask(run, &step);
    if (step.verb == MODEL_FAULT && step.first > MODEL_BYTES - 8)
        step.first = 0;
    if (step.verb == MODEL_JOIN)
        pick_join(run, &step);
    if (step.verb == MODEL_LEAVE || step.verb == MODEL_MAP)
        pick_aligned(run, &step);
    if (may_be_bad(step.verb) && random_chance(random, 100))
        step.bad = 1 + random_below(random, MODEL_BAD_RANGES);
    return step;
}

bool run_pick_unwatch(const struct model *model, uint32_t region, bool read, struct model_step *out)
{
    bool any = false;
    *out = (struct model_step){.verb = MODEL_UNWATCH_MASK,
                               .first = (uint64_t)region * TRK_REGION_BYTES,
                               .size = 1,
                               .read = read};
    for (uint32_t i = 0; i < TRK_REGION_PAGES; i++) {
        uint32_t page = region * TRK_REGION_PAGES + i;
        if (read ? !model->foreign_read[page] : model->foreign_writes[page] == 0)
            continue;
        out->mask[i / 64] |= UINT64_C(1) << (i % 64);
        any = true;
    }
    return any;
}
