/* The calls of libtrack as a table's fields: used twice, under the names of both builds of it. */
#ifndef SIMULATOR_CORE_OWN_H
#define SIMULATOR_CORE_OWN_H

#include "core.h"

/* clang-format off */
#define CORE_OWN_CALLS \
    .create = trk_tracker_create, \
    .destroy = trk_tracker_destroy, \
    .is_cpu = trk_tracker_is_cpu, \
    .is_gpu = trk_tracker_is_gpu, \
    .mark_cpu = trk_tracker_mark_cpu, \
    .mark_gpu = trk_tracker_mark_gpu, \
    .unmark_gpu = trk_tracker_unmark_gpu, \
    .untrack = trk_tracker_untrack, \
    .upload = trk_tracker_upload, \
    .download = trk_tracker_download, \
    .drain = trk_tracker_drain, \
    .invalidate = trk_tracker_invalidate, \
    .register_bytes = trk_tracker_register, \
    .unregister_bytes = trk_tracker_unregister, \
    .guest_rights = trk_tracker_set_guest_protection, \
    .resource_layer = trk_tracker_set_resource_layer, \
    .fault = trk_tracker_fault, \
    .lock = trk_tracker_lock, \
    .unlock = trk_tracker_unlock, \
    .join_views = trk_tracker_join_views, \
    .leave_view = trk_tracker_leave_view, \
    .hle_write = trk_tracker_hle_write, \
    .watch = trk_pages_watch, \
    .unwatch = trk_pages_unwatch, \
    .watch_mask = trk_pages_watch_mask, \
    .unwatch_mask = trk_pages_unwatch_mask, \
    .page = trk_pages_view, \
    .live_watches = trk_pages_live_watches, \
    .met = trk_pages_met, \
    .set_met = trk_pages_set_met, \
    .gen_track = trk_generations_track, \
    .gen_query = trk_generations_query, \
    .gen_notify = trk_generations_notify, \
    .gen_map = trk_generations_map, \
    .thread_swap = trk_thread_swap,
/* clang-format on */

#endif
