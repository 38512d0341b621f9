/*
 * Goal: what a foreign tracker notes stands in its ring as the vocabulary says, and holds are
 * counted by the recorder or by the caller. Method: a session in this process, the calls of
 * foreign.h, the records of the own ring.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture_support.h"
#include "recorder/foreign.h"

static struct trk_record_session session;

/* What the own ring got since the last look. */
static size_t records_of(struct trk_record *out, size_t capacity)
{
    uint32_t own = capture_support_ring_of(&session, (uint32_t)syscall(SYS_gettid));
    return own == session.ring_count ? 0 : capture_support_take(&session, own, out, capacity);
}

static struct trk_capture_foreign declared(uint32_t locks)
{
    struct trk_capture_foreign foreign = trk_capture_foreign_default();
    foreign.id = 5;
    foreign.page_size_bytes = 16384;
    foreign.locks = (struct trk_capture_locks){TRK_LOCK_PAGE, locks, 0x200000000, 16384};
    return foreign;
}

#define RECORDS_MAX 32u

/* That the ring got just these since the last look. */
static void expect_records(const struct trk_event *expected, size_t count)
{
    struct trk_record records[RECORDS_MAX];
    cr_assert_eq(records_of(records, RECORDS_MAX), count);
    for (size_t i = 0; i < count; ++i)
        cr_expect_eq(memcmp(&records[i].event, &expected[i], sizeof expected[i]), 0, "event %zu",
                     i);
}

Test(capture_foreign, lays_notes_out_as_the_vocabulary_says)
{
    capture_support_join(&session, 1024);
    struct trk_capture_foreign foreign = declared(0);
    cr_assert_eq(trk_capture_foreign_declare(&foreign, NULL), TRK_OK);
    const struct trk_capture_op op = {
        TRK_OP_DOWNLOAD, 5, 0x200000004, UINT64_C(0x100000002), TRK_OP_FLAG_CLEAR, TRK_ORIGIN_GPU};
    trk_capture_op_begin(&op);
    trk_capture_handed(5, 0x200004000, 0x8000);
    trk_capture_callback(TRK_CALLBACK_FLUSH);
    trk_capture_op_end(TRK_OP_DOWNLOAD, TRK_E_CONFLICT, 7);
    trk_capture_fault_begin(5, 0x200000001, TRK_ACCESS_WRITE);
    trk_capture_decision(5, 0x200000001, TRK_DECISION_FLUSH);
    trk_capture_fault_end(TRK_FAULT_SERVED);
    trk_capture_failure(TRK_E_RETAINED, TRK_OP_INVALIDATE, 0x200000000, 16);
    trk_capture_host_protect(5, 0x200000000, 0x4000, TRK_RIGHT_READ, 12);
    trk_capture_host_protect(5, 0x200000000, 0x4000, TRK_RIGHTS_RW, 0);
    trk_capture_lock_counted(5, 3, 9);
    trk_capture_unlock(5, 3, 9);
    trk_capture_unlock(5, 3, 0);
    trk_capture_access(TRK_AGENT_KERNEL, TRK_ACCESS_WRITE, 0x200000000, UINT64_C(1) << 32);
    trk_capture_object(TRK_OBJECT_DESTROYED, 2, 0x200000000, 64);
    const struct trk_capture_image image = {0x200004000, UINT64_C(1) << 33, UINT16_MAX, 2, 16, 9};
    trk_capture_copy_image(&image);
    trk_capture_dispatch(UINT32_MAX, 0x10002, 7);
    const uint32_t domain = trk_domain(TRK_DOMAIN_OWNER, 5, 3);
    const struct trk_event expected[] = {
        {0, 16384, 0, 5, 0, TRK_EVENT_FOREIGN,
         TRK_NOTES_LOCKS | TRK_NOTES_PROTECTION | TRK_NOTES_HANDED, TRK_BACKEND_MPROTECT},
        {0x200000000, 16384, 0, 5, 0, TRK_EVENT_LOCKS, 0, TRK_LOCK_PAGE},
        {0x200000004, 2, 1, 5, TRK_ORIGIN_GPU, TRK_EVENT_OP_BEGIN, TRK_OP_FLAG_CLEAR,
         TRK_OP_DOWNLOAD},
        {0x200004000, 0x8000, 0, 5, 0, TRK_EVENT_HANDED, 0, 0},
        {0, 0, 0, 0, 0, TRK_EVENT_CALLBACK, 0, TRK_CALLBACK_FLUSH},
        {7, 0, 0, 0, 0, TRK_EVENT_OP_END, TRK_E_CONFLICT, TRK_OP_DOWNLOAD},
        {0x200000001, 0, 5u << 24, 0, 0, TRK_EVENT_FAULT, TRK_ACCESS_WRITE, TRK_LOOK_UNKNOWN},
        {0x200000001, 0, 0, 5, 0, TRK_EVENT_DECISION, 0, TRK_DECISION_FLUSH},
        {TRK_FAULT_SERVED, 0, 0, 0, 0, TRK_EVENT_OP_END, TRK_OK, TRK_OP_FAULT},
        {0x200000000, 16, 0, 0, 0, TRK_EVENT_FAIL, TRK_OP_INVALIDATE, TRK_E_RETAINED},
        {0x200000000, 0x4000, 0, 5, 0, TRK_EVENT_HOST_PROTECT, TRK_RIGHT_READ | TRK_EVENT_FAILED,
         12},
        {0x200000000, 0x4000, 0, 5, 0, TRK_EVENT_HOST_PROTECT, TRK_RIGHTS_RW, 0},
        {0, 9, domain, 0, 0, TRK_EVENT_LOCK, 0, 0},
        {0, 9, domain, 0, 0, TRK_EVENT_UNLOCK, 0, 0},
        {0x200000000, 0, 1, 0, 0, TRK_EVENT_ACCESS, TRK_AGENT_KERNEL, TRK_ACCESS_WRITE},
        {0x200000000, 64, 0, 2, 0, TRK_EVENT_OBJECT, 0, TRK_OBJECT_DESTROYED},
        {0x200004000, 0, 2, UINT16_MAX, 2, TRK_EVENT_IMAGE, 16, 9},
        {UINT32_MAX, 0, 0, 2, 1, TRK_EVENT_DISPATCH, 0, 7},
    };
    expect_records(expected, sizeof expected / sizeof expected[0]);
    cr_expect_eq(atomic_load(&session.control->trackers[5].known), TRK_SESSION_KNOWN_FOREIGN);
}

Test(capture_foreign, lays_details_out_as_the_vocabulary_says)
{
    capture_support_join(&session, 1024);
    struct trk_capture_foreign foreign = declared(8);
    struct trk_record declaration[2];
    cr_assert_eq(trk_capture_foreign_declare(&foreign, NULL), TRK_OK);
    cr_assert_eq(records_of(declaration, 2), 2);
    trk_capture_host_protect(5, 0x200000000, 0x4000,
                             TRK_RIGHT_READ | TRK_RIGHTS_FROM(TRK_RIGHTS_RW), 0);
    const struct trk_capture_place place = {UINT64_C(1) << 46, 0x7ffc12345678, 0x12345, 16,
                                            TRK_SOURCE_KERNEL};
    trk_capture_fault_at(&place);
    trk_capture_result(TRK_RESULT_OF_ACCESS, UINT64_C(1) << 33, 7, 14);
    trk_capture_object_detail(2, UINT64_MAX, 48, TRK_REASON_EVICTED);
    cr_assert_eq(trk_capture_lock(5, 6), 1);
    trk_capture_unlock(5, 6, 1);
    trk_capture_lock_shared(5, 6);
    trk_capture_unlock_shared(5, 0x10002);
    const uint32_t domain = trk_domain(TRK_DOMAIN_OWNER, 5, 6);
    const struct trk_event expected[] = {
        {0x200000000, 0x4000, 0, 5, 0, TRK_EVENT_HOST_PROTECT,
         TRK_RIGHT_READ | TRK_RIGHTS_RW << 3 | 0x80, 0},
        {UINT64_C(1) << 46, 0x12345678, 0x7ffc, 0x2345, 1, TRK_EVENT_FAULT_AT, TRK_SOURCE_KERNEL,
         16},
        {UINT64_C(1) << 33, 7, 0, 0, 0, TRK_EVENT_RESULT, TRK_RESULT_OF_ACCESS, 14},
        {UINT64_MAX, 48, 0, 2, 0, TRK_EVENT_OBJECT_DETAIL, 0, TRK_REASON_EVICTED},
        {0, 1, domain, 0, 0, TRK_EVENT_LOCK, 0, 0},
        {0, 1, domain, 0, 0, TRK_EVENT_UNLOCK, 0, 0},
        {1, 0, 0, 6, 0, TRK_EVENT_SHARED, 0, 5},
        {0, 0, 0, 2, 1, TRK_EVENT_SHARED, 1, 5}, /* one whose holds nobody counts */
    };
    expect_records(expected, sizeof expected / sizeof expected[0]);
}

/* The text of the label that begins at a record; the number of its pieces. */
static size_t label_at(const struct trk_record *record, char text[TRK_LABEL_BYTES_MAX + 1])
{
    memset(text, 0, TRK_LABEL_BYTES_MAX + 1);
    for (size_t piece = 0;; piece++) {
        const struct trk_event *event = &record[piece].event;
        cr_assert_eq(event->type, TRK_EVENT_LABEL);
        cr_assert_eq(event->flags & ~TRK_LABEL_LAST, piece);
        const uint64_t words[] = {event->argument, trk_event_size(event),
                                  trk_event_number32(event)};
        for (size_t i = 0; i < TRK_LABEL_PIECE_BYTES; i++)
            text[piece * TRK_LABEL_PIECE_BYTES + i] = (char)(words[i / 8] >> i % 8 * 8 & 0xff);
        if (event->flags & TRK_LABEL_LAST)
            return piece + 1;
    }
}

Test(capture_foreign, cuts_labels_into_pieces)
{
    static const char most[] = "0123456789012345678901234567890123456789012345678901234567890";
    static const struct {
        const char *text;
        size_t bytes, pieces;
    } cases[] = {{"", 0, 1},
                 {"a", 1, 1},
                 {"01234567890123456789", 20, 1},
                 {"012345678901234567890", 21, 2},
                 {most, TRK_LABEL_BYTES_MAX, 3}};
    capture_support_join(&session, 1024);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_record records[16];
        char text[TRK_LABEL_BYTES_MAX + 1];
        trk_capture_label((uint16_t)i, cases[i].text);
        cr_assert_eq(records_of(records, 16), cases[i].pieces, "%s", cases[i].text);
        cr_expect_eq(label_at(records, text), cases[i].pieces);
        cr_expect_eq(strlen(text), cases[i].bytes);
        cr_expect_eq(strncmp(text, cases[i].text, cases[i].bytes), 0);
        cr_expect_eq(records[0].event.context, i);
    }
}

Test(capture_foreign, counts_the_holds_of_each_lock)
{
    capture_support_join(&session, 1024);
    struct trk_capture_foreign foreign = declared(4);
    cr_assert_eq(trk_capture_foreign_declare(&foreign, NULL), TRK_OK);
    cr_expect_eq(trk_capture_lock(5, 0), 1);
    cr_expect_eq(trk_capture_lock(5, 3), 1);
    cr_expect_eq(trk_capture_lock(5, 0), 2);
    cr_expect_eq(trk_capture_lock(5, 4), 0, "it was not declared");
    cr_expect_eq(trk_capture_lock(16, 0), 0, "no such tracker");
    foreign.locks.count = 100000;
    cr_assert_eq(trk_capture_foreign_declare(&foreign, NULL), TRK_OK);
    cr_expect_eq(trk_capture_lock(5, 0), 3, "declared again, it goes on");
    cr_expect_eq(trk_capture_lock(5, 99999), 1);
    struct trk_record records[16];
    cr_expect_eq(records_of(records, 16), 9);
}

Test(capture_foreign, refuses_what_is_not_usable)
{
    static const struct {
        const char *name;
        uint32_t id, page, locks;
        unsigned notes;
    } cases[] = {
        {"id", 16, 4096, 0, 0},
        {"page of no power of two", 0, 12288, 0, 0},
        {"page below the host's", 0, 2048, 0, 0},
        {"too many locks", 0, 4096, TRK_CAPTURE_LOCKS_MAX + 1, 0},
        {"unknown note", 0, 4096, 0, 0x10},
    };
    capture_support_join(&session, 1024);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_error error;
        struct trk_capture_foreign foreign = trk_capture_foreign_default();
        foreign.id = cases[i].id;
        foreign.page_size_bytes = cases[i].page;
        foreign.notes = cases[i].notes;
        foreign.locks.count = cases[i].locks;
        cr_expect_eq(trk_capture_foreign_declare(&foreign, &error), TRK_E_ARGUMENT, "%s",
                     cases[i].name);
    }
    struct trk_policy other;
    cr_assert_eq(trk_policy_preset("default", &other), TRK_OK);
    struct trk_capture_foreign foreign = declared(0);
    foreign.policy = &other; /* of another page */
    cr_expect_eq(trk_capture_foreign_declare(&foreign, NULL), TRK_E_ARGUMENT);
    struct trk_error error;
    foreign = declared(0);
    foreign.size = 8;
    cr_expect_eq(trk_capture_foreign_declare(&foreign, &error), TRK_E_ARGUMENT);
    cr_expect_str_eq(error.text, "what declares a tracker is of another size");
    cr_expect_eq(trk_capture_foreign_declare(NULL, &error), TRK_E_ARGUMENT);
    foreign = declared(0);
    foreign.locks.kind = (enum trk_lock_kind)99;
    cr_expect_eq(trk_capture_foreign_declare(&foreign, &error), TRK_E_ARGUMENT);
    cr_expect_str_eq(error.text, "99 is no kind of lock");
    foreign = declared(0);
    foreign.backend = (enum trk_backend_kind)99;
    cr_expect_eq(trk_capture_foreign_declare(&foreign, &error), TRK_E_ARGUMENT);
    cr_expect_str_eq(error.text, "99 is no backend");
}

Test(capture_foreign, costs_nothing_without_a_session)
{
    struct trk_capture_foreign foreign = declared(4);
    cr_expect_not(trk_capture_listens());
    cr_expect_eq(trk_capture_foreign_declare(&foreign, NULL), TRK_OK);
    cr_expect_eq(trk_capture_lock(5, 0), 0);
    trk_capture_unlock(5, 0, 0);
    trk_capture_label(1, "nobody listens");
}
