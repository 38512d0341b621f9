/*
 * A finding: which step of a stale read is to blame.
 *
 * For the GPU it is the last event after the store that let its bytes be forgotten: the upload that
 * cleared the page without a copy, or the copy that brought other bytes; without such an event, the
 * copy that was never repeated. For the CPU it is the download that brought other bytes, or the
 * read itself when there was none.
 */
#include "finding.h"

static void blame(struct finding *finding, uint64_t event, uint32_t stream, const char *detail)
{
    finding->event_at = event;
    finding->stream_at = stream;
    finding->detail = detail;
}

/* Say which step of a stale read by the GPU broke the rule. */
static void blame_gpu(struct finding *finding, const struct shadow_page *page,
                      const struct shadow_history *history)
{
    const struct shadow_store *store = &finding->store;
    bool by_gpu = (store->flags & SHADOW_STORE_GPU) != 0;
    finding->has_copy = history->up_count > 0;
    if (finding->has_copy)
        finding->copy = history->up[0];
    finding->has_clean = page->clean_count > 0 && page->cleans[0].event > store->event && !by_gpu;
    if (finding->has_clean)
        finding->clean = page->cleans[0];

    if (finding->has_copy && finding->copy.begin > store->event)
        blame(finding, finding->copy.end, finding->copy.stream,
              by_gpu ? "copied over newer bytes" : "copied, not seen");
    else if (finding->has_clean)
        blame(finding, finding->clean.event, finding->clean.stream,
              finding->has_copy ? "copied before re-arm" : "taken, never copied");
    else if (finding->has_copy && !by_gpu)
        blame(finding, finding->copy.end, finding->copy.stream,
              store->flags & SHADOW_STORE_UNTRACKED ? "stored through an untracked view"
                                                    : "copied, never re-read");
    else
        blame(finding, finding->check.event, finding->check.stream, "never copied");
}

static void blame_cpu(struct finding *finding, const struct shadow_history *history)
{
    const struct shadow_store *store = &finding->store;
    bool by_gpu = (store->flags & SHADOW_STORE_GPU) != 0;
    for (uint32_t i = 0; i < history->down_count && !finding->has_copy; i++) {
        if (!history->down[i].fetched) {
            finding->has_copy = true;
            finding->copy = history->down[i];
        }
    }
    if (finding->has_copy && finding->copy.end > store->event)
        blame(finding, finding->copy.end, finding->copy.stream,
              by_gpu ? "downloaded older bytes" : "downloaded over newer bytes");
    else
        blame(finding, finding->check.event, finding->check.stream,
              by_gpu ? "never downloaded" : "overwritten by nobody known");
}

void finding_blame(struct finding *finding, const struct shadow_page *page,
                   const struct shadow_history *history)
{
    if (finding->agent == TRK_AGENT_GPU)
        blame_gpu(finding, page, history);
    else
        blame_cpu(finding, history);
}
