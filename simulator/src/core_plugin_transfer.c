/*
 * A plug-in as a core: transfers, with a look at how it calls back.
 */
#include "core_plugin.h"

typedef enum trk_core_status transfer_fn(void *tracker, const struct trk_core_transfer *transfer);

/* A transfer under way, as the plug-in calls it back. */
struct called {
    const struct trk_transfer *asked;
    enum trk_op op;
    bool done;
};

static void called_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const struct called *called = context;
    if (called->done)
        core_misuse("%s reported a run behind done()", trk_op_name((uint16_t)called->op));
    if (called->asked->range != NULL)
        called->asked->range(called->asked->context, guest_addr, size_bytes);
}

static void called_done(void *context)
{
    struct called *called = context;
    if (called->done) {
        core_misuse("%s called done() twice", trk_op_name((uint16_t)called->op));
        return;
    }
    called->done = true;
    if (called->asked->completion != NULL)
        called->asked->completion(called->asked->context);
}

static enum trk_status transfer(struct trk_tracker *tracker, enum trk_op op, transfer_fn *function,
                                const struct trk_transfer *asked)
{
    struct called called = {.asked = asked, .op = op};
    /* Asked for or not, that it comes once is a part of the interface. One that tells events tells
     * of a completion, too, and those are the recorded ones. */
    bool done = asked->completion != NULL || (op == TRK_OP_UPLOAD && core_foreign());
    struct trk_core_transfer its = {
        .size = sizeof its,
        .guest_addr = asked->guest_addr,
        .size_bytes = asked->size_bytes,
        .written = asked->written,
        .clear = asked->clear,
        .range = asked->range != NULL ? called_range : NULL,
        .done = done ? called_done : NULL,
        .context = &called,
    };
    struct core_look look;
    core_look_begin(&look, tracker, op, asked->guest_addr, asked->size_bytes);
    enum trk_core_status status = function(core_its(tracker), &its);
    core_look_end(&look);
    if (op == TRK_OP_UPLOAD && done && !called.done && status == TRK_CORE_OK)
        core_misuse("upload came to its end without done()");
    return core_status_of(status);
}

enum trk_status core_plugin_upload(struct trk_tracker *tracker, const struct trk_transfer *asked)
{
    return transfer(tracker, TRK_OP_UPLOAD, core_table->upload, asked);
}

enum trk_status core_plugin_download(struct trk_tracker *tracker, const struct trk_transfer *asked)
{
    return transfer(tracker, TRK_OP_DOWNLOAD, core_table->download, asked);
}

/* A download with clear whose runs become the CPU's afterwards. */
struct handing {
    const struct trk_transfer *asked;
    struct core_span runs[64];
    size_t count;
    bool more; /* there were more runs: the whole range is handed over */
};

static void handing_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct handing *handing = context;
    handing->more |= handing->count == sizeof handing->runs / sizeof handing->runs[0];
    if (!handing->more)
        handing->runs[handing->count++] = (struct core_span){guest_addr, size_bytes};
    if (handing->asked->range != NULL)
        handing->asked->range(handing->asked->context, guest_addr, size_bytes);
}

enum trk_status core_plugin_drain(struct trk_tracker *tracker, const struct trk_transfer *asked)
{
    if (core_table->drain != NULL)
        return transfer(tracker, TRK_OP_DRAIN, core_table->drain, asked);
    struct handing handing = {.asked = asked};
    struct trk_transfer download = *asked;
    download.clear = true;
    download.range = handing_range;
    download.context = &handing;
    enum trk_status status = core_plugin_download(tracker, &download);
    if (core_table->mark_cpu == NULL)
        return status;
    for (size_t i = 0; i < handing.count && status == TRK_OK && !handing.more; i++)
        status = core_plugin_calls.mark_cpu(tracker, handing.runs[i].guest_addr,
                                            handing.runs[i].size_bytes);
    if (handing.more && status == TRK_OK)
        status = core_plugin_calls.mark_cpu(tracker, asked->guest_addr, asked->size_bytes);
    return status;
}
