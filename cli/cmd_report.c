/* trk report: where a trace's faults, copies and time went. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "command.h"
#include "input.h"
#include "json_out.h"
#include "options.h"
#include "page_hashes.h"
#include "progress.h"
#include "range.h"
#include "report_pages.h"
#include "report_times.h"
#include "terminal.h"
#include "track/address.h"

#define SCHEMA "trk-report/1"
/* Samples of the curve that people see. */
#define CURVE_SHOWN 12

static const struct trk_option report_options[] = {
    {.name = "top",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "10",
     .least = 1,
     .most = 100000,
     .about = "Regions and pages that are listed, at most."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

struct region {
    uint64_t guest_addr, faults, up, down, turns;
};

struct report {
    struct trk_input input;
    struct trk_report_pages pages;
    struct trk_report_times times;
    struct trk_page_hashes hashes;
    struct region *regions;
    size_t region_count;
    struct frame {
        uint64_t number;   /* TRK_NOT_KNOWN: the trace has none */
        uint64_t mappings; /* host mappings at its end */
    } * curve;
    size_t frames, capacity;
    size_t top;
    struct trk_clock clock;
    const char *asked; /* RANGE; NULL: all */
    struct trk_range range;
    bool any; /* event was in it */
};

/* ---- gathering ------------------------------------------------------------------------------- */

static enum trk_status note_frame(struct report *report, uint64_t number, struct trk_error *error)
{
    if (report->frames == report->capacity) {
        size_t more = report->capacity * 2 + 1024;
        void *curve = realloc(report->curve, more * sizeof *report->curve);
        if (curve == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for the frames");
        }
        report->curve = curve;
        report->capacity = more;
    }
    report->curve[report->frames++] = (struct frame){number, report->pages.borders + 1};
    return TRK_OK;
}

/* What is before the range has no count, but pages have their sides, rights and contents by it. */
static enum trk_status take_event(struct report *report, const struct trk_trace_event *event,
                                  bool counts, struct trk_error *error)
{
    const struct trk_page_hashes before = report->hashes;
    report->pages.silent = !counts;
    enum trk_status status = trk_report_pages_note(&report->pages, &event->event, error);
    if (status == TRK_OK && counts) {
        status = trk_report_times_note(&report->times, event, error);
    }
    if (status == TRK_OK && !trk_page_hashes_note(&report->hashes, &event->event)) {
        status = trk_error_set(error, TRK_E_MEMORY, "no memory for the pages' contents");
    }
    if (!counts) {
        report->hashes.hashed = before.hashed;
        report->hashes.redundant = before.redundant;
        report->hashes.moved = before.moved;
    }
    return status;
}

static enum trk_status gather(struct report *report, struct trk_error *error)
{
    struct trk_trace_event event;
    uint64_t frame = TRK_NOT_KNOWN; /* the one that has begun */
    bool shown = true;              /* something of it is in the range */
    enum trk_status status = TRK_OK;
    while (status == TRK_OK) {
        status = trk_trace_next(report->input.trace, &event, error);
        bool counts = status == TRK_OK && trk_range_has(&report->range, &event);
        if (status == TRK_OK && event.event.type == TRK_EVENT_FRAME) {
            bool ends = frame != TRK_NOT_KNOWN && shown;
            status = ends ? note_frame(report, frame, error) : TRK_OK;
            frame = event.event.argument;
            shown = false;
        }
        shown |= counts;
        report->any |= counts;
        if (status == TRK_OK) {
            status = take_event(report, &event, counts, error);
        }
        if (status == TRK_OK && trk_range_ends_at(&report->range, &event)) {
            status = TRK_E_END;
        }
    }
    bool last = shown || report->frames == 0;
    return status == TRK_E_END && last ? note_frame(report, frame, error)
           : status == TRK_E_END       ? TRK_OK
                                       : status;
}

/* Most to do first; of equal ones the lower address. */
static int by_work(const void *one, const void *other)
{
    const struct region *a = one, *b = other;
    uint64_t mine = a->faults + a->up + a->down, others = b->faults + b->up + b->down;
    return mine != others ? (mine < others) - (mine > others)
                          : (a->guest_addr > b->guest_addr) - (a->guest_addr < b->guest_addr);
}

static int by_turns(const void *one, const void *other)
{
    const struct trk_report_page *a = one, *b = other;
    return a->turns != b->turns ? (a->turns < b->turns) - (a->turns > b->turns)
                                : (a->key > b->key) - (a->key < b->key);
}

static enum trk_status sum_up(struct report *report, struct trk_error *error)
{
    trk_report_times_end(&report->times);
    trk_report_pages_sort(&report->pages);
    report->regions = calloc(report->pages.count + 1, sizeof *report->regions);
    if (report->regions == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the regions");
    }
    for (size_t i = 0; i < report->pages.count; i++) {
        const struct trk_report_page *page = &report->pages.slots[i];
        bool counted = page->faults + page->up + page->down + page->turns > 0;
        if (report->asked != NULL && !counted) {
            continue;
        }
        uint64_t guest_addr = (page->key - 1) * 4096 / TRK_REGION_BYTES * TRK_REGION_BYTES;
        if (report->region_count == 0 ||
            report->regions[report->region_count - 1].guest_addr != guest_addr) {
            report->regions[report->region_count++].guest_addr = guest_addr;
        }
        struct region *region = &report->regions[report->region_count - 1];
        region->faults += page->faults;
        region->up += page->up;
        region->down += page->down;
        region->turns += page->turns;
    }
    qsort(report->regions, report->region_count, sizeof *report->regions, by_work);
    if (report->pages.count > 0) {
        qsort(report->pages.slots, report->pages.count, sizeof *report->pages.slots, by_turns);
    }
    return TRK_OK;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Pages that went to and fro: at least there and back. */
static size_t ping_pong(const struct report *report)
{
    size_t count = 0;
    while (count < report->pages.count && report->pages.slots[count].turns >= 2) {
        count++;
    }
    return count;
}

static size_t shown(const struct report *report, size_t count)
{
    return count < report->top ? count : report->top;
}

static uint64_t nanoseconds(const struct report *report, uint64_t ticks)
{
    return ticks == TRK_NOT_KNOWN || report->clock.ticks_a_microsecond <= 0
               ? TRK_NOT_KNOWN
               : (uint64_t)((double)ticks * 1000 / report->clock.ticks_a_microsecond);
}

static double share(const struct report *report)
{
    return report->times.total == 0
               ? 0
               : 100 * (double)report->times.tracking / (double)report->times.total;
}

/* Frames by their numbers, which begin anywhere in a part of a trace. */
static void print_curve(const struct report *report)
{
    if (report->curve[0].number == TRK_NOT_KNOWN) {
        printf("\nhost mappings at the end, of no frame: %" PRIu64 "\n", report->curve[0].mappings);
        return;
    }
    fputs("\nhost mappings by frame:", stdout);
    for (size_t i = 0; i < report->frames; i += report->frames / CURVE_SHOWN + 1) {
        printf(" %" PRIu64 ": %" PRIu64, report->curve[i].number, report->curve[i].mappings);
    }
    putchar('\n');
}

static void print_text(const struct report *report)
{
    size_t pages = ping_pong(report);
    fputs("trace ", stdout);
    trk_terminal_text(stdout, report->input.path);
    if (report->asked != NULL) {
        fputs(", ", stdout);
        trk_terminal_text(stdout, report->asked);
    }
    printf("\n%-20s %8s %8s %8s %8s   (pages)\n", "region", "faults", "up", "down", "turns");
    for (size_t i = 0; i < shown(report, report->region_count); i++) {
        const struct region *region = &report->regions[i];
        printf("0x%-18" PRIx64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
               region->guest_addr, region->faults, region->up, region->down, region->turns);
    }
    printf("%zu pages go to and fro between CPU and GPU\n", pages);
    for (size_t i = 0; i < shown(report, pages); i++) {
        const struct trk_report_page *page = &report->pages.slots[i];
        printf("  0x%-16" PRIx64 " %8" PRIu32 " turns, %" PRIu32 " faults, %" PRIu32 " up, %" PRIu32
               " down\n",
               (page->key - 1) * 4096, page->turns, page->faults, page->up, page->down);
    }
    if (report->hashes.hashed > 0) {
        printf("%" PRIu64 " of %" PRIu64 " uploaded pages carried nothing new\n",
               report->hashes.redundant, report->hashes.hashed);
    } else {
        puts("redundant uploads are not known: the trace has no contents (trk record --payload)");
    }
    const unsigned steps[] = {500, 900, 990, 1000};
    static const char *const names[] = {"median", "90 %", "99 %", "longest"};
    printf("%zu faults were served", report->times.count);
    for (size_t i = 0; i < 4 && report->times.count > 0; i++) {
        uint64_t ticks = trk_report_times_latency(&report->times, steps[i]);
        uint64_t ns = nanoseconds(report, ticks);
        printf("%s %s %" PRIu64 " %s", i > 0 ? "," : ":", names[i],
               ns != TRK_NOT_KNOWN ? ns : ticks, ns != TRK_NOT_KNOWN ? "ns" : "ticks");
    }
    print_curve(report);
    printf("tracking took %.2f %% of the threads' time, copies apart\n", share(report));
}

static void add_pages(cJSON *object, const struct report *report)
{
    cJSON *list = cJSON_AddArrayToObject(object, "ping_pong");
    for (size_t i = 0; i < shown(report, ping_pong(report)); i++) {
        const struct trk_report_page *page = &report->pages.slots[i];
        cJSON *one = cJSON_CreateObject();
        trk_json_out_address(one, "guest_addr", (page->key - 1) * 4096);
        trk_json_out_number(one, "turns", page->turns);
        trk_json_out_number(one, "faults", page->faults);
        trk_json_out_number(one, "up", page->up);
        trk_json_out_number(one, "down", page->down);
        cJSON_AddItemToArray(list, one);
    }
}

static void add_curve(cJSON *object, const struct report *report)
{
    cJSON *curve = cJSON_AddArrayToObject(object, "mappings");
    cJSON *numbers = cJSON_AddArrayToObject(object, "frames");
    for (size_t i = 0; i < report->frames; i++) {
        const struct frame *frame = &report->curve[i];
        cJSON_AddItemToArray(curve, cJSON_CreateNumber((double)frame->mappings));
        cJSON_AddItemToArray(numbers, frame->number != TRK_NOT_KNOWN
                                          ? cJSON_CreateNumber((double)frame->number)
                                          : cJSON_CreateNull());
    }
}

static void print_json(const struct report *report)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", report->input.path);
    trk_json_out_text(object, "range", report->asked);
    cJSON_AddBoolToObject(object, "complete", trk_trace_state(report->input.trace).complete);
    cJSON *list = cJSON_AddArrayToObject(object, "regions");
    for (size_t i = 0; i < shown(report, report->region_count); i++) {
        const struct region *region = &report->regions[i];
        cJSON *one = cJSON_CreateObject();
        trk_json_out_address(one, "guest_addr", region->guest_addr);
        trk_json_out_number(one, "faults", region->faults);
        trk_json_out_number(one, "up", region->up);
        trk_json_out_number(one, "down", region->down);
        trk_json_out_number(one, "turns", region->turns);
        cJSON_AddItemToArray(list, one);
    }
    trk_json_out_number(object, "ping_pong_pages", ping_pong(report));
    add_pages(object, report);
    bool hashed = report->hashes.hashed > 0;
    trk_json_out_number(object, "uploads_hashed", hashed ? report->hashes.hashed : TRK_NOT_KNOWN);
    trk_json_out_number(object, "uploads_redundant",
                        hashed ? report->hashes.redundant : TRK_NOT_KNOWN);
    static const struct {
        const char *key;
        unsigned per_mille;
    } steps[] = {{"fault_median_ns", 500},
                 {"fault_90_ns", 900},
                 {"fault_99_ns", 990},
                 {"fault_longest_ns", 1000}};
    trk_json_out_number(object, "faults", report->times.count);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint64_t ticks = trk_report_times_latency(&report->times, steps[i].per_mille);
        trk_json_out_number(object, steps[i].key, nanoseconds(report, ticks));
    }
    add_curve(object, report);
    trk_json_out_number(object, "tracking_ns", nanoseconds(report, report->times.tracking));
    trk_json_out_number(object, "threads_ns", nanoseconds(report, report->times.total));
    trk_json_out_print(object);
}

/* One piece of the trace, in which all that has no end in it counts for nothing. */
static enum trk_status read_range(struct report *report, struct trk_error *error)
{
    struct trk_range *range = &report->range;
    enum trk_status status =
        report->asked != NULL ? trk_range_parse(report->asked, range, error) : TRK_OK;
    range->ticks_a_microsecond = report->clock.ticks_a_microsecond;
    if (status == TRK_OK && range->kind == TRK_RANGE_REGION) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "expected events, frames or a time: regions are listed anyway");
    }
    if (status == TRK_OK && range->kind == TRK_RANGE_TIME && range->ticks_a_microsecond <= 0) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the header does not say how long a tick is");
    }
    return status == TRK_OK ? trk_range_join(range, error) : status;
}

static enum trk_status read_trace(struct report *report, struct trk_error *error)
{
    enum trk_status status = read_range(report, error);
    if (status == TRK_OK) {
        status = gather(report, error);
    }
    if (status == TRK_OK && report->asked != NULL && !report->any) {
        char closest[TRK_RANGE_CLOSEST_BYTES];
        trk_range_closest(&report->range, closest);
        return trk_error_set(error, TRK_E_ARGUMENT, "nothing in range: %s", closest);
    }
    return status;
}

static int run_report(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct report report = {.top = (size_t)trk_options_number(options, "top"),
                            .range = trk_range_all(),
                            .asked = options->operand_count > 1 ? options->operands[1] : NULL};
    int code = trk_input_open(&report.input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    report.clock = trk_clock_from_header(trk_trace_header_json(report.input.trace));
    enum trk_status status = read_trace(&report, &error);
    if (status == TRK_OK) {
        status = sum_up(&report, &error);
    }
    trk_progress_wipe();
    if (status == TRK_OK) {
        (trk_options_flag(options, "json") ? print_json : print_text)(&report);
        trk_terminal_flush();
        code = trk_input_report(&report.input, options);
    } else {
        error.status = status;
        code = trk_input_fail(&report.input, options, SCHEMA, &error);
    }
    trk_range_free(&report.range);
    trk_report_pages_deinit(&report.pages);
    trk_report_times_deinit(&report.times);
    trk_page_hashes_deinit(&report.hashes);
    free(report.regions);
    free(report.curve);
    trk_input_close(&report.input);
    return code;
}

const struct trk_command trk_cmd_report = {
    .name = "report",
    .about = "where a trace's faults, copies and time went",
    .operands = "[F [RANGE]]",
    .text =
        "Lists the regions with the most faults and copied pages, and the pages that go to and fro "
        "between CPU and GPU: a turn is a fault, a copy or a GPU write that takes a page to the "
        "other side. Says how many uploaded pages carried nothing new, as far as the trace has "
        "hashes of their contents; how long faults took; how many host mappings the protection "
        "calls had made of the memory at the end of each frame; and which share of its threads' "
        "time the tracker took, from the outermost operation's beginning to its end, copies "
        "apart.\n\n"
        "RANGE counts a piece of the trace alone: events (100-2000), frame:5-9 or time:1.2s-1.5s. "
        "What was before says only what pages were like then.",
    .examples = "trk report trace.trk\ntrk report --top 3 --json trace.trk\n"
                "trk report trace.trk frame:100-110",
    .schema = SCHEMA,
    .options = report_options,
    .operands_most = 2,
    .run = run_report,
};
