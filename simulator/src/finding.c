/*
 * A finding: which step of a stale read is to blame.
 *
 * For the GPU it is the store itself where it raised no fault and nobody told of it; else the last
 * event after the store that let its bytes be forgotten: the upload that cleared the page without a
 * copy, or the copy that brought other bytes; without such an event, the copy that was never
 * repeated. For the CPU it is the download that brought other bytes, or the read itself when there
 * was none.
 */
#include "finding.h"

void finding_at(struct finding *finding, uint64_t event, uint32_t stream, enum cause cause)
{
    finding->event_at = event;
    finding->stream_at = stream;
    finding->cause = cause;
}

void finding_unproven(struct finding *finding)
{
    finding_at(finding, TRK_NOT_KNOWN, finding->check.stream, CAUSE_UNPROVEN);
}

enum cause finding_untold(const struct shadow_store *store)
{
    if (store->flags & SHADOW_STORE_UNSAID)
        return CAUSE_NONE;
    /* Where the page was open to the CPU, its dirty bit stood and tells of every store. */
    if ((store->flags & SHADOW_STORE_SAID) && store->state == SAID_CPU)
        return CAUSE_NONE;
    if (store->flags & (SHADOW_STORE_GPU | SHADOW_STORE_FAULTED))
        return CAUSE_NONE;
    if (store->agent != TRK_AGENT_CPU)
        return CAUSE_AGENT_NOT_TOLD;
    if (store->flags & SHADOW_STORE_UNTRACKED)
        return CAUSE_VIEW_NOT_TOLD;
    /* A fault is missing only where the page was closed before the thread could store. */
    if ((store->flags & SHADOW_STORE_SAID) && (store->flags & SHADOW_STORE_SAID_BEFORE))
        return CAUSE_NOT_ARMED;
    return CAUSE_NONE;
}

bool finding_latent(const struct shadow_store *store)
{
    return finding_untold(store) != CAUSE_NONE && (store->flags & SHADOW_STORE_SAID) &&
           (store->flags & SHADOW_STORE_SAID_BEFORE);
}

/* Whether the copy may have been meant for the upload that took the page, behind it. */
static bool before_arm(const struct finding *finding)
{
    return finding->has_copy && !(finding->copy.flags & SHADOW_COPY_TAKEN);
}

/*
 * The first copy home between a store to guest memory and the newest copy to the GPU, which so took
 * what that had brought; NULL: none, or all may have brought the store's own bytes.
 */
static const struct shadow_copy *home_between(const struct shadow_history *history,
                                              const struct shadow_store *store)
{
    for (uint32_t i = history->down_count; i-- > 0;) {
        const struct shadow_copy *down = &history->down[i];
        if ((down->flags & (SHADOW_COPY_FETCHED | SHADOW_COPY_ENDED)) == 0 &&
            down->begin > store->event && down->end < history->up[0].begin &&
            history->down_up_end[i] <= store->event)
            return down;
    }
    return NULL;
}

/* The copy to the GPU began behind the store, and brought other bytes. */
static void blame_copied(struct finding *finding, const struct shadow_history *history)
{
    const struct shadow_store *store = &finding->store;
    bool by_gpu = (store->flags & SHADOW_STORE_GPU) != 0;
    const struct shadow_copy *home = by_gpu ? NULL : home_between(history, store);
    enum cause untold = finding_untold(store);
    if (home == NULL) {
        finding_at(finding, finding->copy.end, finding->copy.stream,
                   by_gpu ? CAUSE_GPU_OVERWRITTEN : CAUSE_COPIED_NOT_SEEN);
        return;
    }
    finding->copy = *home;
    finding->copy_home = true;
    finding->has_clean = false;
    if (store->flags & SHADOW_STORE_UNSAID)
        finding_unproven(finding);
    else if (untold != CAUSE_NONE)
        finding_at(finding, store->event, store->stream, untold);
    else
        finding_at(finding, home->end, home->stream, CAUSE_DOWNLOAD_OVER_NEWER);
}

/* Say which step of a stale read by the GPU broke the rule. */
static void blame_gpu(struct finding *finding, const struct shadow_page *page,
                      const struct shadow_history *history)
{
    const struct shadow_store *store = &finding->store;
    bool by_gpu = (store->flags & SHADOW_STORE_GPU) != 0;
    enum cause untold = finding_untold(store);
    finding->has_copy = history->up_count > 0;
    if (finding->has_copy)
        finding->copy = history->up[0];
    finding->has_clean = page->clean_count > 0 && page->cleans[0].event > store->event && !by_gpu;
    if (finding->has_clean)
        finding->clean = page->cleans[0];

    if (finding->has_copy && finding->copy.begin > store->event)
        blame_copied(finding, history);
    else if (finding->has_clean)
        finding_at(finding, finding->clean.event, finding->clean.stream,
                   before_arm(finding) ? CAUSE_COPIED_BEFORE_ARM : CAUSE_TAKEN_NOT_COPIED);
    else if (store->flags & SHADOW_STORE_UNSAID)
        finding_unproven(finding);
    else if (untold != CAUSE_NONE)
        finding_at(finding, store->event, store->stream, untold);
    else if (finding->has_copy && !by_gpu)
        finding_at(finding, finding->copy.end, finding->copy.stream,
                   store->flags & SHADOW_STORE_UNTRACKED ? CAUSE_VIEW_NOT_TOLD
                                                         : CAUSE_NOT_COPIED_AGAIN);
    else
        finding_at(finding, finding->check.event, finding->check.stream, CAUSE_NEVER_COPIED);
}

/* The page was given back to the CPU behind the GPU's write, and no copy is noted. */
static void blame_giving_back(struct finding *finding, const struct shadow_history *history)
{
    for (uint32_t i = 0; i < history->down_count; i++) {
        const struct shadow_copy *fetch = &history->down[i];
        if (!(fetch->flags & SHADOW_COPY_FETCHED) || fetch->begin < finding->store.event)
            continue;
        finding->has_clean = true;
        finding->clean = (struct shadow_clean){.event = fetch->end,
                                               .guest_addr = fetch->guest_addr,
                                               .size_bytes = fetch->size_bytes,
                                               .stream = fetch->stream};
        finding_at(finding, fetch->end, fetch->stream, CAUSE_HOME_NOT_COPIED);
        return;
    }
}

static void blame_cpu(struct finding *finding, const struct shadow_history *history)
{
    const struct shadow_store *store = &finding->store;
    bool by_gpu = (store->flags & SHADOW_STORE_GPU) != 0;
    for (uint32_t i = 0; i < history->down_count && !finding->has_copy; i++) {
        if (!(history->down[i].flags & SHADOW_COPY_FETCHED)) {
            finding->has_copy = true;
            finding->copy = history->down[i];
        }
    }
    if (finding->has_copy && finding->copy.end > store->event)
        finding_at(finding, finding->copy.end, finding->copy.stream,
                   !by_gpu                                   ? CAUSE_DOWNLOAD_OVER_NEWER
                   : finding->copy.flags & SHADOW_COPY_EARLY ? CAUSE_EARLY_READ_BACK
                                                             : CAUSE_OLDER_DOWNLOAD);
    else
        finding_at(finding, finding->check.event, finding->check.stream,
                   by_gpu ? CAUSE_NEVER_DOWNLOADED : CAUSE_OVERWRITTEN_BY_NOBODY);
    if (finding->cause == CAUSE_NEVER_DOWNLOADED)
        blame_giving_back(finding, history);
}

void finding_blame(struct finding *finding, const struct shadow_page *page,
                   const struct shadow_history *history)
{
    finding->found = true;
    finding->kind =
        finding->agent == TRK_AGENT_GPU ? TRK_VERDICT_STALE_GPU_READ : TRK_VERDICT_STALE_CPU_READ;
    if (finding->agent == TRK_AGENT_GPU)
        blame_gpu(finding, page, history);
    else
        blame_cpu(finding, history);
}
