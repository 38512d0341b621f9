/*
 * A plug-in as a core: its trackers' lives, and what they call.
 */
#include "core_plugin.h"
#include "simulator/core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)TRK_CORE_RANGE == TRK_E_RANGE && (int)TRK_CORE_REENTRY == TRK_E_REENTRY &&
                   (int)TRK_CORE_CONFLICT == TRK_E_CONFLICT &&
                   (int)TRK_CORE_RETAINED == TRK_E_RETAINED &&
                   (int)TRK_CORE_UNTRACK == TRK_E_UNTRACK && (int)TRK_CORE_LOCK == TRK_E_LOCK &&
                   (int)TRK_CORE_WATCH == TRK_E_WATCH && (int)TRK_CORE_PROTECT == TRK_E_PROTECT &&
                   (int)TRK_CORE_LIVELOCK == TRK_E_LIVELOCK &&
                   (int)TRK_CORE_ARGUMENT == TRK_E_ARGUMENT &&
                   (int)TRK_CORE_MEMORY == TRK_E_MEMORY &&
                   (int)TRK_CORE_UNSUPPORTED == TRK_E_UNSUPPORTED,
               "the plug-in's statuses are ours");
_Static_assert((int)TRK_CORE_READ == TRK_RIGHT_READ && (int)TRK_CORE_WRITE == TRK_RIGHT_WRITE &&
                   (int)TRK_CORE_EXECUTE == TRK_RIGHT_EXEC,
               "the plug-in's rights are ours");
_Static_assert((int)TRK_CORE_UNHANDLED == TRK_FAULT_UNHANDLED &&
                   (int)TRK_CORE_SERVED == TRK_FAULT_SERVED &&
                   (int)TRK_CORE_RETRY == TRK_FAULT_RETRY,
               "the plug-in's outcomes of faults are ours");

const struct trk_core_table *core_table;

/* ---- how far it has come --------------------------------------------------------------------- */

static uint64_t *progress; /* NULL: nobody asks */

void trk_core_count_into(uint64_t *where)
{
    progress = where;
}

void core_progress(void)
{
    if (progress != NULL)
        __atomic_store_n(progress, *progress + 1, __ATOMIC_RELAXED);
}

/* ---- what is wrong with it ------------------------------------------------------------------- */

static char complaint[160];
static bool misused;

void core_complain(const char *format, ...)
{
    va_list arguments;
    if (complaint[0] != '\0') /* the first is the cause */
        return;
    va_start(arguments, format);
    vsnprintf(complaint, sizeof complaint, format, arguments);
    va_end(arguments);
}

void core_misuse(const char *format, ...)
{
    va_list arguments;
    if (misused)
        return;
    misused = true;
    va_start(arguments, format);
    vsnprintf(complaint, sizeof complaint, format, arguments);
    va_end(arguments);
}

void core_pardon(void)
{
    if (!misused)
        complaint[0] = '\0';
}

bool trk_core_misused(void)
{
    return misused;
}

const char *trk_core_complaint(void)
{
    return complaint[0] != '\0' ? complaint : NULL;
}

static enum trk_status known_status(enum trk_core_status status)
{
    bool known = (status >= TRK_CORE_OK && status <= TRK_CORE_LIVELOCK) ||
                 status == TRK_CORE_ARGUMENT || status == TRK_CORE_MEMORY;
    return known ? (enum trk_status)status : TRK_E_UNSUPPORTED;
}

enum trk_status core_status_of(enum trk_core_status status)
{
    enum trk_status ours = known_status(status);
    if (ours == TRK_E_UNSUPPORTED && status != TRK_CORE_UNSUPPORTED)
        core_complain("an operation gave %u, which is no status", (unsigned)status);
    else if (ours >= TRK_E_ARGUMENT)
        core_complain("an operation gave the status \"%s\"", trk_status_name(ours));
    return ours;
}

/* ---- what the tracker calls ------------------------------------------------------------------ */

static int owner_protect(void *context, uint64_t guest_addr, uint64_t size_bytes, uint32_t rights)
{
    struct core_tracker *tracker = context;
    struct trk_backend *backend = tracker->options.backend;
    if (core_page_calls("changes what the host lets through"))
        return 0;
    core_locks_protect(guest_addr);
    int error = backend->protect(backend, guest_addr, size_bytes, rights);
    if (error == 0 && core_foreign())
        core_look_told(tracker, guest_addr, size_bytes, rights);
    return error;
}

static void owner_fail(void *context, uint32_t status, uint64_t guest_addr, const char *text)
{
    const struct core_tracker *tracker = context;
    if (core_page_calls("refuses"))
        return;
    if (status == TRK_CORE_OK || status >= TRK_CORE_ARGUMENT ||
        known_status((enum trk_core_status)status) == TRK_E_UNSUPPORTED)
        core_misuse("fail() was called with %" PRIu32 ", which is no refusal", status);
    struct trk_failure failure = {.failure_class = known_status((enum trk_core_status)status),
                                  .guest_addr = guest_addr};
    if (text != NULL)
        strncpy(failure.text, text, sizeof failure.text - 1);
    tracker->options.failure(tracker->options.failure_context, &failure);
}

void core_plugin_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const struct trk_resource_layer *layer = &((struct core_tracker *)context)->layer;
    if (core_page_calls("has bytes flushed"))
        return;
    if (layer->flush != NULL)
        layer->flush(layer->context, guest_addr, size_bytes);
}

static void owner_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const struct trk_resource_layer *layer = &((struct core_tracker *)context)->layer;
    if (core_page_calls("has bytes read back"))
        return;
    if (layer->read_back != NULL)
        layer->read_back(layer->context, guest_addr, size_bytes);
}

static void owner_event(void *context, const struct trk_event *event)
{
    const struct core_tracker *tracker = context;
    if (tracker->options.observer.emit != NULL)
        tracker->options.observer.emit(tracker->options.observer.context, event);
}

static void owner_wait(void *context, uint32_t domain)
{
    const struct core_tracker *tracker = context;
    if (tracker->options.observer.wait != NULL)
        tracker->options.observer.wait(tracker->options.observer.context, domain);
}

/* ---- life ------------------------------------------------------------------------------------ */

static enum trk_status start(struct core_tracker *tracker)
{
    const struct trk_policy *policy = &tracker->options.policy;
    struct trk_core_policy asked = {
        .size = sizeof asked,
        .invalidate = policy->invalidate,
        .download = policy->download,
        .arena = policy->arena,
        .fault_width_bytes = policy->fault_width_bytes,
        .page_size_bytes = policy->page_size_bytes,
        .generations = policy->generations,
    };
    tracker->its = NULL;
    core_locks_forget();
    core_look_anew(tracker);
    enum trk_status status =
        core_status_of(core_table->create(&tracker->its, &asked, &tracker->owner));
    if (status == TRK_OK && tracker->its == NULL) {
        core_complain("create gave no tracker, and no refusal");
        status = TRK_E_MEMORY;
    }
    return status;
}

enum trk_status core_plugin_create(struct trk_tracker **out,
                                   const struct trk_tracker_options *options,
                                   struct trk_error *error)
{
    struct core_tracker *tracker = calloc(1, sizeof *tracker);
    if (tracker == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a tracker");
    tracker->options = *options;
    tracker->owner = (struct trk_core_owner){
        .size = sizeof tracker->owner,
        .context = tracker,
        .protect = owner_protect,
        .fail = owner_fail,
        .flush = core_plugin_flush,
        .read_back = owner_read_back,
        .event = owner_event,
        .wait = owner_wait,
        .number = options->id,
        .counts_faults = options->observer.wait == NULL,
        .separate_runs = options->backend->separate_runs,
        .mappings = options->backend->mappings,
    };
    enum trk_status status = start(tracker);
    if (status != TRK_OK) {
        free(tracker);
        return trk_error_set(error, status, "the plug-in made no tracker");
    }
    *out = (struct trk_tracker *)(void *)tracker;
    return TRK_OK;
}

void core_plugin_destroy(struct trk_tracker *tracker)
{
    struct core_tracker *self = core_tracker_of(tracker);
    if (self == NULL)
        return;
    if (self->its != NULL)
        core_table->destroy(self->its);
    free(self->registered);
    free(self);
}

void core_plugin_abandon(struct trk_tracker *tracker)
{
    core_tracker_of(tracker)->its = NULL;
}

enum trk_status core_plugin_renew(struct trk_tracker *tracker)
{
    struct core_tracker *self = core_tracker_of(tracker);
    if (self->its != NULL)
        core_table->destroy(self->its);
    self->registered_count = 0;
    return start(self);
}
