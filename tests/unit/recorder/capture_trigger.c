/*
 * Goal: a trigger fires for what it waits for, also where the events of that were lost, and says
 * what fired instead; what never fired says what came closest and what was lost. An event that
 * fires is told of while it is in the flight ring, with what all threads did before, however much
 * comes later and however little the ring holds.
 *
 * Method: a table of short lists of events; rings that the test writes itself, in which much comes
 * behind the event that fires, drained in one pass into a flight ring that holds next to nothing.
 */
#include "record_trigger.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "record_drain.h"

/* ---- what fires ------------------------------------------------------------------------------ */

enum step_kind { END, FRAME, MARK, LOST_FRAMES, LOST_MARKS, LOST_ANY };

struct step {
    enum step_kind kind;
    uint64_t number;
};

static const struct {
    const char *name;
    const char *list;
    struct step steps[6];
    bool fires; /* before the end */
    const char *note;
    const char *unmet;
} cases[] = {
    {.name = "a frame is over when the next one comes",
     .list = "frame:3",
     .steps = {{FRAME, 2}, {FRAME, 3}, {FRAME, 4}},
     .fires = true},
    {.name = "some frames are over when one behind them comes",
     .list = "frame:3-5",
     .steps = {{FRAME, 4}, {FRAME, 5}, {FRAME, 9}},
     .fires = true},
    {.name = "a frame that is not over",
     .list = "frame:3-5",
     .steps = {{FRAME, 2}, {FRAME, 3}, {FRAME, 5}}},
    {.name = "a frame without an event",
     .list = "frame:3",
     .steps = {{FRAME, 2}, {FRAME, 5}},
     .fires = true,
     .note = "no event of frame:3 came, it is lost or there was none: frame 5 fired"},
    {.name = "frames that were lost before any other",
     .list = "frame:3-4",
     .steps = {{LOST_FRAMES, 4}, {FRAME, 5}, {FRAME, 6}},
     .fires = true,
     .note = "no event of frame:3-4 came, it is lost or there was none: frame 5 fired"},
    {.name = "a frame that was lost, and no later one",
     .list = "frame:3",
     .steps = {{FRAME, 2}, {LOST_FRAMES, 2}},
     .unmet = "trigger frame:3 never fired: the last frame was 2; 2 events were lost that may have "
              "been what it waits for"},
    {.name = "an event of no known type was lost",
     .list = "frame:3",
     .steps = {{LOST_ANY, 1}},
     .unmet = "trigger frame:3 never fired: no frame came; 1 events were lost that may have been "
              "what it waits for"},
    {.name = "frames of before the recording",
     .list = "frame:3",
     .steps = {{FRAME, 7}, {FRAME, 8}},
     .unmet = "trigger frame:3 never fired: the first frame was 7"},
    {.name = "marks that are lost are no frames",
     .list = "frame:3",
     .steps = {{LOST_MARKS, 4}, {FRAME, 8}},
     .unmet = "trigger frame:3 never fired: the first frame was 8"},
    {.name = "a mark that was lost",
     .list = "mark:3",
     .steps = {{MARK, 1}, {LOST_MARKS, 4}, {MARK, 8}},
     .unmet = "trigger mark:3 never fired: the nearest mark was 1; 4 events were lost that may "
              "have been what it waits for"},
    {.name = "all frames from one on",
     .list = "frame:3-",
     .steps = {{FRAME, 2}, {FRAME, 3}, {FRAME, UINT64_MAX}}},
    {.name = "no frame of those from one on",
     .list = "frame:0x10-",
     .steps = {{FRAME, 2}},
     .unmet = "trigger frame:16- never fired: the last frame was 2"},
    {.name = "a mark by a hexadecimal number",
     .list = "mark:0xfF",
     .steps = {{MARK, 254}, {MARK, 255}},
     .fires = true},
    {.name = "of two frames the lost one is told of",
     .list = "frame:9,frame:3",
     .steps = {{FRAME, 2}, {FRAME, 4}},
     .fires = true,
     .note = "no event of frame:3 came, it is lost or there was none: frame 4 fired",
     .unmet = "trigger frame:9 never fired: the last frame was 4"},
};

static void take_step(struct trk_record_trigger *trigger, const struct step *step, uint64_t tsc)
{
    struct trk_record record = {tsc, {.argument = step->number}};
    record.event.type = step->kind == MARK ? TRK_EVENT_MARK : TRK_EVENT_FRAME;
    if (step->kind == LOST_ANY)
        trk_record_trigger_lost(trigger, TRK_EVENT_NONE, step->number);
    else if (step->kind == LOST_MARKS)
        trk_record_trigger_lost(trigger, TRK_EVENT_MARK, step->number);
    else if (step->kind == LOST_FRAMES)
        trk_record_trigger_lost(trigger, TRK_EVENT_FRAME, step->number);
    else
        trk_record_trigger_event(trigger, &record);
}

Test(capture_trigger, fires_for_what_it_waits_for)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct trk_record_trigger trigger;
        struct trk_error error;
        char text[256] = "";
        char unmet[256] = "";
        cr_assert_eq(trk_record_trigger_parse(&trigger, cases[i].list, &error), TRK_OK);
        for (size_t step = 0; cases[i].steps[step].kind != END; ++step) {
            cr_expect_not(trigger.fired, "%s: too early", cases[i].name);
            take_step(&trigger, &cases[i].steps[step], 100 * (step + 1));
            if (trigger.fired)
                break;
        }
        cr_expect_eq(trigger.fired, cases[i].fires, "%s", cases[i].name);
        if (trigger.fired)
            cr_expect_str_eq(trigger.firing.note, cases[i].note ? cases[i].note : "", "%s",
                             cases[i].name);
        trk_record_trigger_end(&trigger, false, 1000);
        for (size_t k = 0; k < TRK_RECORD_TRIGGER_ALL; ++k) {
            if (trk_record_trigger_unmet(&trigger, k, text, sizeof text))
                snprintf(unmet, sizeof unmet, "%s", text);
        }
        cr_expect_str_eq(unmet, cases[i].unmet ? cases[i].unmet : "", "%s: %s", cases[i].name,
                         unmet);
    }
}

/* ---- when it is told ------------------------------------------------------------------------- */

#define RING_RECORDS 65536u
#define BUDGET_BYTES 4096u /* less than a chunk */
#define FIRES        7u    /* no other mark's number */

static struct trk_record_session session;
static struct trk_record_drain drain;
static struct trk_flight *flight;
static struct trk_record_trigger trigger;
static struct trk_flight_view *seen; /* when it was told */
static size_t told;
static uint64_t of_third; /* records of the third ring that the flight ring had got then */

static void on_fired(void *context)
{
    struct trk_error error;
    cr_assert_eq(context, &told);
    told++;
    of_third = trk_flight_records(flight, 2);
    cr_assert_eq(trk_record_drain_flush(&drain, &error), TRK_OK);
    seen = trk_flight_view(flight, 0);
}

/* A ring of marks that nothing makes small, each ten ticks behind the one before. */
static void fill(uint32_t index, uint64_t first_tsc, size_t count, size_t fires_at)
{
    static uint64_t state = 1;
    struct trk_record *records = session.records + (size_t)index * RING_RECORDS;
    for (size_t i = 0; i < count; ++i) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        records[i] = (struct trk_record){first_tsc + 10 * i, {.type = TRK_EVENT_MARK}};
        records[i].event.argument = i == fires_at ? FIRES : state | 16;
    }
    session.rings[index].thread_id = index + 1;
    atomic_store(&session.rings[index].head, count);
    atomic_store(&session.rings[index].state, TRK_RING_LIVE);
}

/* A drain into a flight ring, with the trigger whose event fires. */
static void begin(void)
{
    struct trk_error error;
    cr_assert_eq(trk_record_session_init(&session, RING_RECORDS, TRK_PAYLOAD_NONE, &error), TRK_OK);
    cr_assert_eq(trk_flight_create(&flight, BUDGET_BYTES, &error), TRK_OK);
    cr_assert_eq(trk_record_trigger_parse(&trigger, "mark:7", &error), TRK_OK);
    cr_assert_eq(trk_record_drain_init(&drain, &session, NULL, &error), TRK_OK);
    drain.flight = flight;
    drain.trigger = &trigger;
    drain.fired = on_fired;
    drain.fired_context = &told;
    told = 0;
}

Test(capture_trigger, is_told_before_the_ring_forgets_what_fired)
{
    static const size_t places[] = {0, 1, 4095, 4096, 8190, 8191, 8192, 12000, 59999};
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        struct trk_error error;
        uint64_t fullest = 0;
        begin();
        fill(0, 1000, 60000, SIZE_MAX);
        fill(1, 1005, 60000, places[i]);
        fill(2, 1002, 60000, SIZE_MAX);
        cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK);
        cr_assert_eq(told, 1, "%zu: told %zu times", places[i], told);
        cr_assert_not_null(seen);
        cr_expect(trigger.firing.by_event);
        cr_expect_eq(trigger.firing.stream_id, 1u);
        cr_expect_eq(trigger.firing.record, places[i]);
        cr_expect(trk_flight_view_has(seen, 1, places[i]), "%zu: forgotten", places[i]);
        /* Of the third ring, which the drain had not come to, all of before and nothing else. */
        cr_expect_eq(of_third, places[i] + 1, "%zu: up to %lu", places[i], (unsigned long)of_third);
        struct trk_flight_view *late = trk_flight_view(flight, 0);
        cr_expect(places[i] > 50000 || !trk_flight_view_has(late, 1, places[i]),
                  "%zu: nothing would have been forgotten", places[i]);
        trk_flight_view_destroy(late);
        trk_flight_view_destroy(seen);
        trk_record_drain_deinit(&drain);
        trk_flight_destroy(flight);
        trk_record_session_deinit(&session);
    }
}

Test(capture_trigger, is_told_of_a_mark_of_the_recorder_itself)
{
    struct trk_error error;
    const struct trk_event mark = {.type = TRK_EVENT_MARK, .argument = FIRES};
    begin();
    fill(0, 1000, 60000, SIZE_MAX);
    trk_record_drain_own(&drain, &mark, &error);
    cr_assert_eq(told, 1);
    cr_expect(trk_flight_view_has(seen, trigger.firing.stream_id, 0));
    cr_expect_eq(drain.events, 60001);
    trk_flight_view_destroy(seen);
    trk_record_drain_deinit(&drain);
    trk_flight_destroy(flight);
    trk_record_session_deinit(&session);
}
