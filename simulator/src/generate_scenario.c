/*
 * A random scenario from a seed: what it may use, its threads, and its end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate_draft.h"

static const char *const feature_names[FEATURE_COUNT] = {
    [FEATURE_THREADS] = "threads",
    [FEATURE_SHARING] = "sharing",
    [FEATURE_GPU] = "gpu",
    [FEATURE_SYNC] = "sync",
    [FEATURE_LOCKS] = "locks",
    [FEATURE_NESTED] = "nested",
    [FEATURE_MARKS] = "marks",
    [FEATURE_HLE] = "hle",
    [FEATURE_KERNEL] = "kernel",
    [FEATURE_PROTECT] = "protect",
    [FEATURE_MAP] = "map",
    [FEATURE_ALIAS] = "alias",
    [FEATURE_GENERATIONS] = "generations",
    [FEATURE_WATCH] = "watch",
    [FEATURE_EDGES] = "edges",
    [FEATURE_WIDE] = "wide",
    [FEATURE_POLICY] = "policy",
    [FEATURE_PAGES] = "pages",
    [FEATURE_FAULTS] = "faults",
    [FEATURE_DELAY] = "delay",
};

const char *trk_generate_feature_name(uint32_t number)
{
    return number < FEATURE_COUNT ? feature_names[number] : NULL;
}

/* ---- steps ----------------------------------------------------------------------------------- */

#define ALWAYS FEATURE_COUNT

static const struct {
    step_fn *step;
    enum feature feature;
    uint32_t weight;
    bool later; /* not in init, where other threads' pages are at hand too */
} steps[] = {
    {step_access, ALWAYS, 24, false},
    {step_upload, ALWAYS, 12, false},
    {step_draw, FEATURE_GPU, 14, false},
    {step_download, ALWAYS, 5, false},
    {step_drain, ALWAYS, 4, false},
    {step_invalidate, ALWAYS, 6, false},
    {step_query, ALWAYS, 3, false},
    {step_prot, ALWAYS, 4, false},
    {step_gpu, ALWAYS, 4, false},
    {step_hle, FEATURE_HLE, 6, false},
    {step_kernel, FEATURE_KERNEL, 6, true},
    {step_sparse, FEATURE_KERNEL, 2, false},
    {step_nested, FEATURE_NESTED, 4, false},
    {step_at_end, FEATURE_NESTED, 3, false},
    {step_sync, FEATURE_SYNC, 8, true},
    {step_lock, FEATURE_LOCKS, 6, true},
    {step_mark, FEATURE_MARKS, 6, false},
    {step_untrack, FEATURE_MARKS, 4, false},
    {step_unmark, FEATURE_MARKS, 4, false},
    {step_protect, FEATURE_PROTECT, 8, true},
    {step_map, FEATURE_MAP, 8, true},
    {step_gen_track, FEATURE_GENERATIONS, 10, false},
    {step_gen, FEATURE_GENERATIONS, 6, false},
    {step_gen_hle, FEATURE_GENERATIONS, 2, false},
    {step_retake, FEATURE_NESTED, 4, false},
    {step_watch, FEATURE_WATCH, 6, false},
    {step_watch_mask, FEATURE_WATCH, 4, false},
    {step_gen_moves, FEATURE_GENERATIONS, 8, true},
    {step_refused, FEATURE_EDGES, 2, false},
    {step_wide, FEATURE_WIDE, 6, false},
    {step_protect_fail, FEATURE_FAULTS, 6, true},
    {step_drop_flush, FEATURE_FAULTS, 4, true},
    {step_lose_fault, FEATURE_FAULTS, 3, true},
    {step_drop_copy, FEATURE_FAULTS, 3, true},
    {step_delay, FEATURE_DELAY, 4, true},
};
#define STEP_COUNT (sizeof steps / sizeof steps[0])

static bool may_take(const struct draft *draft, size_t step)
{
    bool has = steps[step].feature == ALWAYS || draft_has(draft, steps[step].feature);
    /* What is refused whenever it is asked would end each schedule there. */
    if (draft->careless && (steps[step].step == step_refused || steps[step].step == step_nested ||
                            steps[step].step == step_lock))
        return false;
    return has && !(steps[step].later && draft->thread == NOBODY);
}

void step_any(struct draft *draft)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < STEP_COUNT; i++)
        sum += may_take(draft, i) ? steps[i].weight : 0;
    uint32_t chosen = draft_below(draft, sum);
    for (size_t i = 0; i < STEP_COUNT; i++) {
        uint32_t weight = may_take(draft, i) ? steps[i].weight : 0;
        if (chosen < weight) {
            steps[i].step(draft);
            return;
        }
        chosen -= weight;
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Whatever is left of a mapping is mapped again, whole, and open. */
static void map_again(struct draft *draft, struct draft_entry *entry)
{
    uint64_t page = draft->policy.page_bytes;
    bool odd = false;
    for (uint32_t i = 0; i < entry->page_count; i++) {
        struct span span = {entry->guest_addr + i * page, page, true};
        if (entry->pages[i].space == SPACE_HOLE)
            draft_op_on(draft, "reserve", span, " => ok");
        if (entry->pages[i].space != SPACE_MAPPED)
            draft_op_on(draft, "commit", span, " => ok");
        odd |= entry->pages[i].rights != RIGHTS_RW;
    }
    if (odd)
        draft_op_on(draft, "guest_protect", memory_whole(draft, entry), " rw => ok");
}

/* From whatever state to both copies current, and to the CPU's again. */
static void converge(struct draft *draft, struct draft_entry *entry)
{
    if (entry->plain) {
        draft_op_on(draft, "load", memory_whole(draft, entry), " => faults 0");
        return;
    }
    struct span whole = memory_whole(draft, entry);
    struct span byte = {whole.guest_addr + 8, 8, true};
    map_again(draft, entry);
    if (draft_one_in(draft, 2))
        draft_op_on(draft, "download", whole, " clear");
    else
        draft_op_on(draft, "drain", whole, "");
    draft_op_on(draft, "load", whole, " => faults 0");
    draft_op_on(draft, "upload", whole, "");
    draft_op_on(draft, "gpu_read", whole, "");
    draft_op_on(draft, "is_cpu", whole, " => 0");
    draft_op_on(draft, "is_gpu", whole, " => 0");
    draft_op(draft, "prot %c => r", entry->name);
    draft_op_on(draft, "upload", whole, " => []");
    draft_op_on(draft, "store", byte, " 20 => faults 1");
    draft_op_on(draft, "is_cpu", byte, " => 1");
    draft_op_on(draft, "upload", whole, "");
    draft_op_on(draft, "gpu_read", byte, " => 20");
    draft_op_on(draft, "untrack", whole, " => ok");
    draft_op_on(draft, "is_cpu", whole, " => 1");
}

/* All entries but those at the bands' ends at once, with whatever regions lie between. */
static void converge_wide(struct draft *draft)
{
    struct draft_entry *first = &draft->entries[0], *last = first;
    for (uint32_t i = 0; i < draft->entry_count; i++)
        if (draft->entries[i].guest_addr < LOW_END / 2)
            last = &draft->entries[i];
    struct span all = {first->guest_addr, memory_entry_end(draft, last) - first->guest_addr, true};
    draft_op_on(draft, "drain", all, "");
    draft_op_on(draft, "invalidate", all, " => flush 0");
    for (struct draft_entry *entry = first; entry <= last; entry++) {
        draft_begin(draft);
        draft_say(draft, "upload ");
        draft_say_span(draft, memory_whole(draft, entry));
        model_to_cpu(draft, memory_whole(draft, entry));
        model_say_ranges(draft, memory_whole(draft, entry), false);
        draft_end(draft);
    }
}

/* Everything flushed, read, uploaded and let go. */
static void steps_converge(struct draft *draft)
{
    if (draft_has(draft, FEATURE_WIDE))
        converge_wide(draft);
    for (uint32_t i = 0; i < draft->entry_count; i++)
        converge(draft, &draft->entries[i]);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Each feature that is allowed, or not: about two in three. Nothing goes without threads often. */
static uint32_t swarm(struct draft *draft, uint32_t allowed)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < FEATURE_COUNT; i++) {
        bool often = i == FEATURE_GPU || i == FEATURE_SHARING || i == FEATURE_THREADS;
        if (!draft_one_in(draft, often ? 6 : 2))
            taken |= UINT32_C(1) << i;
    }
    return taken & allowed;
}

static void choose_policy(struct draft *draft)
{
    struct draft_policy *policy = &draft->policy;
    *policy = (struct draft_policy){.fault_width = 1, .line_bytes = 1, .page_bytes = 4096};
    if (draft_has(draft, FEATURE_PAGES)) {
        static const uint32_t lines[] = {1, 64, 4096};
        uint32_t kind = draft_below(draft, 8);
        policy->page_bytes = kind == 0 ? 65536 : kind < 4 ? 16384 : 4096;
        policy->line_bytes = lines[draft_below(draft, 3)];
    }
    policy->generations = draft_has(draft, FEATURE_GENERATIONS) && policy->page_bytes <= LOT_BYTES;
    if (policy->page_bytes > LOT_BYTES)
        draft->features &= ~(UINT32_C(1) << FEATURE_GENERATIONS);
    if (!draft_has(draft, FEATURE_POLICY))
        return;
    if (draft_one_in(draft, 4)) {
        policy->preset = "kyty-2026-08";
        policy->invalidate = INVALIDATE_PER_REGION;
        policy->all_regions = policy->low = true;
        policy->fault_width = 8;
        return;
    }
    policy->invalidate = (enum rounds)draft_below(draft, 3);
    policy->all_regions = draft_one_in(draft, 2);
    policy->low = draft_one_in(draft, 3);
    policy->fault_width = draft_one_in(draft, 2) ? 8 : 1;
}

static void say_policy(struct draft *draft)
{
    static const char *const rounds[] = {"verify", "strict", "per-region"};
    const struct draft_policy *policy = &draft->policy;
    draft_say(draft, "  \"policy\": {");
    if (policy->preset != NULL)
        draft_say(draft, "\"preset\": \"%s\", ", policy->preset);
    else
        draft_say(draft, "\"invalidate\": \"%s\", \"download\": \"%s\", \"arena\": \"%s\", ",
                  rounds[policy->invalidate], policy->all_regions ? "all-regions" : "per-region",
                  policy->low ? "low" : "low+extended");
    draft_say(draft,
              "\"fault_width\": %u,\n             \"page_size\": %" PRIu64
              ", \"line_size\": %u, \"generations\": %s},\n",
              policy->fault_width, policy->page_bytes, policy->line_bytes,
              policy->generations ? "true" : "false");
}

static void say_list(struct draft *draft, uint32_t count)
{
    draft->operations = 0;
    draft_say(draft, "[");
    for (uint32_t i = 0; i < count; i++)
        step_any(draft);
    /* What takes many operations goes into init, where no schedule stops at each. */
    if (draft->thread == NOBODY && draft_has(draft, FEATURE_WATCH) && draft_one_in(draft, 2))
        step_watch_full(draft);
    draft_say(draft, "\n  ]");
}

static void say_threads(struct draft *draft, uint32_t count)
{
    static const char *const kinds[] = {"guest", "host", "gpu", "guest"};
    draft_say(draft, "  \"init\": ");
    draft->alone = true;
    draft->thread = NOBODY;
    say_list(draft, draft_below(draft, draft->small ? 3 : 6));
    draft_say(draft, ",\n  \"threads\": {");
    draft->alone = draft->threads == 1;
    draft->shared_gpu = 0;
    for (uint32_t i = 1; i <= draft->threads; i++) {
        draft->thread = i;
        draft->events_before = draft->events;
        draft_say(draft, "%s\n  \"t%u\": {\"kind\": \"%s\", \"run\": ", i > 1 ? "," : "", i,
                  kinds[i - 1]);
        say_list(draft, count > 0 ? count : 1 + draft_below(draft, 24));
        draft_say(draft, "}");
    }
    draft_say(draft, "},\n");
}

static void say_schedule(struct draft *draft, const struct trk_generate_options *options)
{
    switch (options->schedule) {
    case TRK_GENERATE_RANDOM:
        draft_say(draft, "  \"schedule\": {\"random\": %" PRIu64 ", \"runs\": %u},\n",
                  options->seed, options->runs);
        break;
    case TRK_GENERATE_PCT:
        draft_say(draft, "  \"schedule\": {\"pct\": %" PRIu64 ", \"depth\": %u, \"runs\": %u},\n",
                  options->seed, 1 + draft_below(draft, 4), options->runs);
        break;
    case TRK_GENERATE_EXPLORE:
        draft_say(draft, "  \"schedule\": \"explore\",\n");
        break;
    default:
        break;
    }
}

static void say_all(struct draft *draft, const struct trk_generate_options *options)
{
    uint32_t operations = 0; /* of a thread; 0: each one draws how many */
    draft->features = swarm(draft, options->features);
    choose_policy(draft);
    draft->threads = 1;
    if (options->threads > 0)
        draft->threads = options->threads;
    else if (draft_has(draft, FEATURE_THREADS))
        draft->threads = 2 + draft_below(draft, draft->small ? 2 : TRK_GENERATE_THREADS - 1);
    if (draft->small)
        operations = draft->threads > 2 ? 1 : 2;
    memory_make(draft);
    draft_say(draft, "{\n  \"scenario\": 1,\n  \"name\": \"seed-%" PRIu64 "\",\n", options->seed);
    say_policy(draft);
    memory_say(draft);
    say_threads(draft, operations);
    say_schedule(draft, options);
    draft_say(draft, "  \"finally\": [");
    draft->operations = 0;
    steps_converge(draft);
    draft_say(draft, "\n  ],\n  \"expect\": {\"verdict\": \"ok\"}\n}\n");
}

enum trk_status trk_generate_scenario(char **out, size_t *size_bytes,
                                      const struct trk_generate_options *options)
{
    *out = NULL;
    *size_bytes = 0;
    struct draft *draft = calloc(1, sizeof *draft);
    if (draft == NULL)
        return TRK_E_MEMORY;
    draft->random = options->seed;
    draft->careless = options->careless;
    draft->small = options->schedule == TRK_GENERATE_EXPLORE;
    say_all(draft, options);
    enum trk_status status = draft->no_memory ? TRK_E_MEMORY : TRK_OK;
    if (status == TRK_OK) {
        *out = draft->text;
        *size_bytes = draft->used;
    } else {
        free(draft->text);
    }
    free(draft);
    return status;
}
