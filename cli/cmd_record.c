/* trk record: run a command and write down what it says of its memory. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "recorder/record.h"
#include "simulator/last_state.h"
#include "terminal.h"
#include "trace_dir.h"

#define SCHEMA "trk-record/1"
/* Other recordings may take the name that was free a moment ago; more than this is no accident. */
#define NAME_TRIES   64
#define FLIGHT_LEAST (UINT64_C(64) << 10)
#define FLIGHT_MOST  (UINT64_C(64) << 30)

static const struct trk_option record_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = TRK_OPTION_TEXT,
     .value = "F",
     .about = "Write the trace to F, or to standard output for -. Without it the trace gets the "
              "next name in the trace directory."},
    {.name = "force", .letter = 'f', .about = "Overwrite F if it exists."},
    {.name = "ring",
     .kind = TRK_OPTION_SIZE,
     .value = "BYTES",
     .fallback = "4M",
     .least = (uint64_t)TRK_RECORD_RING_LEAST * TRK_RECORD_BYTES,
     .most = (uint64_t)TRK_RECORD_RING_MOST * TRK_RECORD_BYTES,
     .about = "Room for events that a thread has before they are drained: a power of two from 4K "
              "to 128M."},
    {.name = "payload",
     .kind = TRK_OPTION_CHOICE,
     .value = "WHAT",
     .choices = "none|hash|pages",
     .fallback = "none",
     .about = "What to keep of uploaded bytes: hash, of each page (trk info then counts "
              "uploads that carried nothing new); or pages, which also keeps each content once: "
              "such a trace holds the program's data."},
    {.name = "block",
     .kind = TRK_OPTION_NUMBER,
     .value = "MS",
     .fallback = "0",
     .most = TRK_RECORD_BLOCK_MOST,
     .about = "Let an event wait up to MS milliseconds for room in its ring. It may hold locks "
              "meanwhile. Events of signal handlers never wait. 0: what finds no room is dropped "
              "and counted."},
    {.name = "clock-shift",
     .kind = TRK_OPTION_NUMBER,
     .value = "BITS",
     .fallback = "5",
     .most = TRK_RECORD_SHIFT_MOST,
     .about = "Leave out so many of the lowest bits of each time stamp: about half of a file is "
              "times. 0: all of them are kept."},
    {.name = "fsync",
     .about = "Let each write reach the disk before the next: what is written four times a second "
              "then outlives the machine, too."},
    {.name = "guard",
     .about = "Let another process stand by: when trk record is killed, it makes the file whole "
              "with all that was committed, and goes on recording. Needs a file."},
    {.name = "flight",
     .kind = TRK_OPTION_SIZE,
     .value = "BYTES",
     .fallback = "0",
     .most = FLIGHT_MOST,
     .about = "Write nothing as it comes: keep the newest events in BYTES of memory, compressed, "
              "and write them when a trigger fires. From 64K; 0: write all as it comes."},
    {.name = "trigger",
     .kind = TRK_OPTION_TEXT,
     .value = "LIST",
     .fallback = "signal,api,control,fail,fatal",
     .about =
         "What makes --flight write, with commas between: signal (SIGUSR2 to trk record), api "
         "(the program asks), control (trk ctl snapshot), fail (an operation failed fast), "
         "fatal (a signal ended the command), exit, frame:A-B, frame:A-, mark:N; the last three "
         "up to 32 times."},
    {.name = "before",
     .kind = TRK_OPTION_NUMBER,
     .value = "MS",
     .fallback = "0",
     .most = UINT32_MAX,
     .about = "A dump goes back MS milliseconds before its trigger; 0: as far as there is."},
    {.name = "after",
     .kind = TRK_OPTION_NUMBER,
     .value = "MS",
     .fallback = "0",
     .most = UINT32_MAX,
     .about = "A dump is made MS milliseconds after its trigger."},
    {.name = "cooldown",
     .kind = TRK_OPTION_NUMBER,
     .value = "MS",
     .fallback = "1000",
     .most = UINT32_MAX,
     .about = "Triggers do nothing for MS milliseconds after a dump."},
    {.name = "dumps",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "8",
     .most = UINT32_MAX,
     .about = "Make at most N dumps; 0: as many as are asked for."},
    {.name = "states",
     .kind = TRK_OPTION_CHOICE,
     .value = "WHEN",
     .choices = "on|off",
     .fallback = "on",
     .about = "on: re-execute what --flight records, on a thread of trk record, so that a dump of "
              "a ring that has forgotten events begins with the state of the trackers and is "
              "judged as a whole. It goes back to the oldest such state in the ring, and what was "
              "not re-executed yet may take as much memory again, and then a file in the folder of "
              "F. Where less than half of the "
              "ring is behind it, the dump has all of the ring and no state. Nothing waits for the "
              "thread."},
    {.name = "json",
     .about = "Say what was written as a JSON object on standard output too, behind "
              "the command's own output, schema " SCHEMA "."},
    {.name = NULL},
};

/* A flight recording that wrote no dump: a file of that name is another recording's. */
static void say_nothing_written(const char *path)
{
    struct stat now;
    bool there = stat(path, &now) == 0 && S_ISREG(now.st_mode);
    trk_terminal_say("record", "no dump was written%s%s%s", there ? "; " : "", there ? path : "",
                     there ? " is what it was before" : "");
}

static void say_joins(const struct trk_record_result *result)
{
    if (!result->attached) {
        trk_terminal_say("record", "the command did not join the session: nothing was recorded");
    }
    if (result->refused_joins > 0) {
        trk_terminal_say("record",
                         "%" PRIu32 " further program%s wanted to record and %s refused: a trace "
                         "is of the first that joins",
                         result->refused_joins, result->refused_joins == 1 ? "" : "s",
                         result->refused_joins == 1 ? "was" : "were");
    }
}

static void say_result(const struct trk_record_result *result, const char *path, bool written)
{
    say_joins(result);
    if (!written) {
        say_nothing_written(path);
        return;
    }
    char each[40] = "";
    char thrown[100] = "";
    if (result->thrown_away > 0) {
        snprintf(thrown, sizeof thrown,
                 " (%" PRIu64 " of them because the file could not be written)",
                 result->thrown_away);
    }
    char flight[64] = "";
    char missing[40] = "";
    if (result->missing > 0) {
        snprintf(missing, sizeof missing, ", %" PRIu64 " missing", result->missing);
    }
    if (result->dumps > 0) {
        snprintf(flight, sizeof flight, "%" PRIu32 " dump%s, ", result->dumps,
                 result->dumps == 1 ? "" : "s");
    }
    if (result->pages > 0 || result->pages_missed > 0) {
        trk_terminal_say("record", "%" PRIu64 " contents of pages; %" PRIu64 " found no room",
                         result->pages, result->pages_missed);
    }
    if (result->events > 0) {
        snprintf(each, sizeof each, " (%.2f bytes/event)",
                 (double)result->bytes / (double)result->events);
    }
    trk_terminal_say("record",
                     "%s%" PRIu64 " events%s, %" PRIu64 " dropped%s, %" PRIu32 " threads, %" PRIu64
                     " bytes%s -> %s",
                     flight, result->events, missing, result->dropped, thrown, result->threads,
                     result->bytes, each, path);
}

/* path NULL: nothing was written there. */
static void print_json(const struct trk_record_result *result, const char *path,
                       const struct trk_error *error)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", path);
    cJSON_AddBoolToObject(object, "attached", result->attached);
    cJSON_AddBoolToObject(object, "complete", result->complete);
    if (error->status == TRK_OK) {
        cJSON_AddNullToObject(object, "error");
    } else {
        trk_json_out_error(object, error);
    }
    trk_json_out_number(object, "events", result->events);
    trk_json_out_number(object, "dropped", result->dropped);
    trk_json_out_number(object, "thrown_away", result->thrown_away);
    trk_json_out_number(object, "waits", result->waits);
    trk_json_out_number(object, "discarded", result->discarded);
    trk_json_out_number(object, "dumps", result->dumps);
    trk_json_out_number(object, "missing", result->missing);
    trk_json_out_number(object, "pages", result->pages);
    trk_json_out_number(object, "pages_missed", result->pages_missed);
    trk_json_out_number(object, "refused_joins", result->refused_joins);
    trk_json_out_number(object, "bytes", result->bytes);
    trk_json_out_number(object, "threads", result->threads);
    trk_json_out_end(object, result->child_status);
    trk_json_out_print(object);
}

static void say_waiting(void)
{
    trk_terminal_say("record", "the command has ended; waiting for a process that it left behind "
                               "and that records or may yet (interrupt to stop waiting)");
}

static void say_line(const char *text)
{
    trk_terminal_say("record", "%s", text);
}

static enum trk_record_payload payload_of(const struct trk_options *options)
{
    const char *what = trk_options_text(options, "payload");
    if (strcmp(what, "pages") == 0) {
        return TRK_PAYLOAD_PAGES;
    }
    return strcmp(what, "hash") == 0 ? TRK_PAYLOAD_HASH : TRK_PAYLOAD_NONE;
}

/* Record under the given name, or under the next free one. path is where it went. */
static enum trk_status record(const struct trk_options *options, char path[PATH_MAX],
                              struct trk_record_result *result, struct trk_error *error)
{
    const char *output = trk_options_text(options, "output");
    cJSON *settings = trk_options_json(options);
    char *settings_json = cJSON_PrintUnformatted(settings);
    const unsigned clock_shift = (unsigned)trk_options_number(options, "clock-shift");
    struct trk_record_options record = {
        .size = sizeof record,
        .path = output ? output : path,
        .overwrite = trk_options_flag(options, "force"),
        .argv = options->rest,
        .ring_records = (uint32_t)(trk_options_number(options, "ring") / TRK_RECORD_BYTES),
        .payload = payload_of(options),
        .clock_shift = &clock_shift,
        .block_ms = (uint32_t)trk_options_number(options, "block"),
        .waiting = say_waiting,
        .flight_bytes = trk_options_number(options, "flight"),
        .triggers = trk_options_text(options, "trigger"),
        .before_ms = (uint32_t)trk_options_number(options, "before"),
        .after_ms = (uint32_t)trk_options_number(options, "after"),
        .cooldown_ms = (uint32_t)trk_options_number(options, "cooldown"),
        .name = output ? NULL : trk_trace_dir_next,
        .dumps_most = (uint32_t)trk_options_number(options, "dumps"),
        .state = strcmp(trk_options_text(options, "states"), "on") == 0 ? trk_sim_last_state : NULL,
        .control = true,
        .guard = trk_options_flag(options, "guard"),
        .sync = trk_options_flag(options, "fsync"),
        .settings_json = settings_json,
        .say = say_line,
    };
    cJSON_Delete(settings);
    enum trk_status status = TRK_E_EXISTS;
    if (output) {
        snprintf(path, PATH_MAX, "%s", output);
        status = trk_record_command(&record, result, error);
        cJSON_free(settings_json);
        return status;
    }
    record.overwrite = false;
    result->child_status = -1;
    /* A dump's name may be taken, too: the command has run by then, and is not run again. */
    for (unsigned i = 0; i < NAME_TRIES && status == TRK_E_EXISTS && result->child_status == -1;
         i++) {
        status = trk_trace_dir_next(path, PATH_MAX, error);
        if (status == TRK_OK) {
            status = trk_record_command(&record, result, error);
        }
    }
    cJSON_free(settings_json);
    return status;
}

/* An error before the command ran: not a fault of its own, so never its exit code. */
static int fail_before_start(const struct trk_error *error)
{
    int code = trk_terminal_error("record", NULL, error);
    if (error->status == TRK_E_EXISTS) {
        trk_terminal_say("record", "give -f to overwrite it");
    }
    return code == TRK_EXIT_DAMAGED || code == TRK_EXIT_OK ? TRK_EXIT_INTERNAL : code;
}

/* Combinations that no single option can refuse: 2 with a message, or 0. */
static int check_options(const struct trk_options *options, bool to_stdout)
{
    static const char *const of_flight[] = {"trigger", "before", "after", "cooldown",
                                            "dumps",   "states", NULL};
    static const char *const of_output[] = {"force", NULL};
    uint64_t ring = trk_options_number(options, "ring");
    uint64_t flight = trk_options_number(options, "flight");
    if (trk_options_text(options, "output") == NULL &&
        trk_terminal_refuse(options, of_output, "goes with --output")) {
        return TRK_EXIT_USAGE;
    }
    if ((ring & (ring - 1)) != 0) {
        trk_terminal_say("record", "--ring: %" PRIu64 " is not a power of two", ring);
        return TRK_EXIT_USAGE;
    }
    if (flight > 0 && (flight < FLIGHT_LEAST || to_stdout)) {
        trk_terminal_say("record", to_stdout ? "--flight makes files: name one behind -o"
                                             : "--flight: less than 64K holds nothing");
        return TRK_EXIT_USAGE;
    }
    if (flight == 0 &&
        trk_terminal_refuse(options, of_flight, "means something with --flight only")) {
        return TRK_EXIT_USAGE;
    }
    if (flight > 0 && payload_of(options) == TRK_PAYLOAD_PAGES) {
        trk_terminal_say("record", "--payload pages needs a file that is written as events come");
        return TRK_EXIT_USAGE;
    }
    if (trk_options_flag(options, "guard") && (flight > 0 || to_stdout)) {
        trk_terminal_say("record", "--guard needs a file that is written as events come");
        return TRK_EXIT_USAGE;
    }
    if (to_stdout && isatty(STDOUT_FILENO)) {
        trk_terminal_say("record", "a trace is not for a terminal: name a file behind -o");
        return TRK_EXIT_USAGE;
    }
    if (to_stdout && trk_options_flag(options, "json")) {
        trk_terminal_say("record", "--json and -o - both want standard output");
        return TRK_EXIT_USAGE;
    }
    return 0;
}

static int run_record(const struct trk_options *options)
{
    char path[PATH_MAX] = "";
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_record_result result = {.child_status = -1};
    const char *output = trk_options_text(options, "output");
    bool to_stdout = output && strcmp(output, "-") == 0;
    int refused = check_options(options, to_stdout);
    if (refused != 0) {
        return refused;
    }
    enum trk_status status = record(options, path, &result, &error);
    error.status = status;
    if (status != TRK_OK && result.child_status == -1) {
        return fail_before_start(&error);
    }
    if (status != TRK_OK) {
        (void)trk_terminal_error("record", NULL, &error);
        trk_terminal_say("record", "THE TRACE IS NOT COMPLETE; the exit code is the command's own");
    }
    bool written = trk_options_number(options, "flight") == 0 || result.dumps > 0;
    const char *where = result.path[0] != '\0' ? result.path : path;
    say_result(&result, to_stdout ? "standard output" : where, written);
    if (trk_options_flag(options, "json")) {
        print_json(&result, written ? where : NULL, &error);
    }
    trk_terminal_keep_code();
    return trk_exit_of_program(result.child_status);
}

const struct trk_command trk_cmd_record = {
    .name = "record",
    .about = "run a command and record what it says of its memory",
    .operands = "[--] CMD [ARGUMENT...]",
    .text =
        "Runs CMD with a recording session and writes what its threads emit, compressed. Recorded "
        "is the first program that joins, CMD or what CMD starts; further ones are refused and "
        "counted. The recording ends when CMD and the recorded program have ended; while none has "
        "joined, when nothing that CMD left behind holds the session. If the program dies, "
        "everything it had committed before is in the trace; if trk record dies, the program goes "
        "on unrecorded and what was written so far can be read.\n\n"
        "SIGINT, SIGTERM, SIGHUP and SIGQUIT that are sent to trk record go to CMD; from the "
        "terminal CMD gets its own. Once CMD has ended, any of them ends the waiting for others: "
        "the trace then has no end mark.\n\n"
        "With --flight nothing is written until something happens: see --trigger. What never "
        "fired is told at the end, with what came closest. trk ctl talks to a recording that "
        "runs.\n\n"
        "The exit code is CMD's own, also when the trace could not be written whole: the messages "
        "and --json say that.",
    .exits = "CMD's own exit code, or 128 and the number of the signal that ended it. Errors "
             "before CMD has started give 2 (no such command; F exists and -f is not given; "
             "another recording writes F), 4 (no permission, no room) or 70 (a fault of trk).",
    .examples = "trk record -o trace.trk -- trk demo --frames 60\n"
                "trk record -- ./emulator game.bin && trk sim\n"
                "trk record --flight 64M --trigger fail,fatal,frame:500-520 -- ./emulator game.bin",
    .schema = SCHEMA,
    .options = record_options,
    .operands_least = 1,
    .runs_command = true,
    .run = run_record,
};
