/*
 * What a trace's plan stores where the trace has the contents of pages: told to the tests.
 *
 *     plan_pages F    "RECORDED MADE-UP WRONG", numbers of stores: with the trace's bytes, without,
 *                     and with other bytes than those that the file has under the store's hash.
 */
#include <stdio.h>
#include <string.h>

#include "recorder/blobs.h"
#include "replayer/plan.h"

struct counts {
    unsigned long recorded, made_up, wrong;
};

/* Cut in two, as threads may do it. */
static int differs(const struct trk_plan *plan, const struct trk_plan_item *item,
                   struct trk_trace *trace)
{
    unsigned char stored[TRK_BLOB_BYTES];
    const void *bytes = NULL;
    const uint64_t half = 1000;
    if (item->size_bytes != TRK_BLOB_BYTES ||
        trk_trace_blob(trace, item->content, &bytes, NULL) != TRK_OK) {
        return 1;
    }
    trk_plan_store(plan, item, item->offset, half, stored);
    trk_plan_store(plan, item, item->offset + half, sizeof stored - half, stored + half);
    return memcmp(stored, bytes, sizeof stored) != 0;
}

static struct counts count(const struct trk_plan *plan, struct trk_trace *trace)
{
    struct counts counts = {0};
    for (size_t i = 0; i < plan->store_count; i++) {
        const struct trk_plan_item *item = &plan->stores[i];
        if (item->page == 0) {
            counts.made_up++;
        } else {
            counts.recorded++;
            counts.wrong += differs(plan, item, trace) != 0;
        }
    }
    return counts;
}

int main(int argc, char **argv)
{
    const struct trk_plan_options options = trk_plan_options_default();
    struct trk_trace *trace = NULL;
    struct trk_plan *plan = NULL;
    struct trk_error error;
    if (argc != 2 || trk_trace_open(&trace, argv[1], &error) != TRK_OK ||
        trk_trace_scan(trace, &error) != TRK_OK) {
        fprintf(stderr, "usage: plan_pages F, a trace\n");
        return 2;
    }
    const enum trk_status status = trk_plan_create(&plan, trace, &options, &error);
    if (status == TRK_OK) {
        const struct counts counts = count(plan, trace);
        printf("%lu %lu %lu\n", counts.recorded, counts.made_up, counts.wrong);
    } else {
        fprintf(stderr, "plan_pages: %s\n", error.text);
    }
    trk_plan_destroy(plan);
    trk_trace_close(trace);
    return status == TRK_OK ? 0 : 1;
}
