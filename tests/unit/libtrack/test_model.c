/*
 * Goal: the core does what the specification says, whatever the order of operations.
 * Method: random operations on the core and on a plain second tracker (model.h), side by side,
 * under every combination of policies and page sizes, with refused host calls in between. After
 * every operation statuses, reported ranges, flushes, host calls, page states, watch counts and
 * the host's rights must be equal, and the event stream must keep its grammar. A failure prints
 * the command that shows it again.
 *
 * Usage: unit_track_model [--steps N] [--seed S] [--episode E]; TRK_STEPS and TRK_SEED likewise.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "track/thread.h"

#define EPISODE_STEPS 2000u
#define WINDOW_PAGES  64u /* hot pages of an episode; anything else is touched now and then */

struct run {
    uint64_t random;
    struct fixture fixture;
    struct model model;
    struct model_log log; /* the core's */
    uint32_t window;      /* first hot page */
    uint64_t plan;        /* seed of what the flushes of this operation do */
    unsigned core_flushes, model_flushes;
    char problem[400];
};

static uint64_t next(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)((next(state) >> 32) * limit >> 32);
}

static bool chance(uint64_t *state, uint32_t one_in)
{
    return below(state, one_in) == 0;
}

/* ---- the core's side ---- */

static void log_place(struct run *run, uint64_t code, uint64_t guest_addr, uint64_t size_bytes)
{
    model_log_add(&run->log, code);
    model_log_add(&run->log, (guest_addr - FIXTURE_BASE) / MODEL_PAGE);
    model_log_add(&run->log, size_bytes / MODEL_PAGE);
}

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    log_place(context, MODEL_LOG_RANGE, guest_addr, size_bytes);
}

static void on_completion(void *context)
{
    struct run *run = context;
    model_log_add(&run->log, MODEL_LOG_DONE);
}

static void core_step(struct run *run, const struct model_step *step);
static struct model_step flush_step(uint64_t *random, uint64_t first, uint64_t size);

/* What the nth flush of an operation does follows from the plan, for core and model alike. */
static unsigned flush_steps(const struct run *run, unsigned nth, uint64_t *random)
{
    *random = run->plan + nth;
    return below(random, 4);
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct run *run = context;
    uint64_t random;
    unsigned count = flush_steps(run, run->core_flushes++, &random);
    log_place(run, MODEL_LOG_FLUSH, guest_addr, size_bytes);
    for (unsigned i = 0; i < count; i++) {
        struct model_step step = flush_step(&random, guest_addr - FIXTURE_BASE, size_bytes);
        core_step(run, &step);
    }
}

static void on_model_flush(void *context, uint64_t first, uint64_t size)
{
    struct run *run = context;
    uint64_t random;
    unsigned count = flush_steps(run, run->model_flushes++, &random);
    for (unsigned i = 0; i < count; i++) {
        struct model_step step = flush_step(&random, first, size);
        model_step(&run->model, &step);
    }
}

static enum trk_status core_transfer(struct run *run, const struct model_step *step)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = FIXTURE_BASE + step->first,
                                    .size_bytes = step->size,
                                    .written = step->verb == MODEL_UPLOAD_WRITTEN,
                                    .clear = step->verb == MODEL_DOWNLOAD_CLEAR,
                                    .range = on_range,
                                    .completion = on_completion,
                                    .context = run};
    if (step->verb == MODEL_UPLOAD || step->verb == MODEL_UPLOAD_WRITTEN)
        return trk_tracker_upload(run->fixture.tracker, &transfer);
    if (step->verb == MODEL_DRAIN)
        return trk_tracker_drain(run->fixture.tracker, &transfer);
    return trk_tracker_download(run->fixture.tracker, &transfer);
}

static enum trk_status core_query(struct run *run, const struct model_step *step)
{
    bool value = false;
    uint64_t guest_addr = FIXTURE_BASE + step->first;
    enum trk_status status =
        step->verb == MODEL_IS_CPU
            ? trk_tracker_is_cpu(run->fixture.tracker, guest_addr, step->size, &value)
            : trk_tracker_is_gpu(run->fixture.tracker, guest_addr, step->size, &value);
    if (status == TRK_OK) {
        model_log_add(&run->log, MODEL_LOG_RESULT);
        model_log_add(&run->log, value);
    }
    return status;
}

static enum trk_status core_fault(struct run *run, const struct model_step *step)
{
    /* The rule against livelock has tests of its own; here each fault is the first. */
    struct trk_thread fresh = {.id = trk_thread_current()->id};
    (void)trk_thread_swap(&fresh);
    enum trk_fault_outcome outcome =
        trk_tracker_fault(run->fixture.tracker, FIXTURE_BASE + step->first, step->access);
    (void)trk_thread_swap(NULL);
    model_log_add(&run->log, MODEL_LOG_RESULT);
    model_log_add(&run->log, (uint64_t)outcome);
    return TRK_OK;
}

static enum trk_status core_run(struct run *run, const struct model_step *step)
{
    struct trk_tracker *tracker = run->fixture.tracker;
    uint64_t at = FIXTURE_BASE + step->first;
    switch (step->verb) {
    case MODEL_IS_CPU:
    case MODEL_IS_GPU:
        return core_query(run, step);
    case MODEL_MARK_CPU:
        return trk_tracker_mark_cpu(tracker, at, step->size);
    case MODEL_MARK_GPU:
        return trk_tracker_mark_gpu(tracker, at, step->size);
    case MODEL_UNMARK_GPU:
        return trk_tracker_unmark_gpu(tracker, at, step->size);
    case MODEL_UNTRACK:
        return trk_tracker_untrack(tracker, at, step->size);
    case MODEL_UPLOAD:
    case MODEL_UPLOAD_WRITTEN:
    case MODEL_DOWNLOAD:
    case MODEL_DOWNLOAD_CLEAR:
    case MODEL_DRAIN:
        return core_transfer(run, step);
    case MODEL_INVALIDATE:
        return trk_tracker_invalidate(tracker, at, step->size, on_flush, run);
    case MODEL_REGISTER:
        return trk_tracker_register(tracker, at, step->size);
    case MODEL_UNREGISTER:
        return trk_tracker_unregister(tracker, at, step->size);
    case MODEL_GUEST:
        return trk_tracker_set_guest_protection(tracker, at, step->size, step->rights);
    case MODEL_WATCH:
        return trk_pages_watch(tracker, at, step->size);
    case MODEL_UNWATCH:
        return trk_pages_unwatch(tracker, at, step->size);
    case MODEL_WATCH_MASK:
        return trk_pages_watch_mask(tracker, at, step->mask, step->read);
    case MODEL_UNWATCH_MASK:
        return trk_pages_unwatch_mask(tracker, at, step->mask, step->read);
    case MODEL_FAULT:
        return core_fault(run, step);
    case MODEL_VERB_COUNT:
        break;
    }
    abort();
}

static void core_step(struct run *run, const struct model_step *step)
{
    enum trk_status status = core_run(run, step);
    model_log_add(&run->log, MODEL_LOG_STATUS);
    model_log_add(&run->log, status);
}

/* ---- what is done ---- */

/* A part of a flushed range, by one of the operations that flushes are made of. */
static struct model_step flush_step(uint64_t *random, uint64_t first, uint64_t size)
{
    static const enum model_verb verbs[] = {
        MODEL_DRAIN,    MODEL_DRAIN,          MODEL_DRAIN,    MODEL_DOWNLOAD_CLEAR,
        MODEL_DRAIN,    MODEL_UPLOAD_WRITTEN, MODEL_MARK_GPU, MODEL_UNMARK_GPU,
        MODEL_MARK_CPU, MODEL_UPLOAD,         MODEL_UNTRACK,  MODEL_DOWNLOAD_CLEAR,
    };
    struct model_step step = {.verb = verbs[below(random, 12)], .first = first, .size = size};
    if (chance(random, 3)) {
        uint32_t pages = (uint32_t)(size / MODEL_PAGE);
        uint32_t skipped = below(random, pages);
        step.first += (uint64_t)skipped * MODEL_PAGE;
        step.size = (uint64_t)(1 + below(random, pages - skipped)) * MODEL_PAGE;
    }
    return step;
}

static void pick_place(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t page = run->window + below(random, WINDOW_PAGES);
    uint32_t room = run->window + WINDOW_PAGES - page;
    uint64_t pages = 1 + below(random, chance(random, 4) ? room : room < 4 ? room : 4);
    step->first = (uint64_t)page * MODEL_PAGE;
    step->size = pages * MODEL_PAGE;
    if (chance(random, 3)) { /* inside pages */
        uint32_t inset = below(random, MODEL_PAGE);
        step->first += inset;
        step->size -= inset;
        step->size -= below(random, MODEL_PAGE - inset);
        if (step->size == 0)
            step->size = 1;
    }
    if (chance(random, 500)) { /* all of it */
        step->first = 0;
        step->size = MODEL_BYTES;
    }
    if (chance(random, 300))
        step->size = 0;
}

/* Bytes to be registered: whole pages, or a few bytes, or an end inside a page. */
static void pick_mask(struct run *run, struct model_step *step)
{
    uint64_t *random = &run->random;
    uint32_t region = (run->window + below(random, WINDOW_PAGES)) / TRK_REGION_PAGES;
    step->first = (uint64_t)region * TRK_REGION_BYTES;
    step->size = 1;
    step->read = chance(random, 3);
    for (uint32_t i = 0; i < WINDOW_PAGES; i++) {
        uint32_t page = run->window + i;
        if (page / TRK_REGION_PAGES == region && chance(random, 4))
            step->mask[page % TRK_REGION_PAGES / 64] |= UINT64_C(1) << (page % 64);
    }
    if (chance(random, 50))
        step->first += MODEL_PAGE;
}

/*
 * The core counts watches and not whose they are, so a client that takes away more than it set
 * would take the tracker's: that is the client's mistake, and no test.
 */
static bool takes_from_tracker(const struct run *run, const struct model_step *step)
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
static bool leaves_open(const struct run *run, const struct model_step *step)
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

static struct model_step pick_step(struct run *run)
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
    for (uint32_t rest = below(random, total); rest >= weights[verb]; verb++)
        rest -= weights[verb];

    struct model_step step = {.verb = (enum model_verb)verb};
    pick_place(run, &step);
    step.rights = rights[below(random, 8)];
    step.access = (enum trk_access)(below(random, 8) % 3);
    if (verb == MODEL_WATCH_MASK || verb == MODEL_UNWATCH_MASK)
        pick_mask(run, &step);
    if (verb == MODEL_FAULT && step.first > MODEL_BYTES - 8)
        step.first = 0;
    return step;
}

/* Undo exactly the foreign watches of one region, so that they do not pile up. */
static struct model_step pick_unwatch(const struct run *run, uint32_t region, bool read)
{
    struct model_step step = {.verb = MODEL_UNWATCH_MASK,
                              .first = (uint64_t)region * TRK_REGION_BYTES,
                              .size = 1,
                              .read = read};
    for (uint32_t i = 0; i < TRK_REGION_PAGES; i++) {
        uint32_t page = region * TRK_REGION_PAGES + i;
        if (read ? run->model.foreign_read[page] : run->model.foreign_writes[page] > 0)
            step.mask[i / 64] |= UINT64_C(1) << (i % 64);
    }
    return step;
}

/* ---- comparing ---- */

static bool compare_logs(struct run *run)
{
    const struct model_log *core = &run->log, *model = &run->model.log;
    size_t count = core->count < model->count ? core->count : model->count;
    for (size_t i = 0; i < count || core->count != model->count; i++) {
        if (i < count && core->values[i] == model->values[i])
            continue;
        int used = snprintf(run->problem, sizeof run->problem, "report differs at %zu: core", i);
        for (size_t k = i > 4 ? i - 4 : 0; k < core->count && k < i + 4; k++)
            used += snprintf(run->problem + used, sizeof run->problem - (size_t)used, " %" PRIu64,
                             core->values[k]);
        used += snprintf(run->problem + used, sizeof run->problem - (size_t)used, "; model");
        for (size_t k = i > 4 ? i - 4 : 0; k < model->count && k < i + 4; k++)
            used += snprintf(run->problem + used, sizeof run->problem - (size_t)used, " %" PRIu64,
                             model->values[k]);
        return false;
    }
    return true;
}

static bool compare_calls(struct run *run)
{
    const struct fixture *core = &run->fixture;
    const struct model *model = &run->model;
    if (model->refused != (core->refused != 0)) {
        snprintf(run->problem, sizeof run->problem, "calls refused: core %u, model %d",
                 core->refused, model->refused);
        return false;
    }
    if (model->refused)
        return true; /* the way back is free; where it ends is compared page by page */
    for (uint32_t i = 0; i < core->call_count || i < model->call_count; i++) {
        const struct fixture_call *a = &core->calls[i], *b = &model->calls[i];
        if (core->call_count == model->call_count && a->first == b->first && a->pages == b->pages &&
            a->rights == b->rights)
            continue;
        snprintf(run->problem, sizeof run->problem,
                 "host call %u: core %u+%u:%x of %u, model %u+%u:%x of %u", i, a->first, a->pages,
                 a->rights, core->call_count, b->first, b->pages, b->rights, model->call_count);
        return false;
    }
    return true;
}

static bool compare_page(struct run *run, uint32_t page)
{
    struct trk_page_view a =
        trk_pages_view(run->fixture.tracker, FIXTURE_BASE + (uint64_t)page * MODEL_PAGE);
    struct trk_page_view b = model_view(&run->model, page);
    uint8_t host = run->fixture.host[page];
    if (a.cpu_dirty == b.cpu_dirty && a.gpu_dirty == b.gpu_dirty && a.writable == b.writable &&
        a.readable == b.readable && a.registered == b.registered &&
        a.write_watches == b.write_watches && a.read_watch == b.read_watch &&
        a.guest_rights == b.guest_rights && a.host_rights == b.host_rights && host == b.host_rights)
        return true;
    snprintf(run->problem, sizeof run->problem,
             "page %u: core cpu %d gpu %d w %d r %d reg %d watches %u/%d guest %x host %x/%x; "
             "model %d %d %d %d %d %u/%d %x %x",
             page, a.cpu_dirty, a.gpu_dirty, a.writable, a.readable, a.registered, a.write_watches,
             a.read_watch, a.guest_rights, a.host_rights, host, b.cpu_dirty, b.gpu_dirty,
             b.writable, b.readable, b.registered, b.write_watches, b.read_watch, b.guest_rights,
             b.host_rights);
    return false;
}

static bool compare(struct run *run, bool all)
{
    if (run->fixture.stream.broken[0] != '\0' || run->fixture.broken[0] != '\0') {
        snprintf(run->problem, sizeof run->problem, "%s %s", run->fixture.stream.broken,
                 run->fixture.broken);
        return false;
    }
    if (!compare_logs(run) || !compare_calls(run))
        return false;
    uint32_t first = all ? 0 : run->window;
    uint32_t end = all ? FIXTURE_PAGES : run->window + WINDOW_PAGES;
    for (uint32_t page = first; page < end; page++) {
        if (!compare_page(run, page))
            return false;
    }
    return true;
}

static bool do_step(struct run *run, const struct model_step *step)
{
    struct model *model = &run->model;
    uint32_t refuse = chance(&run->random, 20) ? 1 + below(&run->random, 4) : 0;
    run->plan = next(&run->random);
    run->log.count = model->log.count = 0;
    run->core_flushes = run->model_flushes = 0;
    run->fixture.call_count = model->call_count = 0;
    run->fixture.refused = 0;
    model->refused = false;
    model->fail_in = refuse;
    trk_backend_simulated_fail(run->fixture.simulated, refuse);
    core_step(run, step);
    model_step(model, step);
    trk_backend_simulated_fail(run->fixture.simulated, 0);
    model->fail_in = 0;
    return compare(run, step->size > WINDOW_PAGES * MODEL_PAGE);
}

/* ---- episodes ---- */

static struct trk_policy pick_policy(uint64_t number)
{
    static const uint32_t pages[] = {4096, 16384, 65536};
    return (struct trk_policy){
        .invalidate = (enum trk_invalidate_policy)(number % 3),
        .download = (enum trk_download_policy)(number / 3 % 2),
        .page_size_bytes = pages[number / 6 % 3],
        .fault_width_bytes = number / 18 % 2 ? 8 : 1,
        .arena = (enum trk_arena)(number / 36 % 2),
    };
}

static bool clear_foreign(struct run *run, bool writes_too)
{
    for (uint32_t region = 0; region < FIXTURE_REGIONS; region++) {
        for (int read = 0; read < 2; read++) {
            for (;;) {
                struct model_step step = pick_unwatch(run, region, read != 0);
                static const uint64_t none[TRK_REGION_WORDS];
                if ((!read && !writes_too) || memcmp(step.mask, none, sizeof none) == 0)
                    break;
                if (!do_step(run, &step))
                    return false;
            }
        }
    }
    return true;
}

static bool episode(struct run *run, uint64_t seed, uint64_t number, uint32_t steps)
{
    /* Around region edges and word edges; multiples of the largest tracker page. */
    static const uint32_t windows[] = {1024 - 32, 2048 - 32, 1024 + 32, 1504, 1024 - 64};
    struct trk_policy policy = pick_policy(number);
    run->random = seed * UINT64_C(0x2545f4914f6cdd1d) + number;
    run->window = windows[below(&run->random, 5)];
    memset(run->model.registered, 0, MODEL_BYTES);
    model_init(&run->model, &policy);
    run->model.flush = on_model_flush;
    run->model.flush_context = run;
    fixture_open(&run->fixture, &policy, (uint32_t)(number % 16));
    struct trk_resource_layer layer = {on_flush, on_flush, run};
    if (trk_tracker_set_resource_layer(run->fixture.tracker, &layer) != TRK_OK)
        return false;

    uint32_t step_number = 0;
    bool good = true;
    struct model_step step = {0};
    while (good && step_number < steps) {
        step = pick_step(run);
        step_number++;
        if (takes_from_tracker(run, &step))
            continue;
        if (leaves_open(run, &step))
            good = clear_foreign(run, false);
        good = good && do_step(run, &step);
    }
    if (good && !compare(run, true))
        good = false;
    if (good)
        good = clear_foreign(run, true);
    if (!good)
        fprintf(stderr,
                "episode %" PRIu64 " (invalidate %s, download %s, pages of %u, width %u), step %u: "
                "verb %d at byte %" PRIu64 " +%" PRIu64 ": %s\n",
                number, trk_invalidate_policy_name(policy.invalidate),
                trk_download_policy_name(policy.download), policy.page_size_bytes,
                policy.fault_width_bytes, step_number, step.verb, step.first, step.size,
                run->problem);
    fixture_close(&run->fixture);
    return good;
}

static uint64_t number_from(const char *text, const char *name)
{
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 0);
    if (end == text || *end != '\0') {
        fprintf(stderr, "%s: not a number: %s\n", name, text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    const char *steps_text = getenv("TRK_STEPS"), *seed_text = getenv("TRK_SEED");
    uint64_t steps = steps_text != NULL ? number_from(steps_text, "TRK_STEPS") : 1000000;
    uint64_t seed = seed_text != NULL ? number_from(seed_text, "TRK_SEED") : 1;
    uint64_t first = 0, count = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = number_from(argv[i + 1], argv[i]);
        if (strcmp(argv[i], "--steps") == 0)
            steps = value;
        else if (strcmp(argv[i], "--seed") == 0)
            seed = value;
        else if (strcmp(argv[i], "--episode") == 0)
            first = value, count = 1;
        else
            return 2;
    }
    if (count == 0)
        count = (steps + EPISODE_STEPS - 1) / EPISODE_STEPS;

    struct run *run = calloc(1, sizeof *run);
    run->model.registered = calloc(1, MODEL_BYTES);
    for (uint64_t number = first; number < first + count; number++) {
        if (!episode(run, seed, number, EPISODE_STEPS)) {
            fprintf(stderr, "again: %s --seed %" PRIu64 " --episode %" PRIu64 "\n", argv[0], seed,
                    number);
            return 1;
        }
    }
    printf("%" PRIu64 " operations in %" PRIu64 " episodes, seed %" PRIu64 ": all equal\n",
           count * EPISODE_STEPS, count, seed);
    free(run->model.registered);
    free(run);
    return 0;
}
