#include "simulator/oracle.h"

#include <stdlib.h>

#include "judge.h"

struct trk_oracle {
    struct judge judge;
    bool whole; /* nothing is missing */
};

/* Events are missing, nobody knows where. */
static void doubt(struct trk_oracle *oracle)
{
    oracle->whole = false;
    judge_doubt(&oracle->judge, UINT64_MAX);
    judge_holes(&oracle->judge);
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
    oracle->whole = trk_trace_state(trace).complete;
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
    out->store_event = finding->kind == TRK_VERDICT_FATAL ? TRK_NOT_KNOWN : finding->store.event;
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
    return TRK_OK;
}

void trk_oracle_end(struct trk_oracle *oracle, struct trk_oracle_finding *out)
{
    struct finding finding = {.found = false};
    judge_end(&oracle->judge, oracle->whole, &finding);
    tell(&finding, out);
}
