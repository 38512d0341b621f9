/*
 * A plug-in as a core: the calls that the simulator makes, in the plug-in's terms.
 */
#include "core_plugin.h"

#include <stdlib.h>

/* ---- operations on ranges -------------------------------------------------------------------- */

/* What a call of a range comes to, with what is seen of it from outside. */
#define PLUGIN_RANGE(name, entry, op, missing)                                                     \
    static enum trk_status name(struct trk_tracker *tracker, uint64_t guest_addr,                  \
                                uint64_t size_bytes)                                               \
    {                                                                                              \
        struct core_look look;                                                                     \
        if (core_table->entry == NULL)                                                             \
            return missing;                                                                        \
        core_look_begin(&look, tracker, op, guest_addr, size_bytes);                               \
        enum trk_core_status status =                                                              \
            core_table->entry(core_its(tracker), guest_addr, size_bytes);                          \
        core_look_end(&look);                                                                      \
        return core_status_of(status);                                                             \
    }

PLUGIN_RANGE(plugin_mark_cpu, mark_cpu, TRK_OP_MARK_CPU, TRK_E_UNSUPPORTED)
PLUGIN_RANGE(plugin_mark_gpu, mark_gpu, TRK_OP_MARK_GPU, TRK_E_UNSUPPORTED)
PLUGIN_RANGE(plugin_unmark_gpu, unmark_gpu, TRK_OP_UNMARK_GPU, TRK_E_UNSUPPORTED)
PLUGIN_RANGE(plugin_untrack, untrack, TRK_OP_UNTRACK, TRK_E_UNSUPPORTED)
PLUGIN_RANGE(plugin_unregister, unregister_bytes, TRK_OP_UNREGISTER, TRK_E_UNSUPPORTED)
PLUGIN_RANGE(plugin_leave_view, leave_view, TRK_OP_LEAVE_VIEW, TRK_E_UNSUPPORTED)
PLUGIN_RANGE(plugin_gen_notify, gen_notify, TRK_OP_GEN_NOTIFY, TRK_OK)
#undef PLUGIN_RANGE

static enum trk_status plugin_register(struct trk_tracker *tracker, uint64_t guest_addr,
                                       uint64_t size_bytes)
{
    struct core_tracker *self = core_tracker_of(tracker);
    struct core_span *last =
        self->registered_count > 0 ? &self->registered[self->registered_count - 1] : NULL;
    if (last != NULL && last->guest_addr + last->size_bytes == guest_addr) {
        last->size_bytes += size_bytes;
    } else if (core_foreign()) {
        struct core_span *larger =
            realloc(self->registered, (self->registered_count + 1) * sizeof *larger);
        if (larger == NULL)
            return TRK_E_MEMORY;
        self->registered = larger;
        larger[self->registered_count++] = (struct core_span){guest_addr, size_bytes};
    }
    return core_table->register_bytes == NULL
               ? TRK_OK
               : core_status_of(core_table->register_bytes(self->its, guest_addr, size_bytes));
}

static enum trk_status ask(struct trk_tracker *tracker, enum trk_op op, struct core_span span,
                           bool *out)
{
    struct core_look look;
    enum trk_core_status (*entry)(void *, uint64_t, uint64_t, bool *) =
        op == TRK_OP_IS_CPU ? core_table->is_cpu : core_table->is_gpu;
    if (entry == NULL)
        return TRK_E_UNSUPPORTED;
    core_look_begin(&look, tracker, op, span.guest_addr, span.size_bytes);
    enum trk_core_status status = entry(core_its(tracker), span.guest_addr, span.size_bytes, out);
    core_look_end(&look);
    return core_status_of(status);
}

static enum trk_status plugin_is_cpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                     uint64_t size_bytes, bool *out)
{
    return ask(tracker, TRK_OP_IS_CPU, (struct core_span){guest_addr, size_bytes}, out);
}

static enum trk_status plugin_is_gpu(struct trk_tracker *tracker, uint64_t guest_addr,
                                     uint64_t size_bytes, bool *out)
{
    return ask(tracker, TRK_OP_IS_GPU, (struct core_span){guest_addr, size_bytes}, out);
}

static enum trk_status plugin_guest_rights(struct trk_tracker *tracker, uint64_t guest_addr,
                                           uint64_t size_bytes, unsigned rights)
{
    struct core_look look;
    if (core_table->guest_rights == NULL)
        return TRK_OK; /* cases that need it are left out */
    core_look_begin(&look, tracker, TRK_OP_GUEST_PROTECT, guest_addr, size_bytes);
    enum trk_core_status status =
        core_table->guest_rights(core_its(tracker), guest_addr, size_bytes, rights);
    core_look_end(&look);
    return core_status_of(status);
}

static enum trk_status plugin_layer(struct trk_tracker *tracker,
                                    const struct trk_resource_layer *layer)
{
    struct core_tracker *self = core_tracker_of(tracker);
    self->layer = layer != NULL ? *layer : (struct trk_resource_layer){0};
    if (core_table->layer != NULL)
        core_table->layer(self->its, self->layer.flush != NULL, self->layer.read_back != NULL);
    return TRK_OK;
}

/* Locks by hand order what their threads do: whoever follows events has to see them. */
static enum trk_status by_hand(struct trk_tracker *tracker, uint64_t guest_addr, bool take)
{
    if ((take ? core_table->lock : core_table->unlock) == NULL)
        return TRK_E_UNSUPPORTED;
    enum trk_core_status status =
        (take ? core_table->lock : core_table->unlock)(core_its(tracker), guest_addr);
    const struct trk_tracker_options *options = &core_tracker_of(tracker)->options;
    if (!core_foreign() || status != TRK_CORE_OK ||
        !trk_range_valid(options->policy.arena, guest_addr, 1))
        return core_status_of(status);
    struct trk_event event = {
        .domain = trk_domain(TRK_DOMAIN_REGION, 0, trk_region_index(guest_addr)),
        .type = take ? TRK_EVENT_LOCK : TRK_EVENT_UNLOCK,
    };
    if (options->observer.emit != NULL)
        options->observer.emit(options->observer.context, &event);
    return TRK_OK;
}

static enum trk_status plugin_lock(struct trk_tracker *tracker, uint64_t guest_addr)
{
    return by_hand(tracker, guest_addr, true);
}

static enum trk_status plugin_unlock(struct trk_tracker *tracker, uint64_t guest_addr)
{
    return by_hand(tracker, guest_addr, false);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static enum trk_status plugin_invalidate(struct trk_tracker *tracker, uint64_t guest_addr,
                                         uint64_t size_bytes, trk_flush_fn *flush, void *context)
{
    struct core_look look;
    core_look_begin(&look, tracker, TRK_OP_INVALIDATE, guest_addr, size_bytes);
    enum trk_core_status status =
        core_table->invalidate(core_its(tracker), guest_addr, size_bytes, flush, context);
    core_look_end(&look);
    return core_status_of(status);
}

static enum trk_fault_outcome plugin_fault(struct trk_tracker *tracker, uint64_t guest_addr,
                                           enum trk_access access)
{
    const struct core_tracker *self = core_tracker_of(tracker);
    bool ours = !core_foreign();
    for (size_t i = 0; i < self->registered_count && !ours; i++)
        ours = guest_addr - self->registered[i].guest_addr < self->registered[i].size_bytes;
    if (!ours)
        return TRK_FAULT_UNHANDLED;
    struct core_look look;
    core_look_begin(&look, tracker, TRK_OP_FAULT, guest_addr, 1);
    enum trk_core_fault outcome =
        core_table->fault(self->its, guest_addr, access == TRK_ACCESS_WRITE);
    core_look_end(&look);
    return outcome == TRK_CORE_SERVED || outcome == TRK_CORE_RETRY ? (enum trk_fault_outcome)outcome
                                                                   : TRK_FAULT_UNHANDLED;
}

static enum trk_status plugin_hle_write(struct trk_tracker *tracker,
                                        const struct trk_hle_write *write, bool *written)
{
    enum trk_status status = TRK_OK;
    if (core_table->hle_write != NULL) {
        struct core_look look;
        core_look_begin(&look, tracker, TRK_OP_HLE_WRITE, write->guest_addr, write->size_bytes);
        struct trk_core_transfer asked = {.size = sizeof asked,
                                          .guest_addr = write->guest_addr,
                                          .size_bytes = write->size_bytes,
                                          .range = write->write,
                                          .context = write->context};
        status = core_status_of(core_table->hle_write(core_its(tracker), &asked, written));
        core_look_end(&look);
        return status;
    }
    /* Whether the guest might is the caller's to know: *written says so. */
    if (!*written)
        return TRK_OK;
    status = plugin_invalidate(tracker, write->guest_addr, write->size_bytes, core_plugin_flush,
                               core_tracker_of(tracker));
    if (status == TRK_OK)
        write->write(write->context, write->guest_addr, write->size_bytes);
    return status;
}

/* ---- watches, views, generations ------------------------------------------------------------- */

static enum trk_status watch(struct trk_tracker *tracker, struct core_span span, bool add)
{
    struct core_look look;
    if (core_table->watch == NULL)
        return TRK_E_UNSUPPORTED;
    core_look_begin(&look, tracker, add ? TRK_OP_WATCH : TRK_OP_UNWATCH, span.guest_addr,
                    span.size_bytes);
    enum trk_core_status status =
        core_table->watch(core_its(tracker), span.guest_addr, span.size_bytes, add);
    core_look_end(&look);
    return core_status_of(status);
}

static enum trk_status plugin_watch(struct trk_tracker *tracker, uint64_t guest_addr,
                                    uint64_t size_bytes)
{
    return watch(tracker, (struct core_span){guest_addr, size_bytes}, true);
}

static enum trk_status plugin_unwatch(struct trk_tracker *tracker, uint64_t guest_addr,
                                      uint64_t size_bytes)
{
    return watch(tracker, (struct core_span){guest_addr, size_bytes}, false);
}

static enum trk_status mask(struct trk_tracker *tracker, uint64_t base, const uint64_t *words,
                            bool read, bool add)
{
    struct core_look look;
    if (core_table->watch_mask == NULL)
        return TRK_E_UNSUPPORTED;
    core_look_begin(&look, tracker, add ? TRK_OP_WATCH_MASK : TRK_OP_UNWATCH_MASK, base,
                    TRK_REGION_BYTES);
    enum trk_core_status status = core_table->watch_mask(core_its(tracker), base, words, read, add);
    core_look_end(&look);
    return core_status_of(status);
}

static enum trk_status plugin_watch_mask(struct trk_tracker *tracker, uint64_t base,
                                         const uint64_t *words, bool read)
{
    return mask(tracker, base, words, read, true);
}

static enum trk_status plugin_unwatch_mask(struct trk_tracker *tracker, uint64_t base,
                                           const uint64_t *words, bool read)
{
    return mask(tracker, base, words, read, false);
}

static enum trk_status plugin_join_views(struct trk_tracker *tracker, uint64_t guest_addr,
                                         uint64_t other_addr, uint64_t size_bytes)
{
    if (core_table->join_views == NULL)
        return TRK_E_UNSUPPORTED;
    return core_status_of(
        core_table->join_views(core_its(tracker), guest_addr, other_addr, size_bytes));
}

static enum trk_status plugin_gen_track(struct trk_tracker *tracker, uint64_t guest_addr,
                                        uint64_t size_bytes, uint64_t *out)
{
    struct core_look look;
    if (core_table->gen_track == NULL)
        return TRK_E_UNSUPPORTED;
    core_look_begin(&look, tracker, TRK_OP_GEN_TRACK, guest_addr, size_bytes);
    enum trk_core_status status =
        core_table->gen_track(core_its(tracker), guest_addr, size_bytes, out);
    core_look_end(&look);
    return core_status_of(status);
}

static enum trk_status plugin_gen_query(struct trk_tracker *tracker, uint64_t guest_addr,
                                        uint64_t size_bytes, uint64_t *out)
{
    if (core_table->gen_query == NULL)
        return TRK_E_UNSUPPORTED;
    return core_status_of(core_table->gen_query(core_its(tracker), guest_addr, size_bytes, out));
}

static enum trk_status plugin_gen_map(struct trk_tracker *tracker,
                                      const struct trk_generations_view *view, bool *kept)
{
    if (kept != NULL)
        *kept = false;
    if (core_table->gen_map == NULL)
        return TRK_E_UNSUPPORTED;
    return core_status_of(core_table->gen_map(core_its(tracker), view->guest_addr, view->size_bytes,
                                              view->physical_offset, view->rights));
}

/* ---- looking --------------------------------------------------------------------------------- */

static struct trk_page_view plugin_page(struct trk_tracker *tracker, uint64_t guest_addr)
{
    struct trk_core_page page = {0};
    core_page_of(core_its(tracker), guest_addr, &page);
    return (struct trk_page_view){
        .cpu_dirty = page.cpu_dirty,
        .gpu_dirty = page.gpu_dirty,
        .writable = page.cpu_dirty,
        .readable = !page.gpu_dirty,
        .registered = page.registered,
        .write_watches = (uint8_t)(page.write_watches < UINT8_MAX ? page.write_watches : UINT8_MAX),
        .read_watch = page.read_watches > 0,
        .guest_rights = (uint8_t)page.guest_rights,
        .host_rights = (uint8_t)page.host_rights,
        .armed = page.armed,
    };
}

static uint64_t plugin_live_watches(const struct trk_tracker *tracker)
{
    return core_table->live_watches != NULL ? core_table->live_watches(core_its(tracker)) : 0;
}

static bool plugin_met(const struct trk_tracker *tracker, uint64_t guest_addr)
{
    return core_table->state == NULL || core_table->state->met(core_its(tracker), guest_addr);
}

static void plugin_set_met(struct trk_tracker *tracker, uint64_t guest_addr, bool met)
{
    if (core_table->state != NULL)
        core_table->state->set_met(core_its(tracker), guest_addr, met);
}

static struct trk_thread *in_force; /* NULL: nobody's */

/* Nobody's, and that of a stream that has said nothing of itself yet, is no thread's, and not 0: it
 * goes into locks. */
static uint32_t number_of(const struct trk_thread *thread)
{
    return thread != NULL && thread->id != 0 ? thread->id : UINT32_MAX;
}

uint32_t core_plugin_self(void)
{
    return number_of(in_force);
}

static struct trk_thread *plugin_thread_swap(struct trk_thread *thread)
{
    struct trk_thread *former = in_force;
    in_force = thread;
    if (core_table->thread != NULL)
        core_table->thread(thread != NULL ? ((struct core_thread *)(void *)thread)->memory : NULL,
                           number_of(thread));
    return former;
}

const struct core_calls core_plugin_calls = {
    .create = core_plugin_create,
    .destroy = core_plugin_destroy,
    .is_cpu = plugin_is_cpu,
    .is_gpu = plugin_is_gpu,
    .mark_cpu = plugin_mark_cpu,
    .mark_gpu = plugin_mark_gpu,
    .unmark_gpu = plugin_unmark_gpu,
    .untrack = plugin_untrack,
    .upload = core_plugin_upload,
    .download = core_plugin_download,
    .drain = core_plugin_drain,
    .invalidate = plugin_invalidate,
    .register_bytes = plugin_register,
    .unregister_bytes = plugin_unregister,
    .guest_rights = plugin_guest_rights,
    .resource_layer = plugin_layer,
    .fault = plugin_fault,
    .lock = plugin_lock,
    .unlock = plugin_unlock,
    .join_views = plugin_join_views,
    .leave_view = plugin_leave_view,
    .hle_write = plugin_hle_write,
    .watch = plugin_watch,
    .unwatch = plugin_unwatch,
    .watch_mask = plugin_watch_mask,
    .unwatch_mask = plugin_unwatch_mask,
    .page = plugin_page,
    .live_watches = plugin_live_watches,
    .met = plugin_met,
    .set_met = plugin_set_met,
    .gen_track = plugin_gen_track,
    .gen_query = plugin_gen_query,
    .gen_notify = plugin_gen_notify,
    .gen_map = plugin_gen_map,
    .thread_swap = plugin_thread_swap,
};
