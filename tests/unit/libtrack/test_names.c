/*
 * Goal: statuses, events, operations and policies have the words that reports, traces and scenario
 * files use, every value has one, and values from a damaged file have a harmless one.
 * Method: full tables against the enumerations; errors filled beyond their room.
 */
#include <errno.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "track/event.h"
#include "track/policy.h"
#include "track/status.h"

Test(status, names)
{
    static const struct {
        enum trk_status status;
        const char *name;
    } cases[] = {
        {TRK_OK, "ok"},
        {TRK_E_RANGE, "range"},
        {TRK_E_REENTRY, "reentry"},
        {TRK_E_CONFLICT, "conflict"},
        {TRK_E_RETAINED, "retained"},
        {TRK_E_UNTRACK, "untrack"},
        {TRK_E_LOCK, "lock"},
        {TRK_E_WATCH, "watch"},
        {TRK_E_PROTECT, "protect"},
        {TRK_E_LIVELOCK, "livelock"},
        {TRK_E_ARGUMENT, "argument"},
        {TRK_E_MEMORY, "memory"},
        {TRK_E_SYSTEM, "system"},
        {TRK_E_UNSUPPORTED, "unsupported"},
        {TRK_E_EXISTS, "exists"},
        {TRK_E_DAMAGED, "damaged"},
        {TRK_E_INCOMPLETE, "incomplete"},
        {TRK_E_VERSION, "version"},
        {TRK_E_END, "end"},
        {(enum trk_status)10, "unknown"},
        {(enum trk_status)25, "unknown"},
        {(enum trk_status)255, "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_str_eq(trk_status_name(cases[i].status), cases[i].name);
}

Test(status, error_set)
{
    struct trk_error error;
    memset(&error, 0xaa, sizeof error);
    enum trk_status status = trk_error_set(&error, TRK_E_DAMAGED, "chunk %d of %s", 7, "a file");
    cr_assert_eq(status, TRK_E_DAMAGED);
    cr_assert_eq(error.status, TRK_E_DAMAGED);
    cr_assert_eq(error.os_errno, 0);
    cr_assert_eq(error.file_offset, TRK_NOT_KNOWN);
    cr_assert_eq(error.event_number, TRK_NOT_KNOWN);
    cr_assert_str_eq(error.text, "chunk 7 of a file");
}

Test(status, error_set_errno)
{
    struct trk_error error;
    memset(&error, 0xaa, sizeof error);
    enum trk_status status =
        trk_error_set_errno(&error, TRK_E_SYSTEM, ENOENT, "file %d\nof two", 1);
    cr_assert_eq(status, TRK_E_SYSTEM);
    cr_assert_eq(error.status, TRK_E_SYSTEM);
    cr_assert_eq(error.os_errno, ENOENT);
    cr_assert_eq(error.file_offset, TRK_NOT_KNOWN);
    cr_assert_str_eq(error.text, "file 1 of two: No such file or directory");
}

Test(status, error_set_without_a_place)
{
    cr_assert_eq(trk_error_set(NULL, TRK_E_MEMORY, "%s", "nobody listens"), TRK_E_MEMORY);
    cr_assert_eq(trk_error_set_errno(NULL, TRK_E_EXISTS, EEXIST, "%s", "nor here"), TRK_E_EXISTS);
}

Test(status, error_text_is_one_terminated_line)
{
    struct trk_error error;
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    name[3] = '\n';
    (void)trk_error_set(&error, TRK_E_SYSTEM, "%s", name);
    cr_assert_eq(strlen(error.text), sizeof error.text - 1);
    cr_assert_null(strchr(error.text, '\n'));
    (void)trk_error_set_errno(&error, TRK_E_SYSTEM, EIO, "%s", name);
    cr_assert_eq(strlen(error.text), sizeof error.text - 1);
}

Test(names, event_types)
{
    static const struct {
        uint8_t type;
        const char *name;
    } cases[] = {
        {TRK_EVENT_NONE, "none"},
        {TRK_EVENT_OP_BEGIN, "op_begin"},
        {TRK_EVENT_LOCK, "lock"},
        {TRK_EVENT_UNLOCK, "unlock"},
        {TRK_EVENT_RANGE, "range"},
        {TRK_EVENT_PROTECT, "protect"},
        {TRK_EVENT_WATCH, "watch"},
        {TRK_EVENT_CALLBACK, "callback"},
        {TRK_EVENT_OP_END, "op_end"},
        {TRK_EVENT_FAULT, "fault"},
        {TRK_EVENT_FAIL, "fail"},
        {TRK_EVENT_MASK, "mask"},
        {TRK_EVENT_OPERAND, "operand"},
        {TRK_EVENT_STATE, "state"},
        {TRK_EVENT_TRACKER, "tracker"},
        {TRK_EVENT_COPY_BEGIN, "copy_begin"},
        {TRK_EVENT_COPY_END, "copy_end"},
        {TRK_EVENT_GPU_WRITE, "gpu_write"},
        {TRK_EVENT_GPU_READ, "gpu_read"},
        {TRK_EVENT_GPU_COMPLETE, "gpu_complete"},
        {TRK_EVENT_GUEST_PROTECT, "guest_protect"},
        {TRK_EVENT_MAP, "map"},
        {TRK_EVENT_UNMAP, "unmap"},
        {TRK_EVENT_INVALIDATE_REQUEST, "invalidate_request"},
        {TRK_EVENT_FRAME, "frame"},
        {TRK_EVENT_WITNESS_STORE, "witness_store"},
        {TRK_EVENT_WITNESS_CHECK, "witness_check"},
        {TRK_EVENT_SIGNAL, "signal"},
        {TRK_EVENT_AWAIT, "await"},
        {TRK_EVENT_DROP, "drop"},
        {TRK_EVENT_MARK, "mark"},
        {TRK_EVENT_PAGE, "page"},
        {TRK_EVENT_FOREIGN, "foreign"},
        {TRK_EVENT_LOCKS, "locks"},
        {TRK_EVENT_HOST_PROTECT, "host_protect"},
        {TRK_EVENT_HANDED, "handed"},
        {TRK_EVENT_DECISION, "decision"},
        {TRK_EVENT_ACCESS, "access"},
        {TRK_EVENT_OBJECT, "object"},
        {TRK_EVENT_LABEL, "label"},
        {TRK_EVENT_IMAGE, "image"},
        {TRK_EVENT_DISPATCH, "dispatch"},
        {TRK_EVENT_FAULT_AT, "fault_at"},
        {TRK_EVENT_SHARED, "shared"},
        {TRK_EVENT_RESULT, "result"},
        {TRK_EVENT_OBJECT_DETAIL, "object_detail"},
    };
    size_t named = 0;
    for (unsigned type = 0; type < 256; type++)
        named += strcmp(trk_event_type_name((uint8_t)type), "?") != 0;
    cr_expect_eq(named, sizeof cases / sizeof cases[0], "%zu types have a name", named);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_str_eq(trk_event_type_name(cases[i].type), cases[i].name);
}

Test(names, operations)
{
    static const char *const names[TRK_OP_COUNT] = {
        "none",         "is_cpu",        "is_gpu",         "mark_cpu", "mark_gpu",   "unmark_gpu",
        "untrack",      "upload",        "download",       "drain",    "invalidate", "register",
        "unregister",   "guest_protect", "resource_layer", "watch",    "unwatch",    "watch_mask",
        "unwatch_mask", "fault",         "lock",           "unlock",   "join_views", "leave_view",
        "gen_track",    "gen_query",     "gen_notify",     "gen_map",  "hle_write",
    };
    for (uint16_t op = 0; op < TRK_OP_COUNT; op++)
        cr_expect_str_eq(trk_op_name(op), names[op]);
    cr_expect_str_eq(trk_op_name(TRK_OP_COUNT), "?");
    cr_expect_str_eq(trk_op_name(UINT16_MAX), "?");
}

Test(names, which_events_are_commands_and_end_holds)
{
    for (unsigned type = 0; type < 256; type++) {
        struct trk_event event = {.type = (uint8_t)type};
        bool command = type == TRK_EVENT_OP_BEGIN || type == TRK_EVENT_FAULT ||
                       type == TRK_EVENT_MASK || type == TRK_EVENT_OPERAND || type >= 64;
        bool ends = type == TRK_EVENT_UNLOCK || type == TRK_EVENT_WATCH;
        cr_expect_eq(trk_event_is_command(&event), command, "type %u", type);
        cr_expect_eq(trk_event_ends_hold(&event), ends, "type %u", type);
        event.flags = TRK_EVENT_HOLD_END;
        cr_expect_eq(trk_event_ends_hold(&event), ends || type == TRK_EVENT_PROTECT, "type %u",
                     type);
    }
}

Test(names, a_fault_is_in_a_hold_only_where_a_region_is_live)
{
    struct trk_event event = {.type = TRK_EVENT_FAULT, .domain = 3u << 24};
    cr_expect_not(trk_event_in_hold(&event));
    cr_expect_not(trk_event_ends_hold(&event));
    event.domain = trk_domain(TRK_DOMAIN_PAGES, 3, 7);
    cr_expect(trk_event_in_hold(&event));
    cr_expect(trk_event_ends_hold(&event));
}

Test(names, event_fields)
{
    cr_assert_eq(sizeof(struct trk_event), 24);
    struct trk_event event = {0};
    trk_event_set_size(&event, UINT64_C(0x123456789abcdef0));
    cr_expect_eq(trk_event_size(&event), UINT64_C(0x123456789abcdef0));
    trk_event_set_number32(&event, 0xcafe1234);
    cr_expect_eq(trk_event_number32(&event), 0xcafe1234);
    uint32_t domain = trk_domain(TRK_DOMAIN_PAGES, 15, TRK_REGION_COUNT - 1);
    cr_expect_eq(trk_domain_class(domain), TRK_DOMAIN_PAGES);
    cr_expect_eq(trk_domain_tracker(domain), 15);
    cr_expect_eq(trk_domain_region(domain), TRK_REGION_COUNT - 1);
}

Test(policy, presets)
{
    static const struct {
        const char *name;
        struct trk_policy policy;
    } cases[] = {
        {"default",
         {TRK_INVALIDATE_VERIFY, TRK_DOWNLOAD_PER_REGION, TRK_ARENA_LOW_EXTENDED, 1, 4096, false}},
        {"strict",
         {TRK_INVALIDATE_STRICT, TRK_DOWNLOAD_PER_REGION, TRK_ARENA_LOW_EXTENDED, 1, 4096, false}},
        {"kyty-2026-08",
         {TRK_INVALIDATE_PER_REGION, TRK_DOWNLOAD_ALL_REGIONS, TRK_ARENA_LOW, 8, 4096, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_policy policy;
        memset(&policy, 0xff, sizeof policy);
        cr_assert_eq(trk_policy_preset(cases[i].name, &policy), TRK_OK, "%s", cases[i].name);
        cr_expect_eq(policy.invalidate, cases[i].policy.invalidate, "%s", cases[i].name);
        cr_expect_eq(policy.download, cases[i].policy.download, "%s", cases[i].name);
        cr_expect_eq(policy.arena, cases[i].policy.arena, "%s", cases[i].name);
        cr_expect_eq(policy.fault_width_bytes, cases[i].policy.fault_width_bytes);
        cr_expect_eq(policy.page_size_bytes, cases[i].policy.page_size_bytes);
        cr_expect_eq(policy.generations, cases[i].policy.generations);
        cr_expect_eq(trk_policy_check(&policy), TRK_OK);
    }
    struct trk_policy untouched = {.fault_width_bytes = 99};
    static const char *const refused[] = {"", "Default", "default ", "kyty", "verify"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        cr_expect_eq(trk_policy_preset(refused[i], &untouched), TRK_E_ARGUMENT, "%s", refused[i]);
    cr_expect_eq(untouched.fault_width_bytes, 99);
}

Test(policy, check_refuses)
{
    struct trk_policy good;
    cr_assert_eq(trk_policy_preset("default", &good), TRK_OK);
    static const uint32_t widths[] = {0, 2, 4, 7, 9, 16, UINT32_MAX};
    static const uint32_t pages[] = {0, 1, 2048, 4095, 8192, 32768, 131072, UINT32_MAX};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct trk_policy bad = good;
        bad.fault_width_bytes = widths[i];
        cr_expect_eq(trk_policy_check(&bad), TRK_E_ARGUMENT, "width %u", widths[i]);
    }
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct trk_policy bad = good;
        bad.page_size_bytes = pages[i];
        cr_expect_eq(trk_policy_check(&bad), TRK_E_ARGUMENT, "page size %u", pages[i]);
    }
    struct trk_policy bad = good;
    bad.invalidate = (enum trk_invalidate_policy)3;
    cr_expect_eq(trk_policy_check(&bad), TRK_E_ARGUMENT);
    bad = good;
    bad.download = (enum trk_download_policy)2;
    cr_expect_eq(trk_policy_check(&bad), TRK_E_ARGUMENT);
    bad = good;
    bad.arena = (enum trk_arena)2;
    cr_expect_eq(trk_policy_check(&bad), TRK_E_ARGUMENT);
}

/* Every legal policy by number: 3 x 2 x 2 x 2 x 3 x 2. */
static struct trk_policy policy_number(unsigned n)
{
    static const uint32_t pages[] = {4096, 16384, 65536};
    return (struct trk_policy){
        .invalidate = (enum trk_invalidate_policy)(n % 3),
        .download = (enum trk_download_policy)(n / 3 % 2),
        .arena = (enum trk_arena)(n / 6 % 2),
        .fault_width_bytes = n / 12 % 2 ? 8 : 1,
        .page_size_bytes = pages[n / 24 % 3],
        .generations = n / 72 % 2,
    };
}

Test(policy, pack_round_trip)
{
    uint64_t words[144];
    for (unsigned n = 0; n < 144; n++) {
        struct trk_policy policy = policy_number(n), again;
        memset(&again, 0, sizeof again);
        words[n] = trk_policy_pack(&policy);
        cr_assert_eq(trk_policy_unpack(words[n], &again), TRK_OK);
        cr_expect_eq(trk_policy_pack(&again), words[n], "policy %u", n);
        cr_expect_eq(again.generations, n >= 72, "policy %u", n);
        for (unsigned m = 0; m < n; m++)
            cr_expect_neq(words[m], words[n], "policies %u and %u share a word", m, n);
    }
}

Test(policy, unpack_refuses_what_pack_never_makes)
{
    struct trk_policy out = {.fault_width_bytes = 99};
    cr_expect_eq(trk_policy_unpack(0, &out), TRK_E_ARGUMENT);
    cr_expect_eq(trk_policy_unpack(UINT64_MAX, &out), TRK_E_ARGUMENT);
    cr_expect_eq(out.fault_width_bytes, 99);
    for (unsigned n = 0; n < 144; n++) {
        struct trk_policy policy = policy_number(n);
        uint64_t word = trk_policy_pack(&policy);
        for (unsigned bit = 0; bit < 64; bit++) {
            uint64_t other = word ^ UINT64_C(1) << bit;
            if (trk_policy_unpack(other, &out) == TRK_OK)
                cr_expect_eq(trk_policy_pack(&out), other, "policy %u, bit %u", n, bit);
        }
    }
}

Test(policy, value_names)
{
    cr_expect_str_eq(trk_invalidate_policy_name(TRK_INVALIDATE_VERIFY), "verify");
    cr_expect_str_eq(trk_invalidate_policy_name(TRK_INVALIDATE_STRICT), "strict");
    cr_expect_str_eq(trk_invalidate_policy_name(TRK_INVALIDATE_PER_REGION), "per-region");
    cr_expect_str_eq(trk_download_policy_name(TRK_DOWNLOAD_PER_REGION), "per-region");
    cr_expect_str_eq(trk_download_policy_name(TRK_DOWNLOAD_ALL_REGIONS), "all-regions");
    cr_expect_str_eq(trk_arena_name(TRK_ARENA_LOW_EXTENDED), "low+extended");
    cr_expect_str_eq(trk_arena_name(TRK_ARENA_LOW), "low");
    cr_expect_str_eq(trk_arena_name((enum trk_arena)9), "?");
}
