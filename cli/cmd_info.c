/* trk info: what a trace is and what is in it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "clock_drift.h"
#include "command.h"
#include "input.h"
#include "json_out.h"
#include "options.h"
#include "page_hashes.h"
#include "progress.h"
#include "recorder/blobs.h"
#include "recorder/chunks.h"
#include "regions.h"
#include "terminal.h"

#define SCHEMA "trk-info/1"
/* An append that takes longer is none. */
#define APPEND_NS_MOST 1e6
/* Longer values of the header are cut in the text; --json has them whole. */
#define HEADER_SHOWN 100

static const struct trk_option info_options[] = {
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    {.name = "full",
     .about = "Read all of the file, and every event: finds damage that the index says nothing of, "
              "and counts faults and regions."},
    {.name = "quick",
     .about = "Never read the events, also where some were lost: their number is then left out."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

/* How much was read. */
enum extent { READ_INDEX, READ_EVENTS, READ_ALL };

struct info {
    struct trk_input input;
    enum extent extent;
    struct trk_trace_state state;
    uint64_t events;  /* without those that tell of losses; TRK_NOT_KNOWN: see read_trace */
    uint64_t faults;  /* TRK_NOT_KNOWN: events were not read */
    uint64_t regions; /* likewise */
    struct trk_page_hashes pages;
    uint64_t pages_stored;  /* contents; TRK_NOT_KNOWN: events were not read */
    uint64_t pages_missing; /* PAGE events that name another content, where there are any */
    struct overhead {
        double append_ns; /* as the header says; 0: it does not, and the rest is not known */
        double ns;        /* of all threads together */
        double share;     /* of the time from the first event to the last; 0: that is not known */
        bool pages;       /* what hashing them cost comes on top */
        bool waits;       /* and so do waits for room */
    } overhead;
};

/* Ticks from the first event to the last. */
static uint64_t ticks_of(const struct trk_trace *trace)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = 0; i < trk_trace_chunk_count(trace); i++) {
        const struct trk_trace_chunk chunk = trk_trace_chunk(trace, i);
        first = chunk.first_tsc < first ? chunk.first_tsc : first;
        last = chunk.last_tsc > last ? chunk.last_tsc : last;
    }
    return last > first ? last - first : 0;
}

/* What the program's threads did for these events: each was an append. */
static struct overhead estimate(const struct info *info)
{
    struct overhead out = {.append_ns = 0.0};
    const struct trk_trace *trace = info->input.trace;
    cJSON *header = cJSON_Parse(trk_trace_header_json(trace));
    const cJSON *capture = cJSON_GetObjectItemCaseSensitive(header, "capture");
    const cJSON *append = cJSON_GetObjectItemCaseSensitive(capture, "append_ns");
    const cJSON *hz = cJSON_GetObjectItemCaseSensitive(header, "tsc_hz");
    if (info->events != TRK_NOT_KNOWN && cJSON_IsNumber(append) && append->valuedouble > 0.0 &&
        append->valuedouble < APPEND_NS_MOST) {
        uint64_t ticks = ticks_of(trace);
        out.append_ns = append->valuedouble;
        out.ns = out.append_ns * (double)info->events;
        if (ticks > 0 && cJSON_IsNumber(hz) && hz->valuedouble >= 1.0) {
            out.share = out.ns / ((double)ticks * 1e9 / hz->valuedouble);
        }
    }
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(capture, "payload");
    const cJSON *block_ms = cJSON_GetObjectItemCaseSensitive(capture, "block_ms");
    out.pages = cJSON_IsString(payload) && strcmp(payload->valuestring, "none") != 0;
    out.waits = cJSON_IsNumber(block_ms) && block_ms->valuedouble > 0.0;
    cJSON_Delete(header);
    return out;
}

/* Whether the content that a PAGE event names is there. */
static enum trk_status look_for_content(struct info *info, const struct trk_event *event,
                                        struct trk_error *error)
{
    if (event->type != TRK_EVENT_PAGE || info->pages_stored == 0) {
        return TRK_OK;
    }
    enum trk_status status = trk_trace_blob_known(info->input.trace, trk_event_size(event), error);
    info->pages_missing += status == TRK_E_END;
    return status == TRK_E_END ? TRK_OK : status;
}

static enum trk_status count_events(struct info *info, struct trk_error *error)
{
    struct trk_regions *regions = trk_regions_create();
    struct trk_trace_event event;
    enum trk_status status = regions ? TRK_OK : trk_error_set(error, TRK_E_MEMORY, "out of memory");
    info->events = 0;
    info->faults = 0;
    if (status == TRK_OK) {
        status = trk_trace_blob_count(info->input.trace, &info->pages_stored, error);
    }
    while (status == TRK_OK) {
        status = trk_trace_next(info->input.trace, &event, error);
        if (status == TRK_OK) {
            info->events += event.event.type != TRK_EVENT_DROP;
            info->faults += event.event.type == TRK_EVENT_FAULT;
            trk_regions_note(regions, &event.event);
            status = look_for_content(info, &event.event, error);
            if (!trk_page_hashes_note(&info->pages, &event.event)) {
                status = trk_error_set(error, TRK_E_MEMORY, "out of memory");
            }
        }
    }
    info->regions = regions ? trk_regions_count(regions) : 0;
    trk_regions_destroy(regions);
    return status == TRK_E_END ? TRK_OK : status;
}

/* How the recorded program ended, in words. */
static void describe_child(int32_t status, char *out, size_t size)
{
    if (status == -1) {
        snprintf(out, size, "not known");
    } else if (WIFSIGNALED(status)) {
        snprintf(out, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(out, size, "exit code %d", WEXITSTATUS(status));
    }
}

static void print_header(const struct trk_trace *trace)
{
    cJSON *header = cJSON_Parse(trk_trace_header_json(trace));
    const cJSON *member;
    puts("header");
    cJSON_ArrayForEach(member, header)
    {
        char *text = cJSON_IsString(member) ? NULL : cJSON_PrintUnformatted(member);
        const char *value = text ? text : member->valuestring;
        char line[HEADER_SHOWN + 1];
        snprintf(line, sizeof line, "%s", value ? value : "");
        fputs("  ", stdout);
        trk_terminal_text(stdout, member->string ? member->string : "?");
        fputs(": ", stdout);
        trk_terminal_text(stdout, line);
        puts(value && strlen(value) > HEADER_SHOWN ? " ..." : "");
        cJSON_free(text);
    }
    cJSON_Delete(header);
}

static void print_count(const char *label, uint64_t number)
{
    if (number == TRK_NOT_KNOWN) {
        printf("%-10s not counted\n", label);
    } else {
        printf("%-10s %" PRIu64 "\n", label, number);
    }
}

static void print_overhead(const struct overhead *overhead)
{
    if (overhead->append_ns <= 0.0) {
        return;
    }
    printf("%-10s about %.3f ms of the program's threads, at %.1f ns an event", "overhead",
           overhead->ns / 1e6, overhead->append_ns);
    if (overhead->share > 0.0) {
        printf(": %.2f %% of the time that it covers", overhead->share * 100.0);
    }
    if (overhead->pages || overhead->waits) {
        printf("; %s%s%s on top", overhead->pages ? "hashes of pages" : "",
               overhead->pages && overhead->waits ? " and " : "",
               overhead->waits ? "waits for room" : "");
    }
    putchar('\n');
}

static void print_clock(const struct trk_trace *trace)
{
    const struct trk_clock_drift drift = trk_clock_drift_of(trace);
    if (!drift.known) {
        return;
    }
    printf("%-10s %+.1f ppm beside the header's frequency in %.3f s", "clock", drift.ppm,
           drift.seconds);
    if (drift.wall_known) {
        printf("; the wall clock %+.3f ms", drift.wall_ms);
    }
    putchar('\n');
}

static void print_text(const struct info *info)
{
    const struct trk_trace *trace = info->input.trace;
    char child[80];
    describe_child(info->state.child_status, child, sizeof child);
    fputs("trace      ", stdout);
    trk_terminal_text(stdout, info->input.path);
    printf("\n%-10s %" PRIu64, "bytes", info->input.bytes);
    if (info->events > 0 && info->events != TRK_NOT_KNOWN) {
        printf(" (%.2f an event)", (double)info->input.bytes / (double)info->events);
    }
    putchar('\n');
    print_count("events", info->events);
    print_count("faults", info->faults);
    print_count("regions", info->regions);
    print_count("dropped", info->state.dropped);
    if (info->pages.hashed > 0) {
        printf("%-10s %" PRIu64 " uploaded with a hash, %" PRIu64 " with nothing new, %" PRIu64
               " stored to during the copy\n",
               "pages", info->pages.hashed, info->pages.redundant, info->pages.moved);
    }
    if (info->pages_stored > 0 && info->pages_stored != TRK_NOT_KNOWN) {
        printf("%-10s %" PRIu64 " of pages, %" PRIu64 " missing\n", "contents", info->pages_stored,
               info->pages_missing);
    }
    print_overhead(&info->overhead);
    print_clock(trace);
    printf("%-10s ", "complete");
    trk_terminal_word(info->state.complete ? TRK_TONE_GOOD : TRK_TONE_DOUBT,
                      info->state.complete ? "yes" : "no");
    fputs(info->extent == READ_INDEX ? ", as the index says: trk info --full reads all of it" : "",
          stdout);
    printf("\n%-10s %s\n%-10s %s\n", "ended", info->state.ended ? "yes" : "no", "program", child);
    if (info->state.damaged_chunks > 0) {
        printf("%-10s %" PRIu64 " chunks, the first at byte %" PRIu64 "\n", "damaged",
               info->state.damaged_chunks, info->state.first_damage_offset);
    }
    printf("%-10s %zu\n", "threads", trk_trace_stream_count(trace));
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        const struct trk_trace_stream *stream = trk_trace_stream(trace, i);
        printf("  %2zu  %-5s %10" PRIu64 " events  %" PRIu64 " dropped  tid %" PRIu32 "  ", i,
               trk_trace_role_name(stream->role), stream->events, stream->dropped,
               stream->thread_id);
        trk_terminal_text(stdout, stream->name);
        putchar('\n');
    }
    print_header(trace);
}

/* null: not known. */
static void print_estimate(cJSON *object, const char *key, double number)
{
    if (number > 0.0) {
        cJSON_AddNumberToObject(object, key, number);
    } else {
        cJSON_AddNullToObject(object, key);
    }
}

static void print_drift(cJSON *object, const struct trk_trace *trace)
{
    const struct trk_clock_drift drift = trk_clock_drift_of(trace);
    cJSON_AddItemToObject(object, "clock_ppm",
                          drift.known ? cJSON_CreateNumber(drift.ppm) : cJSON_CreateNull());
    cJSON_AddItemToObject(object, "clock_seconds",
                          drift.known ? cJSON_CreateNumber(drift.seconds) : cJSON_CreateNull());
    cJSON_AddItemToObject(object, "wall_clock_ms",
                          drift.wall_known ? cJSON_CreateNumber(drift.wall_ms)
                                           : cJSON_CreateNull());
}

static void print_json(const struct info *info)
{
    static const char *const extents[] = {"index", "events", "all"};
    const struct trk_trace *trace = info->input.trace;
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", info->input.path);
    trk_json_out_number(object, "bytes", info->input.bytes);
    trk_json_out_number(object, "events", info->events);
    trk_json_out_number(object, "faults", info->faults);
    trk_json_out_number(object, "threads", trk_trace_stream_count(trace));
    trk_json_out_number(object, "regions", info->regions);
    cJSON_AddBoolToObject(object, "complete", info->state.complete);
    trk_json_out_text(object, "read", extents[info->extent]);
    cJSON_AddBoolToObject(object, "ended", info->state.ended);
    trk_json_out_number(object, "dropped", info->state.dropped);
    bool hashes = info->pages.hashed > 0;
    trk_json_out_number(object, "pages_hashed", hashes ? info->pages.hashed : TRK_NOT_KNOWN);
    trk_json_out_number(object, "pages_redundant", hashes ? info->pages.redundant : TRK_NOT_KNOWN);
    trk_json_out_number(object, "pages_moved", hashes ? info->pages.moved : TRK_NOT_KNOWN);
    trk_json_out_number(object, "pages_stored", info->pages_stored);
    trk_json_out_number(object, "pages_missing",
                        info->pages_stored != TRK_NOT_KNOWN ? info->pages_missing : TRK_NOT_KNOWN);
    print_estimate(object, "overhead_append_ns", info->overhead.append_ns);
    print_estimate(object, "overhead_ns", info->overhead.ns);
    print_estimate(object, "overhead_share", info->overhead.share);
    print_drift(object, trace);
    trk_json_out_number(object, "damaged_chunks", info->state.damaged_chunks);
    trk_json_out_number(object, "first_damage_offset", info->state.first_damage_offset);
    trk_json_out_text(object, "damage", info->state.damage[0] ? info->state.damage : NULL);
    trk_json_out_number(object, "order_gaps",
                        info->extent == READ_INDEX ? TRK_NOT_KNOWN : info->state.order_gaps);
    trk_json_out_end(object, info->state.child_status);
    cJSON *list = cJSON_AddArrayToObject(object, "thread_list");
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        const struct trk_trace_stream *stream = trk_trace_stream(trace, i);
        cJSON *entry = cJSON_CreateObject();
        trk_json_out_number(entry, "stream", i);
        trk_json_out_text(entry, "name", stream->name);
        trk_json_out_text(entry, "role", trk_trace_role_name(stream->role));
        trk_json_out_number(entry, "thread_id", stream->thread_id);
        trk_json_out_number(entry, "events", stream->events);
        trk_json_out_number(entry, "dropped", stream->dropped);
        cJSON_AddItemToArray(list, entry);
    }
    /* Passed on as it was written, if it is JSON and nothing else. */
    cJSON *header = cJSON_ParseWithOpts(trk_trace_header_json(trace), NULL, true);
    cJSON_AddRawToObject(object, "header", header ? trk_trace_header_json(trace) : "null");
    cJSON_Delete(header);
    trk_json_out_print(object);
}

/* What the command line asks for counts before what the environment or the settings say. */
static bool is_quick(const struct trk_options *options)
{
    static const char *const full[] = {"full", NULL}, *const quick[] = {"quick", NULL};
    bool asked = trk_options_asked(options, quick) || !trk_options_asked(options, full);
    return trk_options_flag(options, "quick") && asked;
}

/* What is asked for, or what it takes to say what is missing. */
static enum trk_status read_trace(struct info *info, const struct trk_options *options,
                                  struct trk_error *error)
{
    bool quick = is_quick(options);
    struct trk_trace *trace = info->input.trace;
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        info->events += trk_trace_stream(trace, i)->events;
    }
    info->state = trk_trace_state(trace);
    if (!quick && (trk_options_flag(options, "full") || !info->state.complete)) {
        info->extent = info->state.quick ? READ_EVENTS : READ_ALL;
        enum trk_status status = count_events(info, error);
        info->state = trk_trace_state(trace);
        return status;
    }
    /* Chunk headers count events with the marks of losses, and how many those are is inside. */
    info->events = info->state.dropped > 0 ? TRK_NOT_KNOWN : info->events;
    return TRK_OK;
}

static int run_info(const struct trk_options *options)
{
    static const char *const of_full[] = {"full", NULL};
    struct info info = {
        .faults = TRK_NOT_KNOWN, .regions = TRK_NOT_KNOWN, .pages_stored = TRK_NOT_KNOWN};
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (is_quick(options) && trk_terminal_refuse(options, of_full, "does not go with --quick")) {
        return TRK_EXIT_USAGE;
    }
    bool full = trk_options_flag(options, "full") && !is_quick(options);
    int code = (full ? trk_input_open : trk_input_open_quick)(&info.input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = read_trace(&info, options, &error);
    trk_progress_wipe();
    info.overhead = estimate(&info);
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&info.input, options, SCHEMA, &error);
    } else {
        (trk_options_flag(options, "json") ? print_json : print_text)(&info);
        trk_terminal_flush();
        code = trk_input_report(&info.input, options);
    }
    trk_page_hashes_deinit(&info.pages);
    trk_input_close(&info.input);
    return code;
}

const struct trk_command trk_cmd_info = {
    .name = "info",
    .about = "say what a trace is and what is in it",
    .operands = "[F]",
    .text =
        "Prints the size of a trace, what it counts, its threads, whether it is whole, and what "
        "its header says of the machine and the recording. What the recording cost the program's "
        "threads is estimated: its events, at what one took when the recording began.\n\n"
        "Of a whole trace only the index is read, however large the file is: damage between is "
        "not seen, and faults, regions and contents of pages, which need every event, are not "
        "counted. --full reads all. Where the index says that something is missing, or there is "
        "none, every event is read to say what. No event is run: see trk sim.",
    .examples = "trk info trace.trk\ntrk info --full --json trace.trk",
    .schema = SCHEMA,
    .options = info_options,
    .operands_most = 1,
    .judges_nothing = true,
    .run = run_info,
};
