/* trk follow: the events of a trace while it is recorded. */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "command.h"
#include "event_print.h"
#include "options.h"
#include "recorder/follow.h"
#include "refusal.h"
#include "spool.h"
#include "terminal.h"
#include "trace_dir.h"

#define SCHEMA  "trk-follow/1"
#define WAIT_MS 50

static const struct trk_option follow_options[] = {
    {.name = "json", .about = "One JSON object a line and event, schema " SCHEMA "."},
    {.name = "idle",
     .kind = TRK_OPTION_NUMBER,
     .value = "SECONDS",
     .fallback = "0",
     .most = 86400,
     .about = "End when nothing was written for so long; 0: only at the trace's end."},
    {.name = NULL},
};

struct follower {
    struct trk_follow *follow;
    struct trk_spool *spool;
    struct trk_clock clock;
    bool json;
    uint64_t first_tsc;
};

static void print(const struct follower *follower, const struct trk_trace_event *event)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_follow_event_fields(follower->follow, &event->event, fields);
    const char *type = trk_follow_type_name(follower->follow, event->event.type);
    char name[100];
    char time[40];
    trk_event_text_thread(trk_follow_name(follower->follow, event->stream), event->stream, name,
                          sizeof name);
    trk_clock_print(&follower->clock, event->tsc, follower->first_tsc, time, sizeof time);
    if (follower->json) {
        printf("{\"schema\":\"" SCHEMA "\",\"%s\":%s,\"stream\":%" PRIu32 ",\"type\":\"%s\"",
               follower->clock.ticks_a_microsecond > 0 ? "time_us" : "ticks", time, event->stream,
               type);
        trk_event_text_print_json(stdout, fields, count);
        puts("}");
        return;
    }
    printf("%14s  ", time);
    trk_event_text_line(stdout, name, type, fields, count);
}

/* A pipe, all of which has come. */
static bool has_ended(const struct follower *follower)
{
    return follower->spool->path[0] && atomic_load(&follower->spool->ended);
}

static enum trk_status say_ended(const struct follower *follower, struct trk_error *error)
{
    enum trk_status status = trk_spool_wait(follower->spool, error);
    return status == TRK_OK
               ? trk_error_set(error, TRK_E_INCOMPLETE, "the pipe has ended, the trace has not")
               : status;
}

/* The header comes when the program has joined. */
static enum trk_status open_trace(struct follower *follower, const char *path, uint64_t idle_ms,
                                  struct trk_error *error)
{
    uint64_t waited_ms = 0;
    for (;;) {
        bool last = has_ended(follower);
        enum trk_status status = trk_follow_open(&follower->follow, path, error);
        if (status == TRK_E_INCOMPLETE && last) {
            return say_ended(follower, error);
        }
        if (status != TRK_E_INCOMPLETE || (idle_ms > 0 && waited_ms >= idle_ms)) {
            return status;
        }
        (void)poll(NULL, 0, WAIT_MS);
        waited_ms += WAIT_MS;
    }
}

/* Until the end, or nobody reads, or nobody has written for so long. */
static enum trk_status follow_events(struct follower *follower, uint64_t idle_ms,
                                     struct trk_error *error)
{
    uint64_t waited_ms = 0;
    bool first = true;
    for (;;) {
        struct trk_trace_event event;
        bool last = has_ended(follower);
        enum trk_status status = trk_follow_next(follower->follow, &event, error);
        if (status == TRK_OK) {
            follower->first_tsc = first ? event.tsc : follower->first_tsc;
            first = false;
            waited_ms = 0;
            print(follower, &event);
        } else if (status == TRK_E_INCOMPLETE) {
            trk_terminal_flush();
            if (last) {
                return say_ended(follower, error);
            }
            if (idle_ms > 0 && waited_ms >= idle_ms) {
                return trk_error_set(error, status, "nothing was written for %" PRIu64 " s",
                                     idle_ms / 1000);
            }
            (void)poll(NULL, 0, WAIT_MS);
            waited_ms += WAIT_MS;
        } else {
            return status == TRK_E_END ? TRK_OK : status;
        }
        if (!trk_terminal_alive()) {
            return TRK_OK;
        }
    }
}

static int run_follow(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct follower follower = {.json = trk_options_flag(options, "json")};
    static char path[PATH_MAX];
    const char *operand = options->operand_count > 0 ? options->operands[0] : NULL;
    const char *shown = operand ? operand : path;
    uint64_t idle_ms = trk_options_number(options, "idle") * 1000;
    static struct trk_spool spool;
    enum trk_status status = trk_trace_dir_named(path, sizeof path, operand, &error);
    follower.spool = &spool;
    if (status == TRK_OK) {
        status = trk_spool_begin(&spool, path, &error);
    }
    if (status == TRK_OK) {
        status = open_trace(&follower, spool.path[0] ? spool.path : path, idle_ms, &error);
    }
    if (status == TRK_OK) {
        follower.clock = trk_clock_from_header(trk_follow_header_json(follower.follow));
        status = follow_events(&follower, idle_ms, &error);
        trk_follow_close(follower.follow);
    }
    trk_terminal_flush();
    if (status == TRK_OK) {
        return TRK_EXIT_OK;
    }
    error.status = status;
    trk_refusal_path(shown[0] ? shown : NULL);
    return trk_terminal_error("follow", shown[0] ? shown : NULL, &error);
}

const struct trk_command trk_cmd_follow = {
    .name = "follow",
    .about = "print the events of a trace while it is recorded",
    .operands = "[F]",
    .text =
        "Prints events as trk record writes them, until the trace ends. A chunk at a time: events "
        "of one thread are in order, those of several are not, and have no numbers yet; trk "
        "dump has both afterwards. F may be a pipe.",
    .examples = "trk follow trace.trk\ntrk record -o - -- ./emulator | trk follow -\ntrk follow "
                "--json --idle=10 trace.trk | grep frame",
    .exits =
        "0 at the trace's end; 3 when it is damaged, when a pipe ends before, or with --idle when "
        "nothing comes.",
    .schema = SCHEMA,
    .options = follow_options,
    .operands_most = 1,
    .json_lines = true,
    .run = run_follow,
};
