/*
 * The flight recorder.
 *
 * A trigger that fires waits for its time after, then a view of the ring is taken, which goes to a
 * dump thread. Where an event fires and there is nothing to wait for, its view is taken before the
 * drain goes on: what comes later may push that event out of the ring. Only one dump is written at
 * a time; what fires meanwhile waits, and within the cooldown or past the last dump allowed it is
 * counted and said at the end.
 */
#include "record_flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "clock_ticks.h"
#include "record_dump.h"
#include "record_states.h"

/* A firing that was taken: what its dump is of. */
struct take {
    struct trk_record_firing firing;
    bool answers; /* the dump was asked for by the control FIFO */
    struct trk_flight_view *view;
    uint64_t forgotten; /* by the ring, when that was taken */
    bool has_event;     /* that fired: it is in the view */
    bool at_end;        /* and so is all that ever came */
    bool is_cut;        /* the ring had failed: what came behind that is nowhere */
};

struct trk_record_flight {
    struct trk_flight *ring;
    struct trk_record_states *states; /* NULL: dumps begin with none */
    struct trk_record_trigger trigger;
    struct trk_record_dump dump;
    bool snapshot_wanted;
    bool ending;
    uint64_t due_ns;   /* a firing was taken and its view is to be taken then; 0: none */
    uint64_t quiet_ns; /* until then triggers do nothing */
    uint64_t ignored;  /* firings that came in quiet times or past the last dump */
    uint32_t tries;    /* views that were taken */
    uint32_t api_seen;
    struct take next; /* while one is due, or its view waits for the dump under way */
    bool viewed;      /* the latter */
    struct take dumped;
    struct trk_error failure; /* of the first dump that failed; status TRK_OK: none did */
};

static void say(const struct recording *recording, const char *text)
{
    if (recording->options->say)
        recording->options->say(text);
}

enum trk_status trk_record_flight_init(struct recording *recording)
{
    const struct trk_record_options *options = recording->options;
    struct trk_record_flight *flight = calloc(1, sizeof *flight);
    recording->flight = flight;
    if (!flight)
        return trk_error_set(recording->error, TRK_E_MEMORY, "out of memory for the flight ring");
    enum trk_status status = trk_record_dump_init(&flight->dump, recording);
    if (status == TRK_OK)
        status = trk_record_trigger_parse(&flight->trigger, options->triggers, recording->error);
    if (status != TRK_OK)
        return status;
    status = trk_flight_create(&flight->ring, options->flight_bytes, recording->error);
    if (status == TRK_OK)
        trk_flight_set_clock_shift(flight->ring, trk_record_output_options(recording).clock_shift);
    return status == TRK_OK ? trk_record_states_create(&flight->states, recording, flight->ring)
                            : status;
}

void trk_record_flight_deinit(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    if (!flight)
        return;
    trk_record_dump_deinit(&flight->dump);
    trk_flight_view_destroy(flight->next.view);
    trk_record_states_destroy(flight->states);
    trk_flight_destroy(flight->ring);
    free(flight);
    recording->flight = NULL;
}

/* Ticks that so many milliseconds take, by what the clocks did since the start. */
static uint64_t ticks_of(const struct recording *recording, uint32_t milliseconds)
{
    struct trk_trace_anchor now = trk_record_header_anchor();
    uint64_t ns = now.monotonic_raw_ns - recording->start.monotonic_raw_ns;
    uint64_t ticks = now.ticks - recording->start.ticks;
    return ns > 0 ? (uint64_t)((double)ticks / (double)ns * 1e6 * milliseconds) : 0;
}

/* What is to be known of the firing whose dump was made. */
static void say_firing(const struct recording *recording)
{
    const struct take *take = &recording->flight->dumped;
    const struct trk_record_firing *firing = &take->firing;
    char text[TRK_RECORD_TRIGGER_NOTE + 16];
    if (firing->note[0] != '\0') {
        snprintf(text, sizeof text, "%s: %s", trk_record_trigger_name(firing->kind), firing->note);
        say(recording, text);
    }
    if (firing->by_event && !take->has_event) {
        snprintf(text, sizeof text, "%s: the ring had forgotten the event that fired",
                 trk_record_trigger_name(firing->kind));
        say(recording, text);
    }
}

static void end_dump(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    struct trk_record_dump *dump = &flight->dump;
    char text[PATH_MAX + 128];
    char missing[40] = "";
    trk_record_dump_join(dump);
    if (dump->status == TRK_OK) {
        recording->result->dumps += 1;
        if (strcmp(dump->base, recording->options->path) != 0)
            snprintf(recording->result->path, sizeof recording->result->path, "%s", dump->base);
        recording->result->events += dump->events;
        recording->result->missing += dump->missing;
        recording->result->bytes += dump->bytes;
        if (dump->missing > 0)
            snprintf(missing, sizeof missing, ", %" PRIu64 " missing", dump->missing);
        snprintf(text, sizeof text, "%s: %" PRIu64 " events%s, %" PRIu64 " bytes -> %s",
                 trk_record_trigger_name(flight->dumped.firing.kind), dump->events, missing,
                 dump->bytes, dump->path);
    } else {
        if (flight->failure.status == TRK_OK) /* the ring's it is not: that goes on */
            flight->failure = dump->error;
        snprintf(text, sizeof text, "%s: no dump: %.200s",
                 trk_record_trigger_name(flight->dumped.firing.kind), dump->error.text);
    }
    say(recording, text);
    say_firing(recording);
    if (flight->dumped.answers)
        trk_record_dump_answer(dump, &recording->control);
    flight->dumped.answers = false;
    dump->path[0] = '\0';
}

static bool is_dumping(const struct trk_record_flight *flight)
{
    return flight->dump.path[0] != '\0';
}

static bool has_event(const struct trk_record_flight *flight, const struct trk_flight_view *view)
{
    const struct trk_record_firing *firing = &flight->next.firing;
    return view && firing->by_event && trk_flight_view_has(view, firing->stream_id, firing->record);
}

/* What the ring has of after a time; behind a state, where there is one of before what fired. */
static struct trk_flight_view *find_view(const struct recording *recording, uint64_t since_ticks)
{
    const struct trk_record_flight *flight = recording->flight;
    char why[192];
    struct trk_flight_state *state =
        trk_record_states_for(flight->states, &since_ticks, why, sizeof why);
    struct trk_flight_view *view = NULL;
    struct trk_flight_view *whole = NULL;
    if (state)
        view = trk_flight_view_behind(flight->ring, state, TRK_FLIGHT_ALL);
    if (view && (!flight->next.firing.by_event || has_event(flight, view)))
        return view;
    if (!state || view)
        whole = trk_flight_view(flight->ring, since_ticks);
    if (view && !has_event(flight, whole)) { /* neither has it */
        trk_flight_view_destroy(whole);
        return view;
    }
    if (view)
        snprintf(why, sizeof why,
                 "the dump begins with no state: the oldest one is behind what fired");
    trk_flight_view_destroy(view);
    if (why[0] != '\0') {
        char text[256];
        snprintf(text, sizeof text, "%s: %s", trk_record_trigger_name(flight->next.firing.kind),
                 why);
        say(recording, text);
    }
    return whole;
}

/*
 * Take what the dump of the firing will be: all that was drained, up to a moment of which
 * everything was.
 */
static void take_view(struct recording *recording, uint64_t end_ticks)
{
    struct trk_record_flight *flight = recording->flight;
    const struct trk_record_options *options = recording->options;
    struct take *take = &flight->next;
    const struct trk_record_firing *firing = &take->firing;
    uint64_t since = 0;
    flight->tries += 1;
    if (options->before_ms > 0) {
        uint64_t window = ticks_of(recording, options->before_ms);
        uint64_t base = firing->since_ticks < firing->ticks ? firing->since_ticks : firing->ticks;
        since = base > window ? base - window : 0;
    }
    recording->drain.status = trk_record_drain_flush(&recording->drain, recording->error);
    take->view = find_view(recording, since);
    if (take->view)
        trk_flight_view_end_at(take->view, end_ticks);
    take->forgotten = trk_flight_forgotten(flight->ring); /* the flush forgets, too */
    take->has_event = has_event(flight, take->view);
    take->at_end = flight->ending;
    take->is_cut = recording->drain.status != TRK_OK;
    flight->viewed = true;
    flight->due_ns = 0;
    flight->quiet_ns = trk_record_now_ns() + (uint64_t)options->cooldown_ms * 1000000;
}

/* Write what was taken, in a thread of its own. */
static void start_dump(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    struct trk_record_dump *dump = &flight->dump;
    struct take *take = &flight->dumped;
    *take = flight->next;
    flight->next = (struct take){0};
    flight->viewed = false;
    struct trk_record_header_dump note = {
        .trigger = trk_record_trigger_name(take->firing.kind),
        .number = recording->result->dumps + 1,
        .ticks = take->firing.ticks,
        .forgotten = take->forgotten,
        .by_event = take->firing.by_event,
        .has_event = take->has_event,
        .note = take->firing.note,
        .view = take->view,
    };
    dump->view = take->view; /* the dump's from now on */
    trk_record_dump_name(dump, note.number);
    dump->is_cut = take->is_cut;
    dump->child_status = take->at_end ? recording->child.wait_status : -1;
    dump->header_json = dump->view ? trk_record_output_json(recording, &note) : NULL;
    if (dump->header_json) {
        trk_record_dump_start(dump);
        return;
    }
    trk_flight_view_destroy(dump->view);
    dump->status = trk_error_set(&dump->error, TRK_E_MEMORY, "out of memory for a dump");
    end_dump(recording);
}

/* What fired as well before this firing could be taken has no dump of its own: it would be the
 * same.
 */
static void take_others(struct recording *recording, bool ignored)
{
    struct trk_record_flight *flight = recording->flight;
    struct trk_record_trigger *trigger = &flight->trigger;
    char text[160];
    for (unsigned kind = 0; kind < TRK_TRIGGER_KINDS; ++kind) {
        if (!trigger->others[kind])
            continue;
        trigger->others[kind] = false;
        flight->ignored += ignored;
        snprintf(text, sizeof text, "%s: one dump with %s, which was still to be made",
                 trk_record_trigger_name(kind), trk_record_trigger_name(trigger->firing.kind));
        if (!ignored)
            say(recording, text);
    }
}

static bool is_used_up(const struct recording *recording)
{
    const struct trk_record_options *options = recording->options;
    return options->dumps_most > 0 && recording->flight->tries >= options->dumps_most;
}

/* Take a firing, if its dump is allowed. */
static void take_firing(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    uint64_t now = trk_record_now_ns();
    bool asked = flight->trigger.firing.kind == TRK_TRIGGER_CONTROL; /* somebody waits */
    if (!flight->trigger.fired || flight->due_ns != 0 || flight->viewed)
        return;
    flight->trigger.fired = false;
    bool ignored = is_used_up(recording) || (now < flight->quiet_ns && !asked && !flight->ending);
    take_others(recording, ignored);
    if (ignored) {
        flight->ignored += 1;
        if (asked)
            trk_record_control_answer(&recording->control, "error no further dump is allowed");
        return;
    }
    flight->next = (struct take){.firing = flight->trigger.firing, .answers = asked};
    flight->due_ns = now + (uint64_t)recording->options->after_ms * 1000000;
}

/* An event fired, and is the newest that the ring has. */
static void on_fired(void *context)
{
    struct recording *recording = context;
    const struct trk_record_flight *flight = recording->flight;
    bool waits = flight->due_ns != 0 || flight->viewed || recording->options->after_ms > 0;
    if (waits || is_used_up(recording) || trk_record_now_ns() < flight->quiet_ns)
        return; /* the next turn's matter */
    take_firing(recording);
    take_view(recording, flight->next.firing.ticks); /* up to there the drain has caught up */
}

/* What fires from outside the events. */
static void look_outside(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    uint32_t asked =
        atomic_load_explicit(&recording->session.control->triggers, memory_order_acquire);
    uint64_t ticks = trk_clock_ticks();
    if (flight->trigger.wanted[TRK_TRIGGER_SIGNAL] && trk_record_signals_dump())
        trk_record_trigger_fire(&flight->trigger, TRK_TRIGGER_SIGNAL, ticks);
    if (asked != flight->api_seen) {
        flight->api_seen = asked;
        trk_record_trigger_fire(&flight->trigger, TRK_TRIGGER_API, ticks);
    }
    if (flight->snapshot_wanted && !flight->trigger.fired) {
        flight->snapshot_wanted = false;
        trk_record_trigger_fire(&flight->trigger, TRK_TRIGGER_CONTROL, ticks);
    }
}

/* A firing that has waited as long as it was to: with all that came up to now. */
static void take_due(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    uint64_t fullest = 0;
    if (flight->due_ns == 0 || (!flight->ending && trk_record_now_ns() < flight->due_ns))
        return;
    uint64_t ticks = flight->ending ? UINT64_MAX : trk_clock_ticks();
    recording->drain.status = trk_record_drain_pass(&recording->drain, &fullest, recording->error);
    take_view(recording, ticks);
}

void trk_record_flight_turn(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    recording->drain.flight = flight->ring;
    recording->drain.trigger = &flight->trigger;
    recording->drain.fired = on_fired;
    recording->drain.fired_context = recording;
    if (is_dumping(flight) && atomic_load(&flight->dump.done))
        end_dump(recording);
    trk_record_states_turn(flight->states);
    trk_record_output_look_again(recording);
    look_outside(recording);
    if (is_dumping(flight))
        return;
    take_firing(recording);
    take_due(recording);
    if (flight->viewed)
        start_dump(recording);
}

bool trk_record_flight_heeds_signal(const struct recording *recording)
{
    return recording->flight->trigger.wanted[TRK_TRIGGER_SIGNAL];
}

void trk_record_flight_snapshot(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    if (!flight->trigger.wanted[TRK_TRIGGER_CONTROL])
        trk_record_control_answer(&recording->control, "error control is no trigger here");
    else if (flight->snapshot_wanted)
        trk_record_control_answer(&recording->control, "error a snapshot is under way");
    else
        flight->snapshot_wanted = true;
}

void trk_record_flight_status(const struct recording *recording, char *out, size_t size)
{
    const struct trk_record_flight *flight = recording->flight;
    char states[64];
    trk_record_states_describe(flight->states, states, sizeof states);
    snprintf(out, size, "%" PRIu64 " forgotten, %u dumps, %s", trk_flight_forgotten(flight->ring),
             recording->result->dumps, states);
}

static void say_unmet(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    char text[256];
    for (size_t i = 0; i < TRK_RECORD_TRIGGER_ALL; ++i) {
        if (trk_record_trigger_unmet(&flight->trigger, i, text, sizeof text))
            say(recording, text);
    }
    if (flight->ignored > 0) {
        snprintf(text, sizeof text,
                 "%" PRIu64 " firings made no dump: too soon after another, or one too many",
                 flight->ignored);
        say(recording, text);
    }
}

enum trk_status trk_record_flight_end(struct recording *recording)
{
    struct trk_record_flight *flight = recording->flight;
    flight->ending = true;
    trk_record_states_end(flight->states);
    if (is_dumping(flight))
        end_dump(recording);
    take_due(recording);
    if (flight->viewed)
        start_dump(recording);
    if (is_dumping(flight))
        end_dump(recording);
    int status = recording->child.wait_status;
    trk_record_trigger_end(&flight->trigger, status != -1 && WIFSIGNALED(status),
                           trk_clock_ticks());
    trk_record_flight_turn(recording);
    if (is_dumping(flight))
        end_dump(recording);
    say_unmet(recording);
    if (recording->drain.status != TRK_OK || flight->failure.status == TRK_OK)
        return recording->drain.status;
    if (recording->error)
        *recording->error = flight->failure;
    return flight->failure.status;
}
