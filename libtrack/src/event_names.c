/*
 * The words for event types and operations, as dumps and reports show them.
 */
#include "track/event.h"

#include <stddef.h>

static const char *const type_names[] = {
    [TRK_EVENT_NONE] = "none",
    [TRK_EVENT_OP_BEGIN] = "op_begin",
    [TRK_EVENT_LOCK] = "lock",
    [TRK_EVENT_UNLOCK] = "unlock",
    [TRK_EVENT_RANGE] = "range",
    [TRK_EVENT_PROTECT] = "protect",
    [TRK_EVENT_WATCH] = "watch",
    [TRK_EVENT_CALLBACK] = "callback",
    [TRK_EVENT_OP_END] = "op_end",
    [TRK_EVENT_FAULT] = "fault",
    [TRK_EVENT_FAIL] = "fail",
    [TRK_EVENT_MASK] = "mask",
    [TRK_EVENT_OPERAND] = "operand",
    [TRK_EVENT_STATE] = "state",
    [TRK_EVENT_TRACKER] = "tracker",
    [TRK_EVENT_COPY_BEGIN] = "copy_begin",
    [TRK_EVENT_COPY_END] = "copy_end",
    [TRK_EVENT_GPU_WRITE] = "gpu_write",
    [TRK_EVENT_GPU_READ] = "gpu_read",
    [TRK_EVENT_GPU_COMPLETE] = "gpu_complete",
    [TRK_EVENT_GUEST_PROTECT] = "guest_protect",
    [TRK_EVENT_MAP] = "map",
    [TRK_EVENT_UNMAP] = "unmap",
    [TRK_EVENT_INVALIDATE_REQUEST] = "invalidate_request",
    [TRK_EVENT_FRAME] = "frame",
    [TRK_EVENT_WITNESS_STORE] = "witness_store",
    [TRK_EVENT_WITNESS_CHECK] = "witness_check",
    [TRK_EVENT_SIGNAL] = "signal",
    [TRK_EVENT_AWAIT] = "await",
    [TRK_EVENT_DROP] = "drop",
    [TRK_EVENT_MARK] = "mark",
    [TRK_EVENT_PAGE] = "page",
    [TRK_EVENT_FOREIGN] = "foreign",
    [TRK_EVENT_LOCKS] = "locks",
    [TRK_EVENT_HOST_PROTECT] = "host_protect",
    [TRK_EVENT_HANDED] = "handed",
    [TRK_EVENT_DECISION] = "decision",
    [TRK_EVENT_ACCESS] = "access",
    [TRK_EVENT_OBJECT] = "object",
    [TRK_EVENT_LABEL] = "label",
    [TRK_EVENT_IMAGE] = "image",
    [TRK_EVENT_DISPATCH] = "dispatch",
    [TRK_EVENT_FAULT_AT] = "fault_at",
    [TRK_EVENT_SHARED] = "shared",
    [TRK_EVENT_RESULT] = "result",
    [TRK_EVENT_OBJECT_DETAIL] = "object_detail",
};

static const char *const op_names[TRK_OP_COUNT] = {
    [TRK_OP_NONE] = "none",
    [TRK_OP_IS_CPU] = "is_cpu",
    [TRK_OP_IS_GPU] = "is_gpu",
    [TRK_OP_MARK_CPU] = "mark_cpu",
    [TRK_OP_MARK_GPU] = "mark_gpu",
    [TRK_OP_UNMARK_GPU] = "unmark_gpu",
    [TRK_OP_UNTRACK] = "untrack",
    [TRK_OP_UPLOAD] = "upload",
    [TRK_OP_DOWNLOAD] = "download",
    [TRK_OP_DRAIN] = "drain",
    [TRK_OP_INVALIDATE] = "invalidate",
    [TRK_OP_REGISTER] = "register",
    [TRK_OP_UNREGISTER] = "unregister",
    [TRK_OP_GUEST_PROTECT] = "guest_protect",
    [TRK_OP_RESOURCE_LAYER] = "resource_layer",
    [TRK_OP_WATCH] = "watch",
    [TRK_OP_UNWATCH] = "unwatch",
    [TRK_OP_WATCH_MASK] = "watch_mask",
    [TRK_OP_UNWATCH_MASK] = "unwatch_mask",
    [TRK_OP_FAULT] = "fault",
    [TRK_OP_LOCK] = "lock",
    [TRK_OP_UNLOCK] = "unlock",
    [TRK_OP_JOIN_VIEWS] = "join_views",
    [TRK_OP_LEAVE_VIEW] = "leave_view",
    [TRK_OP_GEN_TRACK] = "gen_track",
    [TRK_OP_GEN_QUERY] = "gen_query",
    [TRK_OP_GEN_NOTIFY] = "gen_notify",
    [TRK_OP_GEN_MAP] = "gen_map",
    [TRK_OP_HLE_WRITE] = "hle_write",
};

const char *trk_event_type_name(uint8_t type)
{
    if (type >= sizeof type_names / sizeof type_names[0] || type_names[type] == NULL)
        return "?";
    return type_names[type];
}

const char *trk_op_name(uint16_t op)
{
    return op < TRK_OP_COUNT ? op_names[op] : "?";
}
