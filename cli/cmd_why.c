/* trk why: who has the current bytes of an address. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "input.h"
#include "json_out.h"
#include "modules.h"
#include "number.h"
#include "options.h"
#include "progress.h"
#include "simulator/why.h"
#include "terminal.h"
#include "track/address.h"

#define SCHEMA     "trk-why/1"
#define CODE_BYTES 256 /* of a sentence on where code was */

static const struct trk_option why_options[] = {
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    TRK_PROGRESS_OPTION,
    {.name = NULL},
};

static void print_line(const char *label, const char *text)
{
    printf("%-16s ", label);
    trk_terminal_text(stdout, text);
    putchar('\n');
}

/* Where the code was, as a module's if it is in one; "" when that is not known. */
static const char *code_text(const struct trk_why_fault *fault, const char *at,
                             char out[CODE_BYTES])
{
    out[0] = '\0';
    if (fault->pc != 0) {
        snprintf(out, CODE_BYTES, ", by code at 0x%" PRIx64 "%s%.200s%s", fault->pc,
                 at[0] ? " (" : "", at, at[0] ? ")" : "");
    }
    return out;
}

static const char *const access_words[] = {"load", "store", "fetch"};

static void print_fault(const struct trk_why_fault *fault, const char *at)
{
    char code[CODE_BYTES];
    if (fault->event == TRK_NOT_KNOWN) {
        return;
    }
    printf("%-16s ", "last fault");
    trk_terminal_text(stdout, fault->thread);
    printf(", a %s at 0x%" PRIx64 ", event %" PRIu64 "%s\n",
           (unsigned)fault->access < 3 ? access_words[fault->access] : "?", fault->guest_addr,
           fault->event, code_text(fault, at, code));
}

static void print_text(const struct trk_why_report *report, const char *at)
{
    printf("byte             0x%" PRIx64 ", of 0x%" PRIx64 " +%#" PRIx64 " with the same past\n",
           report->guest_addr, report->first_addr, report->size_bytes);
    if (report->event == TRK_NOT_KNOWN) {
        printf("after event      none: %s\n",
               report->complete ? "the trace has no event" : "no event is left");
    } else {
        printf("after event      %" PRIu64 "%s\n", report->event,
               report->complete ? "" : "; events before it are missing");
    }
    if (!report->all_threads) {
        print_line("threads",
                   "those that are in the file; it has no end, so others may be missing");
    }
    print_line("page", report->state);
    if (report->under_way[0] != '\0') {
        print_line("under way", report->under_way);
    }
    if (report->untracked) {
        print_line("view", "one that nobody watches; the page is what the tracker knows it by");
    }
    if (report->unregistered != TRK_NOT_KNOWN) {
        printf("registered       no more, since event %" PRIu64 "\n", report->unregistered);
    }
    print_fault(&report->fault, at);
    print_line("last writer", report->writer);
    for (uint32_t i = 1; i < report->store_count; i++) {
        const struct trk_why_store *store = &report->stores[i];
        printf("before it        ");
        trk_terminal_text(stdout, store->thread);
        printf(", %s, event %" PRIu64 "\n", store->by, store->event);
    }
    print_line("guest memory", report->guest_text);
    print_line("the GPU's copy", report->gpu_text);
    print_line("for the GPU", report->for_gpu);
    print_line("for the CPU", report->for_cpu);
}

static void add_fault(cJSON *object, const struct trk_why_fault *fault, const char *at)
{
    if (fault->event == TRK_NOT_KNOWN) {
        cJSON_AddNullToObject(object, "fault");
        return;
    }
    cJSON *one = cJSON_AddObjectToObject(object, "fault");
    trk_json_out_number(one, "event", fault->event);
    trk_json_out_text(one, "thread", fault->thread);
    trk_json_out_address(one, "guest_addr", fault->guest_addr);
    trk_json_out_text(one, "access",
                      (unsigned)fault->access < 3 ? access_words[fault->access] : "?");
    trk_json_out_address(one, "pc", fault->pc != 0 ? fault->pc : TRK_NOT_KNOWN);
    trk_json_out_text(one, "at", at[0] ? at : NULL);
}

static void print_json(const struct trk_why_report *report, const char *path, const char *at)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_text(object, "path", path);
    cJSON_AddBoolToObject(object, "complete", report->complete);
    cJSON_AddBoolToObject(object, "all_threads", report->all_threads);
    trk_json_out_number(object, "event", report->event);
    trk_json_out_address(object, "guest_addr", report->guest_addr);
    trk_json_out_address(object, "first_addr", report->first_addr);
    trk_json_out_number(object, "size", report->size_bytes);
    cJSON_AddBoolToObject(object, "untracked", report->untracked);
    trk_json_out_number(object, "unregistered", report->unregistered);
    trk_json_out_text(object, "state", report->state_word);
    trk_json_out_text(object, "state_text", report->state);
    trk_json_out_text(object, "under_way", report->under_way[0] ? report->under_way : NULL);
    trk_json_out_text(object, "guest", trk_why_copy_name(report->guest));
    trk_json_out_text(object, "guest_text", report->guest_text);
    trk_json_out_text(object, "gpu", trk_why_copy_name(report->gpu));
    trk_json_out_text(object, "gpu_text", report->gpu_text);
    add_fault(object, &report->fault, at);
    trk_json_out_text(object, "writer", report->writer);
    cJSON *stores = cJSON_AddArrayToObject(object, "stores");
    for (uint32_t i = 0; i < report->store_count; i++) {
        const struct trk_why_store *from = &report->stores[i];
        cJSON *store = cJSON_CreateObject();
        trk_json_out_number(store, "event", from->event);
        trk_json_out_text(store, "thread", from->thread);
        trk_json_out_text(store, "by", from->by);
        trk_json_out_number(store, "stamp", from->stamp == 0 ? TRK_NOT_KNOWN : from->stamp);
        cJSON_AddItemToArray(stores, store);
    }
    trk_json_out_text(object, "for_gpu", report->for_gpu);
    trk_json_out_text(object, "for_cpu", report->for_cpu);
    trk_json_out_print(object);
}

static void print(const struct trk_why_report *report, const struct trk_input *input, bool json)
{
    char at[TRK_MODULE_TEXT_BYTES] = "";
    struct trk_modules modules;
    trk_modules_init(&modules, trk_trace_header_json(input->trace));
    (void)trk_modules_find(&modules, report->fault.pc, at);
    trk_modules_deinit(&modules);
    if (json) {
        print_json(report, input->path, at);
    } else {
        print_text(report, at);
    }
}

/* ADDR and @EVENT; false: they are none, and that is said. */
static bool read_operands(const struct trk_options *options, uint64_t *guest_addr, uint64_t *event)
{
    const char *address = options->operands[1];
    const char *at = options->operand_count > 2 ? options->operands[2] : NULL;
    *event = UINT64_MAX;
    if (!trk_number_parse(address, guest_addr) || *guest_addr >= UINT64_C(1) << 46) {
        trk_terminal_say("why",
                         "'%s' is no guest address: expected a number below 2^46, such as "
                         "0x200010000",
                         address);
        return false;
    }
    if (at != NULL && (at[0] != '@' || !trk_number_parse(at + 1, event) || *event == UINT64_MAX)) {
        trk_terminal_say("why", "'%s' is no event: expected @ and its number, such as @4711", at);
        return false;
    }
    return true;
}

static int run_why(const struct trk_options *options)
{
    static struct trk_why_report report; /* some KiB */
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_input input;
    uint64_t guest_addr, event;
    if (!read_operands(options, &guest_addr, &event)) {
        return TRK_EXIT_USAGE;
    }
    int code = trk_input_open(&input, options, SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_why_trace(input.trace, guest_addr, event, &report, &error);
    trk_progress_wipe();
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&input, options, SCHEMA, &error);
    } else {
        print(&report, &input, trk_options_flag(options, "json"));
    }
    if (status == TRK_OK) {
        trk_terminal_flush();
        code = report.complete ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
        if (!report.complete) {
            (void)trk_input_report(&input, options);
        }
    }
    trk_input_close(&input);
    return code;
}

const struct trk_command trk_cmd_why = {
    .name = "why",
    .about = "say who has the current bytes of an address at one moment",
    .operands = "F ADDR [@EVENT]",
    .text =
        "Follows the trace up to an event, to its end if none is named, and says of one byte of "
        "guest memory: which state its page has by the tracker's word, who wrote it last, whether "
        "guest memory and the GPU's copy have those bytes or older ones, and what would have to "
        "happen for the GPU and for the CPU to see them. Nothing is run again, so it works on the "
        "traces of any tracker that notes its stores and copies. It judges nothing: that is trk "
        "sim.",
    .exits = "0, or 3 when events before that moment are missing: what is said is then what the "
             "others tell. 2 also when the trace has no such event.",
    .examples = "trk why bad.trk 0x80000485400 @10390\n"
                "trk why --json bad.trk 0x200010000",
    .schema = SCHEMA,
    .options = why_options,
    .operands_least = 2,
    .operands_most = 3,
    .run = run_why,
};
