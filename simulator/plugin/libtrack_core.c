/*
 * Libtrack as a plug-in: the simulated build of the core behind the table that any tracker gives.
 *
 * It is what `trk sim` has inside, in a file of its own: the same verdicts, the same reports. So it
 * shows that the table says enough, and is the pattern for others. Compiled under the names of the
 * simulated build (core_names.sh).
 */
#include <stdlib.h>

#include "libtrack_core.h"
#include "track/generations.h"
#include "track/hle.h"
#include "track/sim_build.h"
#include "track/thread.h"

static const struct trk_core_host *host;

/* ---- hooks of the simulated build ------------------------------------------------------------ */

void trk_hook_lock(const uint32_t *word)
{
    host->lock(word);
}

void trk_hook_unlock(const uint32_t *word)
{
    host->unlock(word);
}

void trk_hook_word(const void *word, enum trk_sim_word access)
{
    host->word(word, access);
}

void trk_hook_pages(const struct region *region, bool change)
{
    host->pages(region, change);
}

/* ---- a tracker ------------------------------------------------------------------------------- */

static int backend_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                           unsigned rights)
{
    const struct trk_core_owner *owner = ((struct core *)(void *)backend)->owner;
    return owner->protect(owner->context, guest_addr, size_bytes, rights);
}

static void observe(void *context, const struct trk_event *event)
{
    const struct trk_core_owner *owner = ((struct core *)context)->owner;
    owner->event(owner->context, event);
}

static void wait_for(void *context, uint32_t domain)
{
    const struct trk_core_owner *owner = ((struct core *)context)->owner;
    owner->wait(owner->context, domain);
}

static void fail(void *context, const struct trk_failure *failure)
{
    const struct trk_core_owner *owner = ((struct core *)context)->owner;
    owner->fail(owner->context, failure->failure_class, failure->guest_addr, failure->text);
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const struct trk_core_owner *owner = ((struct core *)context)->owner;
    owner->flush(owner->context, guest_addr, size_bytes);
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const struct trk_core_owner *owner = ((struct core *)context)->owner;
    owner->read_back(owner->context, guest_addr, size_bytes);
}

static enum trk_core_status status_of(enum trk_status status)
{
    return (enum trk_core_status)status;
}

static enum trk_core_status core_create(void **out, const struct trk_core_policy *policy,
                                        const struct trk_core_owner *owner)
{
    struct core *core = calloc(1, sizeof *core);
    if (core == NULL)
        return TRK_CORE_MEMORY;
    core->owner = owner;
    core->backend = (struct trk_backend){
        .kind = TRK_BACKEND_SIMULATED,
        .name = "plug-in",
        .protect = backend_protect,
        .separate_runs = owner->separate_runs,
        .mappings = owner->mappings,
    };
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = (struct trk_policy){
        .invalidate = (enum trk_invalidate_policy)policy->invalidate,
        .download = (enum trk_download_policy)policy->download,
        .arena = (enum trk_arena)policy->arena,
        .fault_width_bytes = policy->fault_width_bytes,
        .page_size_bytes = policy->page_size_bytes,
        .generations = policy->generations != 0,
    };
    options.backend = &core->backend;
    options.observer = (struct trk_observer){observe, wait_for, core};
    options.failure = fail;
    options.failure_context = core;
    options.id = owner->number;
    enum trk_status status = trk_tracker_create(&core->tracker, &options, NULL);
    if (status != TRK_OK) {
        free(core);
        return status_of(status);
    }
    *out = core;
    return TRK_CORE_OK;
}

static void core_destroy(void *core)
{
    trk_tracker_destroy(its(core));
    free(core);
}

static void core_page(void *core, uint64_t guest_addr, struct trk_core_page *out)
{
    struct trk_page_view view = trk_pages_view(its(core), guest_addr);
    *out = (struct trk_core_page){
        .cpu_dirty = view.cpu_dirty,
        .gpu_dirty = view.gpu_dirty,
        .registered = view.registered,
        .armed = view.armed,
        .write_watches = view.write_watches,
        .read_watches = view.read_watch,
        .guest_rights = view.guest_rights,
        .host_rights = view.host_rights,
    };
}

static enum trk_core_fault core_fault(void *core, uint64_t guest_addr, bool store)
{
    enum trk_fault_outcome outcome =
        trk_tracker_fault(its(core), guest_addr, store ? TRK_ACCESS_WRITE : TRK_ACCESS_READ);
    if (((struct core *)core)->owner->counts_faults) {
        struct trk_thread *thread = trk_thread_current();
        thread->fault_tracker = thread->fault_page = 0;
        thread->fault_access = thread->fault_repeats = thread->fault_changes = 0;
    }
    return (enum trk_core_fault)outcome;
}

static void core_layer(void *core, bool flushes, bool reads_back)
{
    struct trk_resource_layer layer = {flushes ? flush : NULL, reads_back ? read_back : NULL, core};
    /* It refuses nothing that the owner could do something about. */
    if (trk_tracker_set_resource_layer(its(core), flushes || reads_back ? &layer : NULL) != TRK_OK)
        abort();
}

static void core_thread(void *memory, uint32_t number)
{
    _Static_assert(sizeof(struct trk_thread) <= TRK_CORE_THREAD_BYTES, "it has room");
    struct trk_thread *thread = memory;
    if (thread != NULL)
        thread->id = number;
    (void)trk_thread_swap(thread);
}

/* ---- operations ------------------------------------------------------------------------------ */

#define ON_RANGE(name, function)                                                                   \
    static enum trk_core_status name(void *core, uint64_t guest_addr, uint64_t size_bytes)         \
    {                                                                                              \
        return status_of(function(its(core), guest_addr, size_bytes));                             \
    }

ON_RANGE(core_mark_cpu, trk_tracker_mark_cpu)
ON_RANGE(core_mark_gpu, trk_tracker_mark_gpu)
ON_RANGE(core_unmark_gpu, trk_tracker_unmark_gpu)
ON_RANGE(core_untrack, trk_tracker_untrack)
ON_RANGE(core_register, trk_tracker_register)
ON_RANGE(core_unregister, trk_tracker_unregister)
ON_RANGE(core_leave_view, trk_tracker_leave_view)
ON_RANGE(core_gen_notify, trk_generations_notify)
#undef ON_RANGE

static enum trk_core_status core_is_cpu(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                        bool *out)
{
    return status_of(trk_tracker_is_cpu(its(core), guest_addr, size_bytes, out));
}

static enum trk_core_status core_is_gpu(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                        bool *out)
{
    return status_of(trk_tracker_is_gpu(its(core), guest_addr, size_bytes, out));
}

static struct trk_transfer transfer_of(const struct trk_core_transfer *asked)
{
    return (struct trk_transfer){
        .size = sizeof(struct trk_transfer),
        .guest_addr = asked->guest_addr,
        .size_bytes = asked->size_bytes,
        .written = asked->written,
        .clear = asked->clear,
        .range = asked->range,
        .completion = asked->done,
        .context = asked->context,
    };
}

static enum trk_core_status core_upload(void *core, const struct trk_core_transfer *asked)
{
    struct trk_transfer upload = transfer_of(asked);
    return status_of(trk_tracker_upload(its(core), &upload));
}

static enum trk_core_status core_download(void *core, const struct trk_core_transfer *asked)
{
    struct trk_transfer download = transfer_of(asked);
    return status_of(trk_tracker_download(its(core), &download));
}

static enum trk_core_status core_drain(void *core, const struct trk_core_transfer *asked)
{
    struct trk_transfer drain = transfer_of(asked);
    return status_of(trk_tracker_drain(its(core), &drain));
}

static enum trk_core_status core_invalidate(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                            trk_core_range_fn *flushing, void *context)
{
    return status_of(trk_tracker_invalidate(its(core), guest_addr, size_bytes, flushing, context));
}

static enum trk_core_status core_guest_rights(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                              uint32_t rights)
{
    return status_of(trk_tracker_set_guest_protection(its(core), guest_addr, size_bytes, rights));
}

static enum trk_core_status core_lock(void *core, uint64_t guest_addr)
{
    return status_of(trk_tracker_lock(its(core), guest_addr));
}

static enum trk_core_status core_unlock(void *core, uint64_t guest_addr)
{
    return status_of(trk_tracker_unlock(its(core), guest_addr));
}

static enum trk_core_status core_watch(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                       bool add)
{
    return status_of(add ? trk_pages_watch(its(core), guest_addr, size_bytes)
                         : trk_pages_unwatch(its(core), guest_addr, size_bytes));
}

static enum trk_core_status core_watch_mask(void *core, uint64_t base, const uint64_t mask[16],
                                            bool read, bool add)
{
    return status_of(add ? trk_pages_watch_mask(its(core), base, mask, read)
                         : trk_pages_unwatch_mask(its(core), base, mask, read));
}

static enum trk_core_status core_join_views(void *core, uint64_t guest_addr, uint64_t other_addr,
                                            uint64_t size_bytes)
{
    return status_of(trk_tracker_join_views(its(core), guest_addr, other_addr, size_bytes));
}

static enum trk_core_status core_hle_write(void *core, const struct trk_core_transfer *write,
                                           bool *written)
{
    struct trk_hle_write asked = {sizeof asked, write->guest_addr, write->size_bytes, write->range,
                                  write->context};
    return status_of(trk_tracker_hle_write(its(core), &asked, written));
}

static enum trk_core_status core_gen_track(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                           uint64_t *out)
{
    return status_of(trk_generations_track(its(core), guest_addr, size_bytes, out));
}

static enum trk_core_status core_gen_query(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                           uint64_t *out)
{
    return status_of(trk_generations_query(its(core), guest_addr, size_bytes, out));
}

static enum trk_core_status core_gen_map(void *core, uint64_t guest_addr, uint64_t size_bytes,
                                         uint64_t physical_offset, uint32_t rights)
{
    struct trk_generations_view view = {guest_addr, size_bytes, physical_offset, rights};
    return status_of(trk_generations_map(its(core), &view, NULL));
}

static uint64_t core_live_watches(void *core)
{
    return trk_pages_live_watches(its(core));
}

static const struct trk_core_table plugin = {
    .size = sizeof plugin,
    .abi = TRK_CORE_ABI,
    .features = TRK_CORE_LOCKS | TRK_CORE_EVENTS,
    .name = "libtrack",
    .build = TRK_CORE_HASH,
    .create = core_create,
    .destroy = core_destroy,
    .page = core_page,
    .fault = core_fault,
    .upload = core_upload,
    .download = core_download,
    .invalidate = core_invalidate,
    .drain = core_drain,
    .is_cpu = core_is_cpu,
    .is_gpu = core_is_gpu,
    .mark_cpu = core_mark_cpu,
    .mark_gpu = core_mark_gpu,
    .unmark_gpu = core_unmark_gpu,
    .untrack = core_untrack,
    .register_bytes = core_register,
    .unregister_bytes = core_unregister,
    .guest_rights = core_guest_rights,
    .lock = core_lock,
    .unlock = core_unlock,
    .watch = core_watch,
    .watch_mask = core_watch_mask,
    .join_views = core_join_views,
    .leave_view = core_leave_view,
    .hle_write = core_hle_write,
    .gen_track = core_gen_track,
    .gen_query = core_gen_query,
    .gen_notify = core_gen_notify,
    .gen_map = core_gen_map,
    .layer = core_layer,
    .live_watches = core_live_watches,
    .thread = core_thread,
    .state = &libtrack_core_state,
};

const struct trk_core_table *trk_core_plugin(const struct trk_core_host *its_host)
{
    if (its_host->abi != TRK_CORE_ABI)
        return NULL;
    host = its_host;
    return &plugin;
}
