/*
 * The recording parent.
 *
 * One thread: start the command, wait until it has joined (or gone without), write the header, then
 * drain in short turns until the command has ended and nobody is left who may write. The producer
 * never calls the kernel to wake us, so turns are timed: the next one follows at once when a ring
 * was an eighth full, and turns grow twice as long, up to 50 ms, while all stay below; so a steady
 * stream never gets past a quarter. When the file takes no more, the rings are drained and counted
 * all the same. A flight recording keeps in memory what others write (record_flight.c), and one
 * that only counts keeps nothing.
 */
#include "recorder/record.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record_append.h"
#include "record_ease.h"
#include "record_flight.h"
#include "record_guard.h"
#include "record_internal.h"
#include "record_text.h"

/* The header waits for the program to join and name its tracker; so long after the first event. */
#define TRACKER_WAIT_NS UINT64_C(100000000)
/* Others outlive the command for so long before it is worth a word. */
#define WAITING_NS UINT64_C(1000000000)

static bool has_tracker(const struct recording *recording)
{
    for (unsigned id = 0; id < TRK_SESSION_TRACKERS; ++id) {
        if (atomic_load_explicit(&recording->session.control->trackers[id].known,
                                 memory_order_acquire))
            return true;
    }
    return false;
}

/* The most that a ring holds. Nothing has been taken yet: positions are counts. */
static uint64_t fullest_ring(const struct recording *recording)
{
    uint64_t fullest = 0;
    for (uint32_t i = 0; i < recording->session.ring_count; ++i) {
        uint64_t head =
            atomic_load_explicit(&recording->session.rings[i].head, memory_order_relaxed);
        fullest = head > fullest ? head : fullest;
    }
    return fullest;
}

/* So many rings in use that those of ended threads should be given back. */
static bool rings_are_scarce(const struct recording *recording)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < recording->session.ring_count; ++i)
        used += atomic_load_explicit(&recording->session.rings[i].state, memory_order_relaxed) !=
                TRK_RING_FREE;
    return used >= recording->session.ring_count / 4;
}

/* Those who outlive the command are waited for, until a signal says that it is enough. */
static bool wait_for_others(struct recording *recording, int timeout_ms)
{
    if (recording->child_ended_ns == 0) {
        recording->child_ended_ns = trk_record_now_ns();
        trk_record_signals_forget(); /* so far they were the command's */
    }
    if (recording->interrupted || trk_record_program_ended(&recording->program))
        return true;
    recording->interrupted = trk_record_signals_came();
    if (!recording->told_waiting && recording->options->waiting &&
        trk_record_now_ns() - recording->child_ended_ns >= WAITING_NS) {
        recording->told_waiting = true;
        recording->options->waiting();
    }
    (void)poll(NULL, 0, timeout_ms);
    return false;
}

/* A signal for a dump that is no trigger here does nothing, and whoever sent it is told. */
static void answer_signal(const struct recording *recording)
{
    if (recording->flight && trk_record_flight_heeds_signal(recording))
        return;
    if (trk_record_signals_dump() && recording->options->say)
        recording->options->say("SIGUSR2 came, and signal is no trigger here: nothing is dumped");
}

/* Let some time pass; true when nobody will write any more, or nobody is waited for. */
static bool pass_time(struct recording *recording, int timeout_ms)
{
    answer_signal(recording);
    if (trk_record_child_wait(&recording->child, timeout_ms))
        return wait_for_others(recording, timeout_ms);
    trk_record_child_forward(&recording->child);
    trk_record_program_look(&recording->program);
    return false;
}

/* Whoever asks before there is anything is told so, and need not wait. */
static void answer_early(struct recording *recording)
{
    const char *command;
    while ((command = trk_record_control_next(&recording->control)) != NULL)
        trk_record_control_answer(&recording->control,
                                  strcmp(command, "status") == 0
                                      ? "ok 0 events, 0 dropped, nothing is recorded yet"
                                      : "error nothing is recorded yet");
}

/*
 * Wait until there is something to say in the header: a tracker, or an end. As long as there are no
 * events nothing can be lost by waiting. A flight recording makes a header for each dump, so it
 * only waits for events: a trigger may be behind the first of them.
 */
static void await_program(struct recording *recording)
{
    uint64_t first_event_ns = 0;
    while (!pass_time(recording, TRK_RECORD_TURN_BUSY_MS)) {
        uint64_t held = fullest_ring(recording);
        if (held == 0) {
            answer_early(recording);
            continue;
        }
        uint64_t now = trk_record_now_ns();
        if (first_event_ns == 0)
            first_event_ns = now;
        if (recording->flight || has_tracker(recording) || rings_are_scarce(recording) ||
            held > recording->session.ring_records / 8 || now - first_event_ns >= TRACKER_WAIT_NS)
            break;
    }
}

/* The threads of a program that is not the command itself may be asked for, too. */
static void follow_program(struct recording *recording)
{
    struct trk_record_drain *drain = &recording->drain;
    uint32_t pid = atomic_load_explicit(&recording->session.control->pid, memory_order_relaxed);
    bool followed = recording->program.state == TRK_PROGRAM_FOLLOWED;
    bool own = !recording->child.ended && (pid_t)pid == recording->child.pid;
    drain->program = followed || own ? (pid_t)pid : 0;
    drain->program_fd = followed ? recording->program.pidfd : -1;
}

static void make_mark(struct recording *recording, const char *number)
{
    struct trk_event mark = {.type = TRK_EVENT_MARK};
    if (!trk_record_text_number(&number, &mark.argument) || *number != '\0') {
        trk_record_control_answer(&recording->control, "error mark needs a number");
        return;
    }
    trk_record_drain_own(&recording->drain, &mark, recording->error);
    if (recording->book) /* no ring holds it for a guard */
        trk_record_output_flush(recording);
    trk_record_control_answer(&recording->control,
                              recording->drain.disabled ? "error disabled" : "ok");
}

static void make_snapshot(struct recording *recording)
{
    char answer[TRK_CONTROL_LINE];
    if (recording->flight) {
        trk_record_flight_snapshot(recording); /* answers when the dump is there */
        return;
    }
    trk_record_output_flush(recording);
    if (recording->drain.status != TRK_OK)
        snprintf(answer, sizeof answer, "error the file cannot be written");
    else
        snprintf(answer, sizeof answer, "ok %" PRIu64 " events", recording->drain.events);
    trk_record_control_answer(&recording->control, answer);
}

static void tell_status(struct recording *recording)
{
    char flight[TRK_CONTROL_LINE - 64] = "";
    char answer[TRK_CONTROL_LINE];
    if (recording->flight)
        trk_record_flight_status(recording, flight, sizeof flight);
    snprintf(answer, sizeof answer, "ok %" PRIu64 " events, %" PRIu64 " dropped%s%s%s",
             recording->drain.events, recording->drain.dropped,
             recording->drain.disabled ? ", disabled" : "", flight[0] ? ", " : "", flight);
    trk_record_control_answer(&recording->control, answer);
}

/*
 * Whoever continues has to know which of the events that it finds were meant to be thrown away: so
 * the book comes as far as the rings were taken before the change.
 */
static void set_disabled(struct recording *recording, bool disabled)
{
    if (recording->book) {
        trk_record_output_flush(recording);
        atomic_store_explicit(&recording->book->disabled, disabled, memory_order_release);
    }
    recording->drain.disabled = disabled;
}

/* A command acts on all that was recorded before it was given, so the rings are emptied once more.
 */
static void obey_control(struct recording *recording, struct trk_record_turns *turns)
{
    const char *command;
    while ((command = trk_record_control_next(&recording->control)) != NULL) {
        trk_record_turn(turns);
        bool enable = strcmp(command, "enable") == 0;
        if (enable || strcmp(command, "disable") == 0) {
            set_disabled(recording, !enable);
            trk_record_control_answer(&recording->control, "ok");
        } else if (strcmp(command, "snapshot") == 0) {
            make_snapshot(recording);
        } else if (strcmp(command, "status") == 0) {
            tell_status(recording);
        } else if (strncmp(command, "mark ", 5) == 0) {
            make_mark(recording, command + 5);
        } else {
            trk_record_control_answer(&recording->control, "error no such command");
        }
    }
}

struct watch {
    struct recording *recording;
    struct trk_record_turns turns;
    bool ended; /* nobody will write any more */
};

/*
 * Turns, and the time between them, as long as they stay as urgent as the first. A flight recording
 * has one: what follows it is not for who gives way.
 */
static void take_turns(void *context)
{
    struct watch *watch = context;
    struct recording *recording = watch->recording;
    const bool hurry = watch->turns.hurry;
    do {
        watch->ended = pass_time(recording, watch->turns.next_ms);
        if (watch->ended || trk_record_turns_late(&watch->turns))
            return;
        trk_record_turn(&watch->turns);
        follow_program(recording);
        obey_control(recording, &watch->turns);
    } while (watch->turns.hurry == hurry && recording->flight == NULL);
}

/*
 * Drain until nobody writes any more, then what is left. Who gives way also waits for the next
 * turn: else each would wake a thread that does not, and the program's threads would make way for
 * it.
 */
static enum trk_status drain_until_end(struct recording *recording)
{
    struct watch watch = {.recording = recording,
                          .turns = trk_record_turns_begin(recording, recording->error)};
    struct trk_record_ease ease;
    trk_record_ease_init(&ease);
    while (!watch.ended) {
        trk_record_ease_do(&ease, watch.turns.hurry, take_turns, &watch);
        if (recording->flight && !watch.ended)
            trk_record_flight_turn(recording);
    }
    trk_record_ease_deinit(&ease);
    return trk_record_drain_finish(&recording->drain, recording->error);
}

/* The counts of a recording that wrote nothing as it went: nothing of it is thrown away. */
static void end_without_file(struct recording *recording, enum trk_status *status)
{
    struct trk_record_result *result = recording->result;
    if (recording->flight && recording->drain.batch != NULL) /* there was a drain */
        *status = trk_record_flight_end(recording);
    if (!recording->flight)
        result->events = recording->drain.events;
    result->dropped = recording->drain.dropped;
}

/* What the program said of itself when the header was in the file is nowhere. */
static void tell_late_abouts(const struct recording *recording)
{
    char text[128];
    uint32_t late = trk_record_header_abouts(recording->session.control) - recording->abouts;
    if (recording->fd < 0 || late == 0 || !recording->options->say)
        return;
    snprintf(text, sizeof text,
             "%" PRIu32
             " things that the program said of itself came after the header was written, "
             "and are not in the trace",
             late);
    recording->options->say(text);
}

/* The command runs: record it to its end. It is awaited whatever becomes of the file. */
static enum trk_status record_child(struct recording *recording)
{
    struct trk_record_result *result = recording->result;
    uint64_t started_ns = trk_record_now_ns();
    await_program(recording);
    enum trk_status status = TRK_OK;
    trk_record_output_look(recording);
    recording->abouts = trk_record_header_abouts(recording->session.control);
    if (recording->fd >= 0)
        status = trk_record_output_header(recording);
    if (trk_record_drain_init(&recording->drain, &recording->session, recording->writer,
                              status == TRK_OK ? recording->error : NULL) == TRK_OK) {
        recording->drain.status = status;
        recording->drain.book = recording->book;
        recording->drain.keeps_pages = recording->options->payload == TRK_PAYLOAD_PAGES;
        if (recording->flight)
            trk_record_flight_turn(recording);
        status = drain_until_end(recording);
    } else {
        status = status == TRK_OK ? TRK_E_MEMORY : status;
        while (!pass_time(recording, TRK_RECORD_TURN_MOST_MS)) {
        }
    }
    result->child_status = recording->child.wait_status;
    result->duration_ns = trk_record_now_ns() - started_ns;
    trk_record_count(recording);
    tell_late_abouts(recording);
    if (recording->fd < 0)
        end_without_file(recording, &status);
    else
        trk_record_output_end(recording, &status);
    trk_record_drain_deinit(&recording->drain);
    bool made = recording->flight == NULL || result->dumps > 0;
    result->complete = status == TRK_OK && result->dropped == 0 && result->missing == 0 && made;
    return status;
}

static enum trk_status start_child(struct recording *recording)
{
    recording->append_ns = trk_record_append_ns();
    recording->start = trk_record_header_anchor();
    struct trk_record_child_start start = {
        .argv = recording->options->argv,
        .session_fd = trk_record_session_share(&recording->session),
        .output_to_stderr = recording->is_stdout,
        .signals = &recording->signals,
        .command = recording->book ? &recording->book->command : NULL,
    };
    if (start.session_fd < 0)
        return trk_record_output_error(recording, TRK_E_SYSTEM, errno);
    enum trk_status status = trk_record_child_init(&recording->child, &start, recording->error);
    close(start.session_fd);
    if (status != TRK_OK)
        return status;
    if (recording->fd >= 0)
        trk_record_output_begin(recording);
    return TRK_OK;
}

static enum trk_status open_target(struct recording *recording)
{
    if (recording->options->count_only)
        return TRK_OK;
    if (recording->options->flight_bytes > 0)
        return trk_record_flight_init(recording);
    return trk_record_output_open(recording);
}

/* A recording that nobody can talk to is as good as any other; who wants to is told. */
static void open_control(struct recording *recording)
{
    struct trk_error error = {.text = ""};
    char text[sizeof error.text + 40];
    if (trk_record_control_init(&recording->control, &error) == TRK_OK || !recording->options->say)
        return;
    snprintf(text, sizeof text, "trk ctl will not reach it: %s", error.text);
    recording->options->say(text);
}

static enum trk_status record_with_session(struct recording *recording)
{
    enum trk_status status = open_target(recording);
    if (status == TRK_OK && recording->options->guard)
        status = trk_record_guard_start(recording);
    if (status == TRK_OK && recording->options->control)
        open_control(recording);
    if (status == TRK_OK)
        status = start_child(recording);
    bool started = status == TRK_OK;
    if (started) {
        trk_record_program_init(&recording->program, &recording->session);
        status = record_child(recording);
        trk_record_program_deinit(&recording->program);
        trk_record_child_deinit(&recording->child);
    }
    trk_record_control_deinit(&recording->control);
    trk_record_guard_dismiss(recording);
    trk_record_flight_deinit(recording);
    trk_record_output_close(recording, started && (status == TRK_OK || status == TRK_E_INCOMPLETE ||
                                                   recording->result->events > 0));
    return status;
}

/* Whether the options can be meant. */
static enum trk_status check_options(const struct trk_record_options *options,
                                     struct trk_error *error)
{
    if (!options || options->size != sizeof(*options) || !options->argv || !options->argv[0] ||
        (!options->path && !options->count_only))
        return trk_error_set(error, TRK_E_ARGUMENT, "record: a path and a command are needed");
    if (options->guard && (options->flight_bytes > 0 || options->count_only))
        return trk_error_set(error, TRK_E_ARGUMENT, "record: a guard guards a file");
    if (options->payload == TRK_PAYLOAD_PAGES && (options->flight_bytes > 0 || options->count_only))
        return trk_error_set(error, TRK_E_ARGUMENT, "record: pages are kept in a file only");
    if (options->clock_shift && *options->clock_shift > TRK_RECORD_SHIFT_MOST)
        return trk_error_set(error, TRK_E_ARGUMENT, "record: time stamps lose %u bits at most",
                             TRK_RECORD_SHIFT_MOST);
    if (options->block_ms > TRK_RECORD_BLOCK_MOST)
        return trk_error_set(error, TRK_E_ARGUMENT, "record: events may wait %u ms at most",
                             TRK_RECORD_BLOCK_MOST);
    return TRK_OK;
}

enum trk_status trk_record_command(const struct trk_record_options *options,
                                   struct trk_record_result *result, struct trk_error *error)
{
    struct trk_record_result ignored = {0};
    struct recording recording = {.options = options,
                                  .result = result ? result : &ignored,
                                  .error = error,
                                  .fd = -1,
                                  .farewell_fd = -1,
                                  .control = {.commands = -1, .answers = -1}};
    *recording.result = (struct trk_record_result){.child_status = -1};
    enum trk_status status = check_options(options, error);
    if (status != TRK_OK)
        return status;
    trk_record_signals_init(&recording.signals);
    status =
        trk_record_session_init(&recording.session, options->ring_records, options->payload, error);
    if (status == TRK_OK) {
        recording.session.control->block_ms = options->block_ms;
        status = record_with_session(&recording);
        cJSON_Delete(recording.mappings);
        trk_record_session_deinit(&recording.session);
    }
    trk_record_signals_deinit(&recording.signals);
    return status;
}
