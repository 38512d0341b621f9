/*
 * Bisecting by a command: of a trace the first event with which the command is bad, and of a
 * program's history the revision, with git asking.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bisect_probe.h"
#include "event_print.h"
#include "json_out.h"
#include "progress.h"
#include "rewrite.h"
#include "terminal.h"

#define PART      "part.trk"
#define ARGUMENTS (TRK_OPTIONS_OPERANDS_MOST + 4)

struct running {
    const struct trk_options *options;
    struct trk_input input;
    struct trk_scratch folder;
    char part[PATH_MAX];
    uint64_t events;
    bool shown;
    bool damaged;           /* the command has ended with 3 */
    struct trk_error error; /* of FAILED, if it was not said */
};

/* ---- the beginning of a trace ---------------------------------------------------------------- */

static enum trk_status put_events(struct trk_trace *trace, struct trk_writer *writer,
                                  uint64_t events, struct trk_error *error)
{
    const uint8_t *end = NULL, *snapshot = trk_trace_snapshot(trace, &end);
    enum trk_status status = TRK_OK;
    struct trk_trace_event event;
    if (snapshot != NULL) {
        status = trk_writer_snapshot(writer, snapshot, (size_t)(end - snapshot), error);
    }
    for (size_t i = 0; i < trk_trace_stream_count(trace) && status == TRK_OK; i++) {
        status = trk_writer_stream(writer, trk_trace_stream(trace, i), error);
    }
    while (status == TRK_OK && (status = trk_trace_next(trace, &event, error)) == TRK_OK &&
           event.number < events) {
        const struct trk_record record = {event.tsc, event.event};
        status = trk_writer_append(writer, trk_trace_stream(trace, event.stream)->stream_id,
                                   &record, 1, 0, error);
    }
    return status == TRK_E_END ? TRK_OK : status;
}

/* Write the first `events` of the trace to the part. It ends as the program did if they are all. */
static enum trk_status write_part(struct running *running, uint64_t events)
{
    struct trk_error *error = &running->error;
    struct trk_trace *trace = running->input.trace;
    struct trk_writer_options options = trk_rewrite_options(trace);
    struct trk_writer *writer = NULL;
    int fd = open(running->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "%s", running->part);
    }
    options.zstd_level = 1;
    enum trk_status status = trk_trace_rewind(trace, error);
    if (status == TRK_OK) {
        status = trk_writer_create(&writer, fd, &options, trk_trace_header_json(trace), error);
    }
    if (status == TRK_OK) {
        status = put_events(trace, writer, events, error);
    }
    if (status == TRK_OK) {
        const bool all = events >= running->events;
        status = trk_writer_end(writer, all ? trk_trace_state(trace).child_status : -1, error);
        writer = NULL;
    }
    trk_writer_destroy(writer);
    close(fd);
    return status;
}

/* ---- the search ------------------------------------------------------------------------------ */

static enum trk_bisect_answer ask_command(void *context, uint64_t at)
{
    struct running *running = context;
    const struct trk_options *options = running->options;
    const char *argv[ARGUMENTS];
    size_t count = 0;
    bool named = false;
    running->error.status = write_part(running, at);
    if (running->error.status != TRK_OK) {
        return TRK_BISECT_FAILED;
    }
    for (size_t i = 2; i < options->operand_count; i++) {
        bool here = strcmp(options->operands[i], "{}") == 0;
        named |= here;
        argv[count++] = here ? running->part : options->operands[i];
    }
    if (!named) {
        argv[count++] = running->part;
    }
    argv[count] = NULL;
    int status = trk_bisect_spawn(argv);
    enum trk_bisect_answer answer = trk_bisect_verdict_of(status);
    running->damaged |= status != -1 && trk_exit_of_program(status) == TRK_EXIT_DAMAGED;
    if (running->shown) {
        trk_progress_wipe();
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " events: %s\n", at, running->events,
                answer == TRK_BISECT_GOOD  ? "good"
                : answer == TRK_BISECT_BAD ? "bad"
                                           : "skipped");
    }
    return answer;
}

static enum trk_status count_events(struct running *running)
{
    struct trk_trace_event event;
    enum trk_status status;
    while ((status = trk_trace_next(running->input.trace, &event, &running->error)) == TRK_OK) {
        running->events++;
    }
    return status == TRK_E_END ? TRK_OK : status;
}

/* The event itself, for the report. */
static bool find_event(struct running *running, uint64_t number, struct trk_trace_event *event)
{
    if (trk_trace_rewind(running->input.trace, &running->error) != TRK_OK) {
        return false;
    }
    while (trk_trace_next(running->input.trace, event, &running->error) == TRK_OK) {
        if (event->number == number) {
            return true;
        }
    }
    return false;
}

static void print(struct running *running, const struct trk_bisect *bisect, const char *why,
                  bool good)
{
    struct trk_trace_event event;
    uint64_t number = bisect->bad - 1;
    bool found = !good && why == NULL && find_event(running, number, &event);
    const char *thread = found ? trk_trace_stream(running->input.trace, event.stream)->name : NULL;
    const char *type = found ? trk_event_type_name(event.event.type) : NULL;
    if (trk_options_flag(running->options, "json")) {
        cJSON *object = trk_json_out_object(TRK_BISECT_RUN_SCHEMA);
        trk_json_out_text(object, "path", running->input.path);
        cJSON_AddBoolToObject(object, "found", found);
        trk_json_out_text(object, "why", why);
        trk_json_out_number(object, "events", running->events);
        trk_json_out_number(object, "probes", bisect->probes);
        trk_json_out_number(object, "skipped", bisect->skipped);
        trk_json_out_number(object, "good_until", bisect->good);
        trk_json_out_number(object, "event", found ? number : TRK_NOT_KNOWN);
        trk_json_out_text(object, "thread", thread);
        trk_json_out_text(object, "type", type);
        trk_json_out_print(object);
        return;
    }
    if (good && why == NULL) {
        puts("good to the end");
    } else if (good) {
        printf("not found: %s\n", why);
    } else if (why != NULL) {
        printf("not found: %s\n", why);
        if (number > bisect->good) {
            printf("between    event %" PRIu64 " and event %" PRIu64 "\n", bisect->good, number);
        }
    } else {
        printf("first bad  event %" PRIu64 ", thread ", number);
        trk_terminal_text(stdout, thread != NULL ? thread : "");
        printf(": %s\n", type != NULL ? type : "");
    }
    printf("probes     %" PRIu64 " for %" PRIu64 " events\n", bisect->probes, running->events);
    if (found) {
        uint64_t from = number < 10 ? 0 : number - 10;
        printf("around it  trk dump ");
        trk_terminal_quote(stdout, running->input.path);
        printf(" %" PRIu64 "-%" PRIu64 "\n", from, number + 10);
    }
}

/* Why the event that was found is not what the command answers to; NULL: nothing says so. */
static const char *why_other(struct running *running, struct trk_bisect *bisect)
{
    struct trk_trace_event event;
    if (bisect->bad == 1) { /* that it is good without any event was taken for granted */
        bisect->probes++;
        enum trk_bisect_answer answer = ask_command(running, 0);
        if (answer == TRK_BISECT_BAD) {
            return "the command is bad with no event at all, too";
        }
        if (answer == TRK_BISECT_FAILED) {
            return "the command cannot be asked without any event";
        }
    }
    bool lost = find_event(running, bisect->bad - 1, &event) && event.event.type == TRK_EVENT_DROP;
    return lost ? "it is bad from where events are missing on: that may be what it answers to"
                : NULL;
}

/* Why neither a first bad event is known nor that there is none; NULL: one of them is. */
static const char *why_not(struct running *running, struct trk_bisect *bisect,
                           enum trk_bisect_answer answer, bool lossy)
{
    bool good = bisect->bad == running->events + 1;
    if (answer == TRK_BISECT_SKIP) {
        if (running->damaged) {
            return bisect->gave_up ? "too many in a row cannot be tested: the command ends with 3"
                                   : "what is left cannot be tested: the command ends with 3";
        }
        return bisect->gave_up ? "too many in a row cannot be tested"
                               : "what is left cannot be tested";
    }
    if (running->events == 0) {
        return "there is no event to test";
    }
    if (!good) {
        return why_other(running, bisect);
    }
    return lossy ? "good as far as the trace goes" : NULL;
}

static int search(struct running *running)
{
    const struct trk_options *options = running->options;
    running->error.status = count_events(running);
    if (running->error.status != TRK_OK) {
        return trk_input_fail(&running->input, options, TRK_BISECT_RUN_SCHEMA, &running->error);
    }
    int lacks = trk_input_report(&running->input, options);
    /* That all of it is bad is found out like all else: bad stands for more events than there are.
     */
    struct trk_bisect bisect = {.bad = running->events + 1, .ask = ask_command, .context = running};
    enum trk_bisect_answer answer = trk_bisect_search(&bisect);
    if (answer == TRK_BISECT_FAILED) {
        return running->error.status != TRK_OK
                   ? trk_input_fail(&running->input, options, TRK_BISECT_RUN_SCHEMA,
                                    &running->error)
                   : TRK_EXIT_ENVIRONMENT;
    }
    bool good = answer == TRK_BISECT_GOOD && bisect.bad == running->events + 1;
    const char *why = why_not(running, &bisect, answer, lacks != TRK_EXIT_OK);
    print(running, &bisect, why, good);
    trk_terminal_flush();
    return why != NULL ? TRK_EXIT_DAMAGED : good ? TRK_EXIT_OK : TRK_EXIT_BROKEN;
}

int trk_bisect_run(const struct trk_options *options)
{
    static struct running running;
    struct trk_options shifted = *options; /* the trace is the first operand */
    if (options->operand_count < 3) {
        trk_terminal_say("bisect", "run: expected a trace and a command: trk bisect run F -- CMD");
        return TRK_EXIT_USAGE;
    }
    shifted.operands[0] = options->operands[1];
    shifted.operand_count = 1;
    running =
        (struct running){.options = options,
                         .shown = !trk_options_flag(options, "json"),
                         .error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN}};
    int code = trk_input_open(&running.input, &shifted, TRK_BISECT_RUN_SCHEMA);
    if (code == TRK_EXIT_OK) { /* a part of it would hide what is lost */
        code = trk_rewrite_check(&running.input, options, TRK_BISECT_RUN_SCHEMA);
    }
    if (code == TRK_EXIT_OK) {
        code = trk_scratch_open(&running.folder, "bisect", NULL);
    }
    if (code == TRK_EXIT_OK) {
        trk_scratch_file(&running.folder, PART, running.part);
        code = search(&running);
        trk_scratch_close(&running.folder);
    }
    trk_input_close(&running.input);
    return code;
}

/* ---- git asks -------------------------------------------------------------------------------- */

/* trk sim's exit code in git's words. */
int trk_bisect_git(const struct trk_options *options)
{
    static struct trk_scratch folder;
    const char *const core = trk_options_text(options, "core");
    const char *argv[ARGUMENTS] = {"/proc/self/exe", "record", "--output"};
    char path[PATH_MAX];
    size_t count = 3;
    bool recorded = options->operand_count > 1;
    if (options->operand_count == 0 || (recorded && strcmp(options->operands[0], "record") != 0) ||
        trk_scratch_open(&folder, "bisect", NULL) != TRK_EXIT_OK) {
        trk_terminal_say("bisect", "--git: expected a trace, or a command to record: "
                                   "trk bisect --git F, trk bisect --git record -- CMD");
        return TRK_BISECT_CANNOT;
    }
    snprintf(path, sizeof path, "%s", options->operands[0]);
    /* It is judged once for each revision. */
    const char *once = recorded                        ? NULL
                       : strcmp(path, "-") == 0        ? "can be read once; name a file"
                       : trk_input_is_named_pipe(path) ? TRK_INPUT_NAMED_PIPE
                                                       : NULL;
    if (once != NULL) {
        trk_terminal_say("bisect", "%s: %s", path, once);
        trk_scratch_close(&folder);
        return TRK_BISECT_CANNOT;
    }
    int status = 0;
    if (recorded) {
        trk_scratch_file(&folder, PART, path);
        argv[count++] = path;
        argv[count++] = "--";
        for (size_t i = 1; i < options->operand_count; i++) {
            argv[count++] = options->operands[i];
        }
        argv[count] = NULL;
        status = trk_bisect_spawn(argv);
    }
    if (status != -1 && access(path, R_OK) == 0) {
        const char *const plain[] = {"/proc/self/exe", "sim", "--", path, NULL};
        const char *const of_core[] = {"/proc/self/exe", "sim", "--core", core, "--", path, NULL};
        status = trk_bisect_spawn(core != NULL ? of_core : plain);
    } else {
        trk_terminal_say("bisect", "%s: nothing to judge", path);
        status = -1;
    }
    trk_scratch_close(&folder);
    int code = status == -1 ? TRK_BISECT_CANNOT : trk_exit_of_program(status);
    return code == TRK_EXIT_OK || code == TRK_EXIT_BROKEN ? code : TRK_BISECT_CANNOT;
}
