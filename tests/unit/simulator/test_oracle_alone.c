/*
 * Goal: without a core, the oracle takes the log's own words on losses, locks and watches: it
 * doubts what lost events may have changed and nothing else, and says what breaks a rule for
 * certain.
 *
 * Method: tapes judged by the oracle alone; losses are put into them with a type and a time.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tape_programs.h"

/* ---- losses ---------------------------------------------------------------------------------- */

/* One event lost, of a type; its time is this one's plus some ticks, to the last some more. */
static void put_drop(struct tape *tape, unsigned type, uint64_t later, uint64_t ticks)
{
    struct trk_event drop = {.type = TRK_EVENT_DROP, .argument = 1, .context = (uint16_t)type};
    trk_event_set_size(&drop, ticks);
    tape->tsc += later;
    tape_put(tape, &drop);
}

#define LONG 100000u /* ticks */

/* The other thread stores where nobody looks, and loses an event. */
static void lose_beside(struct tape *tape, unsigned type, uint64_t later, uint64_t ticks)
{
    tape_as(tape, 1);
    tape_store(tape, TAPE_CPU, TAPE_A + 4 * TAPE_P, 9);
    put_drop(tape, type, later, ticks);
}

/* And the first one goes on long after that. */
static void lose(struct tape *tape, unsigned type, uint64_t ticks)
{
    lose_beside(tape, type, LONG, ticks);
    tape->tsc += LONG;
    tape_as(tape, 0);
}

static void lost_before(struct tape *tape, unsigned type, uint64_t ticks)
{
    lose(tape, type, ticks);
    tape_foreign_upload_over_gpu(tape);
    tape_check(tape, TAPE_GPU, TAPE_A + 64, 1);
}

static void loss_is_over(struct tape *tape)
{
    lost_before(tape, TRK_EVENT_COPY_END, 100);
}

static void loss_goes_on(struct tape *tape)
{
    lost_before(tape, TRK_EVENT_COPY_END, 2 * LONG);
}

static void lost_view(struct tape *tape)
{
    lost_before(tape, TRK_EVENT_MAP, 100);
}

static void loss_of_nobody_knows_what(struct tape *tape)
{
    lost_before(tape, TRK_EVENT_NONE, 100);
}

static void loss_begins_later(struct tape *tape)
{
    tape_foreign_upload_over_gpu(tape);
    lose_beside(tape, TRK_EVENT_COPY_END, LONG, 100);
}

/* The recorder moves a time up to that of the event before: it may have been earlier. */
static void loss_began_nobody_knows_when(struct tape *tape)
{
    tape_foreign_upload_over_gpu(tape);
    lose_beside(tape, TRK_EVENT_COPY_END, 0, 100);
}

static void lost_check(struct tape *tape)
{
    tape_foreign_upload_over_gpu(tape);
    put_drop(tape, TRK_EVENT_WITNESS_CHECK, 0, 100);
}

/* What began a copy that ends behind the loss is missing: it may have begun before the store. */
static void lost_begin_of_copy(struct tape *tape)
{
    tape_foreign_good(tape);
    lose(tape, TRK_EVENT_COPY_BEGIN, 100);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_store(tape, TAPE_CPU, TAPE_A, 3);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    struct tape_stream *stream = &tape->streams[0];
    stream->records[stream->count - 2] = stream->records[stream->count - 1];
    stream->count--;
}

/* Two stores, of which the GPU sees the first one. */
static void store_twice(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_store(tape, TAPE_CPU, TAPE_A, 7);
}

static void old_stamp_behind(struct tape *tape, unsigned type)
{
    store_twice(tape);
    lose(tape, type, 100);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

/* Other bytes may have been there when the second store was made, and these again at the check. */
static void old_stamp_behind_lost_view(struct tape *tape)
{
    old_stamp_behind(tape, TRK_EVENT_MAP);
}

static void old_stamp_behind_lost_anything(struct tape *tape)
{
    old_stamp_behind(tape, TRK_EVENT_NONE);
}

static void old_stamp_behind_lost_copy(struct tape *tape)
{
    old_stamp_behind(tape, TRK_EVENT_COPY_END);
}

/* What a lost access stores may be the older content. */
static void old_stamp_behind_lost_access(struct tape *tape)
{
    old_stamp_behind(tape, TRK_EVENT_ACCESS);
}

/* Whatever was lost before: the address shows the same since the stores. */
static void old_stamp_all_behind_lost_view(struct tape *tape)
{
    lose(tape, TRK_EVENT_UNMAP, 100);
    store_twice(tape);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void old_stamp_mapped_anew_behind_lost_view(struct tape *tape)
{
    lose(tape, TRK_EVENT_UNMAP, 100);
    store_twice(tape);
    tape_map(tape, TAPE_A + TAPE_R, TAPE_P, 77, 0);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

/* What was seen may be of the store that is lost, and raced the newer one. */
static void old_stamp_of_a_lost_store(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 7);
    lose(tape, TRK_EVENT_WITNESS_STORE, 100);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

/* Of a page that was taken, and of which an invalidate is lost, the kernel's store was told of. */
static void kernel_store_behind_lost_invalidate(struct tape *tape)
{
    tape_taken(tape);
    lose(tape, TRK_EVENT_OP_END, 100);
    tape_store(tape, TRK_AGENT_KERNEL, TAPE_A, 2);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

struct alone_case {
    const char *name;
    void (*record)(struct tape *tape);
    const char *verdict;
};

/* The oracle alone says that of the tape. */
static struct trk_sim_report judged(const struct alone_case *tried)
{
    struct tape *tape = tape_create("default");
    tried->record(tape);
    struct trk_sim_report report = tape_judge_alone(tape, 1);
    cr_expect_str_eq(trk_verdict_name(&report), tried->verdict, "%s: %s: %s", tried->name,
                     trk_verdict_name(&report), report.text);
    tape_destroy(tape);
    return report;
}

static const struct alone_case losses[] = {
    {"over before", loss_is_over, "lost-gpu-write"},
    {"going on", loss_goes_on, "trace-incomplete"},
    {"a view", lost_view, "trace-incomplete"},
    {"nobody knows what", loss_of_nobody_knows_what, "trace-incomplete"},
    {"begins later", loss_begins_later, "lost-gpu-write"},
    {"begins nobody knows when", loss_began_nobody_knows_when, "trace-incomplete"},
    {"a check", lost_check, "lost-gpu-write"},
    {"a view, and an old stamp", old_stamp_behind_lost_view, "trace-incomplete"},
    {"nobody knows what, and an old stamp", old_stamp_behind_lost_anything, "trace-incomplete"},
    {"a copy, and an old stamp", old_stamp_behind_lost_copy, "stale-gpu-read"},
    {"an access, and an old stamp", old_stamp_behind_lost_access, "trace-incomplete"},
    {"the store of an old stamp", old_stamp_of_a_lost_store, "trace-incomplete"},
    {"a view before, and an old stamp", old_stamp_all_behind_lost_view, "stale-gpu-read"},
    {"a view before, mapped anew", old_stamp_mapped_anew_behind_lost_view, "trace-incomplete"},
    {"the begin of a copy", lost_begin_of_copy, "trace-incomplete"},
    {"an invalidate", kernel_store_behind_lost_invalidate, "stale-gpu-read"},
};

/* What a loss may have changed is in doubt, and nothing else. */
Test(oracle, doubts_what_was_lost_alone)
{
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        cr_expect_not(judged(&losses[i]).complete, "%s", losses[i].name);
}

/* That the bytes are old is proven, and not which step left them so. */
Test(oracle, blames_nobody_for_what_is_missing)
{
    struct tape *tape = tape_create("default");
    old_stamp_behind_lost_copy(tape);
    struct trk_sim_report report = tape_judge_alone(tape, 1);
    cr_expect_str_eq(report.detail, "behind missing events");
    cr_expect_eq(report.event_at, TRK_NOT_KNOWN);
    cr_expect_eq(tape_type_at(tape, report.event_visible), TRK_EVENT_WITNESS_CHECK);
    tape_destroy(tape);
    tape = tape_create("default");
    kernel_store_behind_lost_invalidate(tape);
    report = tape_judge_alone(tape, 1);
    cr_expect_str_eq(report.detail, "behind missing events");
    tape_destroy(tape);
}

/* What the GPU reads was copied to it from where a copy home had put older bytes: that one, or who
 * did not tell of the store, is to blame, and not the copy to the GPU. However many copies come
 * behind it, what was before it is not forgotten. */
Test(oracle, blames_a_copy_home_for_what_was_copied_back)
{
    const struct {
        enum trk_agent agent;
        const char *copies; /* behind the store: u to the GPU, d home */
        const char *detail;
        unsigned at; /* which copy is to blame; 0: the store */
    } wanted[] = {
        {TRK_AGENT_KERNEL, "du", "stored without invalidate", 0},
        {TAPE_CPU, "du", "downloaded over newer bytes", 1},
        {TAPE_CPU, "duuuu", "downloaded over newer bytes", 1},
        {TAPE_CPU, "ddu", "downloaded over newer bytes", 1},
        {TAPE_CPU, "dududuuu", "downloaded over newer bytes", 1},
        {TAPE_CPU, "udu", "copied, not seen", 3},
        {TAPE_CPU, "uduu", "copied, not seen", 4},
        {TAPE_CPU, "ududuuu", "copied, not seen", 7},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct tape *tape = tape_create("default");
        tape_store(tape, wanted[i].agent, TAPE_A, 2);
        const uint64_t store = tape->number - 1;
        for (const char *copy = wanted[i].copies; *copy != '\0'; copy++)
            tape_copy(tape, *copy == 'u' ? TRK_COPY_UP : TRK_COPY_DOWN, TAPE_A, TAPE_P);
        tape_check(tape, TAPE_GPU, TAPE_A, 1);
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), "stale-gpu-read", "%zu: %s", i, report.text);
        cr_expect_str_eq(report.detail, wanted[i].detail, "%zu: %s", i, report.text);
        cr_expect_eq(report.event_at, store + 2 * wanted[i].at, "%zu: %s", i, report.text);
        cr_expect_eq(strncmp(report.holder, "nowhere", 7) == 0, wanted[i].at < 2, "%zu: %s", i,
                     report.holder);
        tape_destroy(tape);
    }
}

/* Where a copy began is lost: its story names the event that ended it, and no other. */
Test(oracle, names_a_copy_without_a_begin_by_its_end)
{
    struct tape *tape = tape_create("default");
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_remove(tape, TRK_EVENT_COPY_BEGIN, 0);
    put_drop(tape, TRK_EVENT_COPY_BEGIN, 0, 100);
    struct tape_stream *stream = &tape->streams[0];
    struct trk_record end = stream->records[stream->count - 2];
    stream->records[stream->count - 2] = stream->records[stream->count - 1];
    stream->records[stream->count - 1] = end;
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
    struct trk_sim_report report = tape_judge_alone(tape, 1);
    cr_assert_str_eq(trk_verdict_name(&report), "stale-gpu-read", "%s", report.text);
    cr_assert_eq(report.story_count, 3);
    cr_expect_eq(tape_type_at(tape, report.story[0].event), TRK_EVENT_COPY_END);
    cr_expect_not_null(strstr(report.story[0].text, "ends a copy"), "%s", report.story[0].text);
    tape_destroy(tape);
}

/* A hold that is missing without a word is a loss, too, for who has no core. */
Test(oracle, notices_a_missing_hold)
{
    for (uint32_t missing = 0; missing < 2; missing++) {
        struct tape *tape = tape_create("default");
        tape_foreign_good(tape);
        if (missing)
            tape_lost_operation(tape);
        tape_upload(tape, TAPE_A + TAPE_P, TAPE_P, false);
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        cr_expect_str_eq(trk_verdict_name(&report), missing ? "trace-incomplete" : "ok", "%s",
                         report.text);
        cr_expect_eq(report.complete, !missing);
        tape_destroy(tape);
    }
}

/* ---- locks and watches ----------------------------------------------------------------------- */

static void watch_kept(struct tape *tape)
{
    tape_foreign_good(tape);
    ignore(trk_pages_watch(tape->tracker, TAPE_A, 4 * TAPE_P));
    ignore(trk_pages_unwatch(tape->tracker, TAPE_A, TAPE_P));
}

static void watch_given_back(struct tape *tape)
{
    watch_kept(tape);
    ignore(trk_pages_unwatch(tape->tracker, TAPE_A + TAPE_P, 3 * TAPE_P));
}

static void watch_kept_by_who_was_killed(struct tape *tape)
{
    watch_kept(tape);
    tape->child_status = 9;
}

/* Two threads hold a region each and begin what needs the other's. */
static void wait_crosswise(struct tape *tape, uint64_t one_addr, uint64_t size_bytes)
{
    uint64_t a = TAPE_A, b = TAPE_A + TAPE_R;
    tape_foreign_good(tape);
    tape_as(tape, 1);
    ignore(trk_tracker_lock(tape->tracker, a));
    tape_as(tape, 2);
    ignore(trk_tracker_lock(tape->tracker, b));
    size_t counts[] = {tape->streams[1].count, tape->streams[2].count};
    struct trk_event begin = {
        .type = TRK_EVENT_OP_BEGIN, .context = TRK_OP_MARK_CPU, .argument = one_addr};
    trk_event_set_size(&begin, size_bytes);
    tape_put(tape, &begin);
    tape_as(tape, 1);
    begin.argument = b;
    begin.context = TRK_OP_LOCK;
    trk_event_set_size(&begin, 1);
    tape_put(tape, &begin);
    ignore(trk_tracker_unlock(tape->tracker, a));
    tape_as(tape, 2);
    ignore(trk_tracker_unlock(tape->tracker, b));
    /* What follows the begins did not happen. */
    for (int i = 0; i < 2; i++)
        tape->streams[1 + i].count = counts[i] + 1;
}

static void circle(struct tape *tape)
{
    wait_crosswise(tape, TAPE_A, TAPE_P);
}

/* The second one goes first to a region of its own: it may never come to the other. */
static void no_circle(struct tape *tape)
{
    wait_crosswise(tape, TAPE_A, 2 * TAPE_R);
}

static void lock_taken_twice(struct tape *tape)
{
    tape_foreign_good(tape);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_upload(tape, TAPE_A, TAPE_P, false);
    tape_remove(tape, TRK_EVENT_UNLOCK, 2);
}

static void locks_descend(struct tape *tape)
{
    tape_foreign_good(tape);
    size_t before = tape->streams[0].count;
    tape_upload(tape, TAPE_A, TAPE_R, true);
    struct trk_event *locks[2], kept;
    uint32_t count = 0;
    for (size_t i = before; i < tape->streams[0].count && count < 2; i++)
        if (tape->streams[0].records[i].event.type == TRK_EVENT_LOCK)
            locks[count++] = &tape->streams[0].records[i].event;
    cr_assert_eq(count, 2);
    kept = *locks[0];
    *locks[0] = *locks[1];
    *locks[1] = kept;
}

static const struct alone_case rules[] = {
    {"a watch that is kept", watch_kept, "watch-leak"},
    {"a watch that is given back", watch_given_back, "ok"},
    {"a watch of who was killed", watch_kept_by_who_was_killed, "ok"},
    {"a circle", circle, "deadlock"},
    {"no circle for certain", no_circle, "ok"},
    {"a lock that is taken twice", lock_taken_twice, "illegal-state"},
    {"locks that descend", locks_descend, "illegal-state"},
};

/* Without a core, the log's own words on locks and watches. */
Test(oracle, looks_at_locks_and_watches)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        (void)judged(&rules[i]);
}
