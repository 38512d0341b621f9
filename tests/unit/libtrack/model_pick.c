/*
 * Which random operation comes next.
 */
#include "model_run.h"

static void pick_place(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t page = run->window + random_below(random, WINDOW_PAGES);
    uint32_t room = run->window + WINDOW_PAGES - page;
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
    if (random_chance(random, 500)) { /* all of it */
        step->first = 0;
        step->size = MODEL_BYTES;
    }
    if (random_chance(random, 300))
        step->size = 0;
}

static void pick_mask(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t region = (run->window + random_below(random, WINDOW_PAGES)) / TRK_REGION_PAGES;
    step->first = (uint64_t)region * TRK_REGION_BYTES;
    step->size = 1;
    step->read = random_chance(random, 3);
    for (uint32_t i = 0; i < WINDOW_PAGES; i++) {
        uint32_t page = run->window + i;
        if (page / TRK_REGION_PAGES == region && random_chance(random, 4))
            step->mask[page % TRK_REGION_PAGES / 64] |= UINT64_C(1) << (page % 64);
    }
    if (random_chance(random, 50))
        step->first += MODEL_PAGE;
}

/*
 * The core counts watches and not whose they are, so a client that takes away more than it set
 * would take the tracker's: that is the client's mistake, and no test.
 */
bool run_takes_from_tracker(const struct run *run, const struct model_step *step)
{
    const struct model *model = &run->model;
    if (step->verb != MODEL_UNWATCH && step->verb != MODEL_UNWATCH_MASK)
        return false;
    bool wide = step->size > WINDOW_PAGES * MODEL_PAGE;
    uint32_t first = wide ? 0 : run->window;
    uint32_t end = wide ? FIXTURE_PAGES : run->window + WINDOW_PAGES;
    for (uint32_t page = first; page < end; page++) {
        bool read = step->verb == MODEL_UNWATCH_MASK && step->read;
        if (read ? model->gpu[page] && !model->foreign_read[page]
                 : !model->cpu[page] && model->foreign_writes[page] == 0)
            return true;
    }
    return false;
}

/*
 * A read watch of somebody else over a page that is to become GPU fails the operation in the
 * middle; what has been reported cannot be taken back, so the specification leaves it open.
 */
bool run_leaves_open(const struct run *run, const struct model_step *step)
{
    bool acquires = step->verb == MODEL_MARK_GPU || step->verb == MODEL_UPLOAD_WRITTEN ||
                    step->verb == MODEL_INVALIDATE || step->verb == MODEL_FAULT;
    if (!acquires)
        return false;
    for (uint32_t page = run->window; page < run->window + WINDOW_PAGES; page++) {
        if (run->model.foreign_read[page]) /* masks stay inside the window */
            return true;
    }
    return false;
}

struct model_step run_pick(struct run *run)
{
    static const uint8_t weights[MODEL_VERB_COUNT] = {
        [MODEL_IS_CPU] = 2,         [MODEL_IS_GPU] = 2,         [MODEL_MARK_CPU] = 4,
        [MODEL_MARK_GPU] = 4,       [MODEL_UNMARK_GPU] = 3,     [MODEL_UNTRACK] = 2,
        [MODEL_UPLOAD] = 10,        [MODEL_UPLOAD_WRITTEN] = 8, [MODEL_DOWNLOAD] = 2,
        [MODEL_DOWNLOAD_CLEAR] = 4, [MODEL_DRAIN] = 4,          [MODEL_INVALIDATE] = 10,
        [MODEL_REGISTER] = 4,       [MODEL_UNREGISTER] = 1,     [MODEL_GUEST] = 3,
        [MODEL_WATCH] = 1,          [MODEL_UNWATCH] = 3,        [MODEL_WATCH_MASK] = 1,
        [MODEL_UNWATCH_MASK] = 3,   [MODEL_FAULT] = 14,
    };
    static const uint8_t rights[] = {3, 3, 3, 3, 1, 0, 5, 7};
    uint64_t *random = &run->random;
    uint32_t total = 0, verb = 0;
    for (uint32_t i = 0; i < MODEL_VERB_COUNT; i++)
        total += weights[i];
    for (uint32_t rest = random_below(random, total); rest >= weights[verb]; verb++)
        rest -= weights[verb];

    struct model_step step = {.verb = (enum model_verb)verb};
    pick_place(run, &step);
    step.rights = rights[random_below(random, 8)];
    step.access = (enum trk_access)(random_below(random, 8) % 3);
    if (verb == MODEL_WATCH_MASK || verb == MODEL_UNWATCH_MASK)
        pick_mask(run, &step);
    if (verb == MODEL_FAULT && step.first > MODEL_BYTES - 8)
        step.first = 0;
    return step;
}

bool run_pick_unwatch(const struct run *run, uint32_t region, bool read, struct model_step *out)
{
    bool any = false;
    *out = (struct model_step){.verb = MODEL_UNWATCH_MASK,
                               .first = (uint64_t)region * TRK_REGION_BYTES,
                               .size = 1,
                               .read = read};
    for (uint32_t i = 0; i < TRK_REGION_PAGES; i++) {
        uint32_t page = region * TRK_REGION_PAGES + i;
        if (read ? !run->model.foreign_read[page] : run->model.foreign_writes[page] == 0)
            continue;
        out->mask[i / 64] |= UINT64_C(1) << (i % 64);
        any = true;
    }
    return any;
}
