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

#include "model_run.h"

#define EPISODE_STEPS 2000u

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
    uint32_t refuse = random_chance(&run->random, 20) ? 1 + random_below(&run->random, 4) : 0;
    run->plan = random_next(&run->random);
    run->log.count = model->log.count = 0;
    run->core_flushes = run->model_flushes = 0;
    run->fixture.call_count = model->call_count = 0;
    run->fixture.refused = 0;
    model->refused = false;
    model->fail_in = refuse;
    trk_backend_simulated_fail(run->fixture.simulated, refuse);
    run_core_step(run, step);
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

/* Take away the watches of others; read watches, and write watches where asked. */
static bool clear_foreign(struct run *run, bool writes_too)
{
    struct model_step step;
    for (uint32_t region = 0; region < FIXTURE_REGIONS; region++) {
        for (int read = writes_too ? 0 : 1; read < 2; read++) {
            while (run_pick_unwatch(run, region, read != 0, &step)) {
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
    run->window = windows[random_below(&run->random, 5)];
    memset(run->model.registered, 0, MODEL_BYTES);
    model_init(&run->model, &policy);
    run->model.flush = run_model_flush;
    run->model.flush_context = run;
    fixture_open(&run->fixture, &policy, (uint32_t)(number % 16));
    struct trk_resource_layer layer = {run_core_flush, run_core_flush, run};
    if (trk_tracker_set_resource_layer(run->fixture.tracker, &layer) != TRK_OK)
        return false;

    uint32_t step_number = 0;
    bool good = true;
    struct model_step step = {0};
    while (good && step_number < steps) {
        step = run_pick(run);
        step_number++;
        if (run_takes_from_tracker(run, &step))
            continue;
        if (run_leaves_open(run, &step))
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
