#include "simulator/oracle.h"

#include <stdlib.h>

#include "ending.h"
#include "judge.h"
#include "newest.h"
#include "versions_state.h"

struct trk_oracle {
    struct judge judge;
    bool whole;  /* nothing is missing */
    bool at_end; /* and its end is the program's */
};

/* Events are missing, nobody knows where. */
static void doubt(struct trk_oracle *oracle)
{
    oracle->whole = false;
    judge_doubt(&oracle->judge, UINT64_MAX);
    judge_holes(&oracle->judge);
    judge_lose_views(&oracle->judge, UINT64_MAX);
}

enum trk_status trk_oracle_create(struct trk_oracle **out, const struct trk_trace *trace,
                                  struct trk_error *error)
{
    size_t streams = trk_trace_stream_count(trace);
    if (streams > ORDER_STREAMS_MAX)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%zu threads are more than are judged",
                             streams);
    struct trk_oracle *oracle = calloc(1, sizeof *oracle);
    if (oracle == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the oracle");
    if (judge_init(&oracle->judge, (uint32_t)streams, 1) != TRK_OK) {
        trk_oracle_destroy(oracle);
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the oracle");
    }
    const struct trk_trace_state state = trk_trace_state(trace);
    oracle->whole = state.whole || (state.dropped == 0 && trk_trace_gapless(trace));
    oracle->at_end = ending_of(trace) == ENDING_OWN;
    if (!oracle->whole)
        doubt(oracle);
    *out = oracle;
    return TRK_OK;
}

void trk_oracle_destroy(struct trk_oracle *oracle)
{
    if (oracle == NULL)
        return;
    judge_deinit(&oracle->judge);
    free(oracle);
}

/* Of a loss: an upload over newer bytes, or a store that no upload took, is missed by the GPU. */
static bool in_gpu_copy(const struct finding *finding)
{
    switch (finding->kind) {
    case TRK_VERDICT_STALE_GPU_READ:
        return true;
    case TRK_VERDICT_LOST_CPU_WRITE:
        return finding->latent;
    case TRK_VERDICT_LOST_GPU_WRITE:
        return finding->cause == CAUSE_UPLOAD_OVER_NEWER;
    default:
        return false;
    }
}

static void tell(const struct finding *finding, struct trk_oracle_finding *out)
{
    *out = (struct trk_oracle_finding){.found = finding->found};
    if (!finding->found)
        return;
    out->verdict = finding->kind;
    out->event_at = finding->event_at;
    out->event_visible = finding->check.event;
    out->guest_addr = finding->guest_addr;
    out->size_bytes = finding->size_bytes;
    out->by_gpu = (finding->store.flags & SHADOW_STORE_GPU) != 0;
    out->in_gpu_copy = in_gpu_copy(finding);
    out->store_event = finding->store.event;
    if (finding->kind == TRK_VERDICT_FATAL || finding->kind == TRK_VERDICT_LIVELOCK) {
        out->failure_class = TRK_E_REENTRY; /* that was not refused; a refusal says its own */
        out->store_event = TRK_NOT_KNOWN;
    }
}

/* The tracker has refused: what it should have refused is told with that. */
static void take_refusal(struct trk_oracle *oracle, const struct trk_trace_event *event,
                         struct trk_oracle_finding *out)
{
    struct finding finding;
    struct judge_operation *operation = judge_operation_of(&oracle->judge, event->stream);
    if (operation != NULL)
        operation->reentered = false;
    judge_refusal(&oracle->judge, event, &finding);
    tell(&finding, out);
    out->failure_class = (enum trk_status)event->event.context;
}

enum trk_status trk_oracle_take(struct trk_oracle *oracle, const struct trk_trace_event *event,
                                struct trk_oracle_finding *out, struct trk_error *error)
{
    struct finding finding;
    if (event->guessed)
        doubt(oracle);
    enum trk_status status = judge_take(&oracle->judge, event, &finding);
    if (status != TRK_OK)
        return trk_error_set(error, status, "the oracle ended at event %llu: %s",
                             (unsigned long long)event->number, trk_status_name(status));
    tell(&finding, out);
    if (event->event.type == TRK_EVENT_FAIL)
        take_refusal(oracle, event, out);
    return TRK_OK;
}

void trk_oracle_end(struct trk_oracle *oracle, struct trk_oracle_finding *out)
{
    struct finding finding = {.found = false};
    if (oracle->at_end)
        judge_end(&oracle->judge, oracle->whole, &finding);
    tell(&finding, out);
}

/* Bytes of no known past are looked at in steps of so many. */
#define STEP_BYTES 64u

/* Whether a copy to the side of a store may have been under way, and have undone it. */
static bool met(const struct shadow_store *store, const struct shadow_copy *copies, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (copies[i].end > store->event && copies[i].begin <= store->event)
            return true;
    }
    return false;
}

void trk_oracle_current(const struct trk_oracle *oracle, uint64_t guest_addr, bool in_gpu_copy,
                        struct trk_oracle_current *out)
{
    struct newest newest;
    newest_find(&oracle->judge, guest_addr, &newest);
    *out = (struct trk_oracle_current){.size_bytes = STEP_BYTES - guest_addr % STEP_BYTES,
                                       .store_event = TRK_NOT_KNOWN};
    const struct shadow_history *history = newest.history;
    if (history == NULL)
        return;
    out->size_bytes = newest.first_addr + newest.size_bytes - guest_addr;
    if (history->store_count == 0)
        return;
    const struct shadow_store *store = &history->stores[0];
    const bool gpu = newest_by_gpu(store);
    const bool undone = gpu ? met(store, history->up, history->up_count)
                            : met(store, history->down, history->down_count);
    /* Whoever sees its stamp behind a copy of older bytes has met a copy that the log lacks. */
    if ((in_gpu_copy ? newest.gpu_given : newest.guest_given) != TRK_WHY_CURRENT || undone ||
        newest.untracked || (store->flags & SHADOW_STORE_PART) != 0 ||
        store_in_doubt(oracle->judge.versions, store))
        return;
    out->store_event = store->event;
    out->stamp = store->stamp;
    out->by_gpu = gpu;
}
