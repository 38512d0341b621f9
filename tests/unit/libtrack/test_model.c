/*
 * Goal: the core keeps the rules of docs/model.md, whatever the order of operations.
 * Method: random operations on the core and on a plain second tracker (model.h), side by side,
 * under every combination of policies and page sizes, with and without an observer, with refused
 * host calls in between and operations on two trackers in each other's callbacks. After every
 * operation statuses, failures, reported ranges, flushes, host calls, page states, watch counts,
 * generations and the host's rights must be equal, and the event stream must keep its grammar. A
 * failure prints the command that shows it again.
 *
 * Usage: unit_track_model [--steps N] [--seed S] [--episode E]; TRK_STEPS and TRK_SEED likewise.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_run.h"

#define EPISODE_STEPS 2000u

static bool do_step(struct side *side, const struct model_step *step)
{
    struct run *run = side->run;
    uint32_t refuse = random_chance(&run->random, 20) ? 1 + random_below(&run->random, 4) : 0;
    run->plan = random_next(&run->random);
    for (uint32_t i = 0; i < RUN_TRACKERS; i++) {
        struct side *each = &run->sides[i];
        each->log.count = each->model.log.count = 0;
        each->core = each->plain = (struct tally){0};
        each->fixture.call_count = each->model.call_count = 0;
        each->fixture.refused = 0;
        each->model.refused = false;
    }
    side->model.fail_in = refuse;
    trk_backend_simulated_fail(side->fixture.simulated, refuse);
    run_core_step(side, step);
    model_step(&side->model, step);
    trk_backend_simulated_fail(side->fixture.simulated, 0);
    side->model.fail_in = 0;
    bool all = step->size > WINDOW_PAGES * MODEL_PAGE;
    struct side *other = &run->sides[side == &run->sides[0]];
    if (other->log.count + other->model.log.count > 0 && !run_compare(run, other, false))
        return false;
    return run_compare(run, side, all);
}

/* ---- episodes ---- */

static struct trk_policy pick_policy(uint64_t number)
{
    static const uint32_t pages[] = {4096, 16384, 65536};
    return (struct trk_policy){
        .invalidate = (enum trk_invalidate_policy)(number % 3),
        .download = (enum trk_download_policy)(number / 3 % 2),
        .page_size_bytes = pages[number / 6 % 3],
        .generations = number / 18 % 2,
        .fault_width_bytes = number / 36 % 2 ? 8 : 1,
        .arena = (enum trk_arena)(number / 72 % 2),
    };
}

/* Give back locks that are held by hand; take away read watches of others, write ones if asked. */
static bool clear_foreign(struct side *side, bool writes_too)
{
    struct model_step step;
    for (uint32_t region = 0; region < FIXTURE_REGIONS; region++) {
        step = (struct model_step){
            .verb = MODEL_UNLOCK, .first = (uint64_t)region * TRK_REGION_BYTES, .size = 1};
        if (side->model.held[region] && !do_step(side, &step))
            return false;
        for (int read = writes_too ? 0 : 1; read < 2; read++) {
            while (run_pick_unwatch(&side->model, region, read != 0, &step)) {
                if (!do_step(side, &step))
                    return false;
            }
        }
    }
    return true;
}

static bool side_open(struct side *side, const struct trk_policy *policy, uint32_t id,
                      bool observed)
{
    memset(side->model.registered, 0, MODEL_BYTES);
    side->model.hooks = (struct model_hooks){side, run_plain_flush, run_plain_callback};
    side->sum_count = 0;
    model_init(&side->model, policy);
    if (observed)
        fixture_open(&side->fixture, policy, id);
    else
        fixture_open_unobserved(&side->fixture, policy, id);
    struct trk_resource_layer layer = {run_core_flush, run_core_flush, side};
    return trk_tracker_set_resource_layer(side->fixture.tracker, &layer) == TRK_OK;
}

/* One operation, unless it is one that no test makes. */
static bool random_step(struct run *run, struct model_step *step)
{
    struct side *side = &run->sides[random_chance(&run->random, 4)];
    *step = run_pick(run);
    if (run_takes_from_tracker(run, &side->model, step))
        return true;
    if (run_leaves_open(run, &side->model, step) && !clear_foreign(side, false))
        return false;
    return do_step(side, step);
}

/* A place in three regions of 1024 pages, where there are fewer pages; windows stay inside. */
#define AT_SCALED(page) ((page)*FIXTURE_PAGES / 3072u / 16u * 16u)
#define AT_LAST         (FIXTURE_PAGES - WINDOW_PAGES)
#define AT(page)        (AT_SCALED(page) < AT_LAST ? AT_SCALED(page) : AT_LAST)

static bool episode(struct run *run, uint64_t seed, uint64_t number, uint32_t steps)
{
    /* Around region edges and word edges; multiples of the largest tracker page. */
    static const uint32_t first[] = {AT(1024 - 32), AT(2048 - 32), AT(1024 + 32), AT(1504),
                                     AT(1024 - 64)};
    static const uint32_t second[] = {AT(64), AT(256), AT(1664), AT(2608), AT(3008)};
    struct trk_policy policy = pick_policy(number);
    if (policy.page_size_bytes > TRK_REGION_BYTES)
        policy.page_size_bytes = MODEL_PAGE;
    /* The short ways, where nobody listens, want regions of whole words. */
    bool observed = number / 5 % 2 == 0 || TRK_REGION_PAGES < 64;
    run->random = seed * UINT64_C(0x2545f4914f6cdd1d) + number;
    run->windows[0] = first[random_below(&run->random, 5)];
    run->windows[1] = second[random_below(&run->random, 5)];
    run->short_ways = random_chance(&run->random, 3);
    run->sparse = random_chance(&run->random, 4);
    if (run->sparse) { /* an untouched region lies between */
        run->windows[0] = AT(1024 - 64);
        run->windows[1] = AT(3008);
    }
    bool good = true;
    for (uint32_t i = 0; i < RUN_TRACKERS; i++)
        good &= side_open(&run->sides[i], &policy, (uint32_t)((number + i) % 16), observed);

    uint32_t step_number = 0;
    struct model_step step = {0};
    while (good && step_number < steps) {
        step_number++;
        good = random_step(run, &step);
    }
    for (uint32_t i = 0; i < RUN_TRACKERS; i++) {
        good = good && run_compare(run, &run->sides[i], true);
        good = good && clear_foreign(&run->sides[i], true);
    }
    if (!good)
        fprintf(stderr,
                "episode %" PRIu64 " (invalidate %s, download %s, pages of %u, width %u%s%s), step "
                "%u: verb %d at byte %" PRIu64 " +%" PRIu64 ": %s\n",
                number, trk_invalidate_policy_name(policy.invalidate),
                trk_download_policy_name(policy.download), policy.page_size_bytes,
                policy.fault_width_bytes, policy.generations ? ", generations" : "",
                observed ? ", observed" : "", step_number, step.verb, step.first, step.size,
                run->problem);
    for (uint32_t i = 0; i < RUN_TRACKERS; i++)
        fixture_close(&run->sides[i].fixture);
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
    for (uint32_t i = 0; i < RUN_TRACKERS; i++) {
        run->sides[i].run = run;
        run->sides[i].model.registered = calloc(1, MODEL_BYTES);
    }
    for (uint64_t number = first; number < first + count; number++) {
        if (!episode(run, seed, number, EPISODE_STEPS)) {
            fprintf(stderr, "again: %s --seed %" PRIu64 " --episode %" PRIu64 "\n", argv[0], seed,
                    number);
            return 1;
        }
    }
    printf("%" PRIu64 " operations in %" PRIu64 " episodes, seed %" PRIu64 ": all equal\n",
           count * EPISODE_STEPS, count, seed);
    for (uint32_t i = 0; i < RUN_TRACKERS; i++)
        free(run->sides[i].model.registered);
    free(run);
    return 0;
}
