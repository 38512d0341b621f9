/*
 * A plug-in while a trace is re-executed: whether it can be, and its locks.
 *
 * Our own core asks before it waits for a lock, and names the domain. A plug-in is built for
 * schedules: it just takes the lock. So here the lock's word is looked for among the trackers.
 */
#include "run.h"

enum trk_status run_core_fits(const struct trk_trace *trace, const struct trk_sim_options *options,
                              struct trk_error *error)
{
    const uint8_t *end;
    const char *cannot = core_cannot_follow(trk_trace_snapshot(trace, &end) != NULL);
    return cannot == NULL || options->mode == TRK_SIM_ORACLE_ONLY
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED, "%s", cannot);
}

static struct run *in_force;

void run_in_force(struct run *run)
{
    in_force = run;
}

/* The domain that a word of a tracker's is the lock of; 0: it is none of its. */
static uint32_t domain_of(const struct machine *machine, uint32_t number, const uint32_t *word)
{
    /* Words among a tracker's regions are named by where they lie there. */
    static const uint64_t elsewhere = UINT64_C(1) << 50;
    bool among = core_insides->word_name(machine->tracker, word) < elsewhere;
    uint32_t region;
    switch (core_insides->lock_kind(machine->tracker, word, &region)) {
    case TRK_SIM_LOCK_SHARED:
        return trk_domain(TRK_DOMAIN_PAGES, number, TRK_DOMAIN_SHARED);
    case TRK_SIM_LOCK_GENERATIONS:
        return trk_domain(TRK_DOMAIN_GENERATIONS, number, 0);
    case TRK_SIM_LOCK_REGION:
        return among ? trk_domain(TRK_DOMAIN_REGION, number, region) : 0;
    case TRK_SIM_LOCK_PAGES:
        return among ? trk_domain(TRK_DOMAIN_PAGES, number, region) : 0;
    default:
        return 0;
    }
}

bool run_wait_word(const uint32_t *word)
{
    struct run *run = in_force;
    bool waited = false;
    for (uint32_t i = 0; run != NULL && i < RUN_TRACKERS; i++) {
        struct machine *machine = &run->machines[i];
        uint32_t domain = machine->tracker != NULL ? domain_of(machine, i, word) : 0;
        if (domain != 0) {
            waited = true;
            observer_wait(machine, domain);
        }
    }
    return waited;
}
