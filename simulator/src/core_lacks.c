/*
 * What a scenario needs that a plug-in has not.
 */
#include <stdio.h>

#include "core_plugin.h"
#include "scenario_program.h"
#include "simulator/core.h"

static const char *const space = "changes of the guest's mappings and rights";

/* Whether the entry behind a verb is there; NULL: it is, or none is needed. */
static const char *verb_lacks(const struct scenario_op *op)
{
    const struct trk_core_table *table = core_table;
    bool there = true;
    switch (op->verb) {
    case VERB_IS_CPU:
        there = table->is_cpu != NULL;
        break;
    case VERB_IS_GPU:
        there = table->is_gpu != NULL;
        break;
    case VERB_MARK_CPU:
        there = table->mark_cpu != NULL;
        break;
    case VERB_MARK_GPU:
        there = table->mark_gpu != NULL;
        break;
    case VERB_UNMARK_GPU:
        there = table->unmark_gpu != NULL;
        break;
    case VERB_UNTRACK:
        there = table->untrack != NULL;
        break;
    case VERB_DRAIN:
        there = table->drain != NULL || table->mark_cpu != NULL;
        break;
    case VERB_WATCH:
    case VERB_UNWATCH:
        there = table->watch != NULL;
        break;
    case VERB_WATCH_MASK:
    case VERB_UNWATCH_MASK:
        there = table->watch_mask != NULL;
        break;
    case VERB_LOCK:
        there = table->lock != NULL;
        break;
    case VERB_UNLOCK:
        there = table->unlock != NULL;
        break;
    case VERB_GEN_TRACK:
        there = table->gen_track != NULL;
        break;
    case VERB_GEN:
        there = table->gen_query != NULL;
        break;
    case VERB_GEN_HLE:
        there = table->gen_notify != NULL;
        break;
    case VERB_MAP:
    case VERB_UNMAP:
    case VERB_COMMIT:
    case VERB_RESERVE:
    case VERB_GUEST_PROTECT:
    case VERB_GEN_REMAP:
        return table->guest_rights != NULL ? NULL : space;
    default:
        break;
    }
    return there ? NULL : scenario_verb_word(op->verb);
}

static const char *ops_lack(const struct scenario_op *ops, uint32_t count)
{
    const char *lacks = NULL;
    for (uint32_t i = 0; i < count && lacks == NULL; i++) {
        lacks = verb_lacks(&ops[i]);
        if (lacks == NULL)
            lacks = ops_lack(ops[i].nested, ops[i].nested_count);
    }
    return lacks;
}

static const char *entries_lack(const struct trk_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->entry_count; i++) {
        const struct scenario_entry *entry = &scenario->entries[i];
        bool plain = entry->rights == TRK_RIGHTS_RW && entry->mapped && !entry->reserved;
        if (entry->alias_of != SCENARIO_NONE && core_table->join_views == NULL)
            return "several views of the same bytes";
        if (!plain && core_table->guest_rights == NULL)
            return space;
    }
    return NULL;
}

static int no_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                      unsigned rights)
{
    (void)backend;
    (void)guest_addr;
    (void)size_bytes;
    (void)rights;
    return 0;
}

static void no_event(void *context, const struct trk_event *event)
{
    (void)context;
    (void)event;
}

static void no_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
}

/* Make a tracker with a policy, and destroy it. */
static enum trk_status make_one(const struct trk_policy *policy)
{
    struct trk_backend backend = {.name = "none", .protect = no_protect};
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = *policy;
    options.backend = &backend;
    options.observer.emit = no_event;
    options.failure = no_failure;
    struct trk_tracker *tracker = NULL;
    bool complained = trk_core_complaint() != NULL;
    enum trk_status status = core_sim->create(&tracker, &options, NULL);
    if (status == TRK_OK)
        core_sim->destroy(tracker);
    else if (status == TRK_E_UNSUPPORTED && !complained)
        core_pardon(); /* it is asked, not used */
    return status;
}

void trk_core_try(void)
{
    static const uint32_t page_sizes[] = {4096, 16384, 65536};
    struct trk_policy policy = trk_tracker_options_default().policy;
    for (size_t i = 0; i < sizeof page_sizes / sizeof page_sizes[0] && core_table != NULL; i++) {
        policy.page_size_bytes = page_sizes[i];
        (void)make_one(&policy);
    }
}

uint32_t trk_core_page_size(const struct trk_scenario *scenario)
{
    static const uint32_t larger[] = {16384, 65536};
    struct trk_policy policy = scenario->policy.core;
    uint32_t own = policy.page_size_bytes;
    if (core_table == NULL || own != SCENARIO_PAGE_BYTES || make_one(&policy) != TRK_E_UNSUPPORTED)
        return own;
    for (size_t i = 0; i < sizeof larger / sizeof larger[0]; i++) {
        policy.page_size_bytes = larger[i];
        if (make_one(&policy) == TRK_OK)
            return larger[i];
    }
    return own;
}

static const char *policy_lacks(const struct trk_scenario *scenario)
{
    static char words[128];
    const struct trk_policy *policy = &scenario->policy.core;
    if (make_one(policy) != TRK_E_UNSUPPORTED || trk_core_misused())
        return NULL;
    snprintf(words, sizeof words, "policy invalidate %s, download %s, %s, pages of %u bytes%s",
             trk_invalidate_policy_name(policy->invalidate),
             trk_download_policy_name(policy->download), trk_arena_name(policy->arena),
             policy->page_size_bytes, policy->generations ? ", generations" : "");
    return words;
}

const char *trk_core_lacks(const struct trk_scenario *scenario)
{
    if (core_table == NULL)
        return NULL;
    const char *lacks = entries_lack(scenario);
    for (uint32_t i = 0; i < scenario->thread_count && lacks == NULL; i++)
        lacks = ops_lack(scenario->threads[i].ops, scenario->threads[i].op_count);
    return lacks != NULL ? lacks : policy_lacks(scenario);
}
