/* trk demo: the built-in guest that stands in for an emulator. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "demo/demo.h"
#include "json_out.h"
#include "options.h"
#include "policy_words.h"
#include "terminal.h"

#define SCHEMA      "trk-demo/1"
#define BUGS_SCHEMA "trk-demo-bugs/1"

static const struct trk_option demo_options[] = {
    {.name = "frames",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "60",
     .least = 1,
     .most = TRK_DEMO_FRAMES_MAX,
     .about = "Frames to run."},
    {.name = "threads",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "4",
     .least = 1,
     .most = TRK_DEMO_THREADS_MAX,
     .about = "Guest threads."},
    {.name = "megabytes",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "16",
     .least = TRK_DEMO_MEGABYTES_MIN,
     .most = TRK_DEMO_MEGABYTES_MAX,
     .about = "Guest memory in MiB, an even number."},
    {.name = "seed",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "1",
     .most = UINT64_MAX,
     .about = "The same seed gives the same stores."},
    {.name = "device",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT32_MAX,
     .about = "Number of the Vulkan device; exit code 4 if there is none."},
    {.name = "work",
     .kind = TRK_OPTION_NUMBER,
     .value = "KIB",
     .fallback = "0",
     .most = TRK_DEMO_WORK_MAX,
     .about = "Let each guest read KIB KiB of memory that is its own in every frame, as a game "
              "computes beside its stores."},
    {.name = "check",
     .about = "Check every byte of the GPU's copy in each frame, not a sample, and "
              "end with 1 if one was wrong or an operation was refused."},
    {.name = "backend",
     .kind = TRK_OPTION_TEXT,
     .value = "NAME",
     .about = "How guest memory is protected: mprotect, userfaultfd, or best, which tries both. "
              "Default $TRK_BACKEND, else mprotect."},
    {.name = "policy",
     .kind = TRK_OPTION_TEXT,
     .value = "P",
     .fallback = "default",
     .about = "The tracker's policy: default, strict or kyty-2026-08, or one of them with other "
              "values behind it: strict,page_size=16384. Keys: invalidate, download, "
              "arena, fault_width, page_size, generations."},
    {.name = "pages",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT32_MAX,
     .about = "Store to N further pages in each frame and upload them one by one, in a shuffled "
              "order: a trace that moves much in page-sized ranges. As many as --megabytes has "
              "room for."},
    {.name = "images",
     .about = "Keep the GPU's copies of two areas in images: buffer-to-image and image-to-buffer "
              "copies of guest pages."},
    {.name = "dispatch",
     .about = "Let a compute shader write the results, in one dispatch a frame, not fills of "
              "pages."},
    {.name = "paranoid",
     .kind = TRK_OPTION_NUMBER,
     .value = "N",
     .fallback = "0",
     .most = UINT32_MAX,
     .about = "Hold one in N clean pages against the hash of its bytes at uploads, draws and the "
              "ends of frames, another one each time, and tell of stores that nobody saw, with "
              "what the looking costs. 1: all pages; 0: none."},
    {.name = "bug",
     .kind = TRK_OPTION_TEXT,
     .value = "NAME",
     .about = "Put a fault into the demo; see --list-bugs."},
    {.name = "list-bugs",
     .about = "Print the names of the bugs, with --json also the verdict that "
              "each must get, and end."},
    {.name = "json", .about = "One JSON object, schema " SCHEMA " or " BUGS_SCHEMA "."},
    {.name = NULL},
};

static void list_bugs(bool json)
{
    cJSON *object = json ? trk_json_out_object(BUGS_SCHEMA) : NULL;
    cJSON *list = json ? cJSON_AddArrayToObject(object, "bugs") : NULL;
    for (const struct trk_demo_bug *bug = trk_demo_bugs; bug->name; bug++) {
        if (!json) {
            puts(bug->name);
            continue;
        }
        cJSON *entry = cJSON_CreateObject();
        trk_json_out_text(entry, "name", bug->name);
        trk_json_out_text(entry, "about", bug->about);
        trk_json_out_text(entry, "verdict", bug->verdict);
        trk_json_out_number(entry, "frames", bug->frames);
        cJSON_AddItemToArray(list, entry);
    }
    if (json) {
        trk_json_out_print(object);
    }
}

static void say_unknown_bug(const char *name)
{
    char names[512] = "";
    size_t used = 0;
    for (const struct trk_demo_bug *bug = trk_demo_bugs; bug->name; bug++) {
        int length =
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", bug->name);
        if (length < 0 || (size_t)length >= sizeof names - used) {
            break;
        }
        used += (size_t)length;
    }
    trk_terminal_say("demo", "no bug '%.60s'; there are: %s", name, names);
}

static void print_result(const struct trk_demo_options *demo, const struct trk_demo_result *result,
                         bool json)
{
    const struct {
        const char *key;
        uint64_t number;
    } counts[] = {
        {"frames", result->frames},
        {"faults", result->faults},
        {"stores", result->stores},
        {"loads", result->loads},
        {"uploads", result->uploads},
        {"downloads", result->downloads},
        {"bytes", result->bytes},
        {"checks", result->checks},
        {"mismatches", result->mismatches},
        {"failures", result->failures},
        {"frames_ns", result->frames_ns},
        {"frame_median_ns", result->frame_median_ns},
        {"frames_cpu_ns", result->frames_cpu_ns},
        {"paranoid_findings", result->paranoid_findings},
        {"paranoid_compared", result->paranoid_compared},
        {"paranoid_ns", result->paranoid_ns},
    };
    size_t count = sizeof counts / sizeof counts[0] - (demo->paranoid > 0 ? 0 : 3);
    if (json) {
        cJSON *object = trk_json_out_object(SCHEMA);
        trk_json_out_text(object, "device", result->device_name);
        trk_json_out_number(object, "seed", demo->seed);
        trk_json_out_number(object, "threads", demo->threads);
        for (size_t i = 0; i < count; i++) {
            trk_json_out_number(object, counts[i].key, counts[i].number);
        }
        trk_json_out_print(object);
        return;
    }
    fputs("device      ", stdout);
    trk_terminal_text(stdout, result->device_name);
    printf("\nseed        %" PRIu64 "\n", demo->seed);
    for (size_t i = 0; i < count; i++) {
        printf("%-11s %" PRIu64 "\n", counts[i].key, counts[i].number);
    }
    if (demo->paranoid > 0 && result->paranoid_compared > 0) {
        printf("paranoid mode took %.0f ns a page, %.3f ms a frame\n",
               (double)result->paranoid_ns / (double)result->paranoid_compared,
               (double)result->paranoid_ns / 1e6 / (double)result->frames);
    }
}

static bool read_backend(const char *name, enum trk_demo_backend *out)
{
    static const char *const names[] = {"mprotect", "userfaultfd", "best"};
    if (name == NULL) {
        name = getenv("TRK_BACKEND");
    }
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum trk_demo_backend)i;
            return true;
        }
    }
    if (name != NULL) {
        trk_terminal_say("demo", "no backend '%.60s'; there are: mprotect, userfaultfd, best",
                         name);
    }
    return name == NULL;
}

/* Read the options into the demo's own. An exit code. */
static int read_options(const struct trk_options *options, struct trk_demo_options *demo)
{
    *demo = trk_demo_options_default();
    demo->frames = (uint32_t)trk_options_number(options, "frames");
    demo->threads = (uint32_t)trk_options_number(options, "threads");
    demo->megabytes = (uint32_t)trk_options_number(options, "megabytes");
    demo->device = (uint32_t)trk_options_number(options, "device");
    demo->seed = trk_options_number(options, "seed");
    demo->check = trk_options_flag(options, "check");
    demo->work_kib = (uint32_t)trk_options_number(options, "work");
    demo->pages = (uint32_t)trk_options_number(options, "pages");
    demo->images = trk_options_flag(options, "images");
    demo->dispatch = trk_options_flag(options, "dispatch");
    demo->paranoid = (uint32_t)trk_options_number(options, "paranoid");
    if (demo->megabytes % 2 != 0) {
        trk_terminal_say("demo", "--megabytes: %" PRIu32 " is not an even number", demo->megabytes);
        return TRK_EXIT_USAGE;
    }
    if (demo->pages > trk_demo_pages_most(demo->megabytes)) {
        trk_terminal_say("demo", "--pages: at most %" PRIu32 " with %" PRIu32 " MiB",
                         trk_demo_pages_most(demo->megabytes), demo->megabytes);
        return TRK_EXIT_USAGE;
    }
    struct trk_error error;
    if (trk_policy_words_read(trk_options_text(options, "policy"), &demo->policy, &error) !=
        TRK_OK) {
        trk_terminal_say("demo", "--policy: %s", error.text);
        return TRK_EXIT_USAGE;
    }
    if (!read_backend(trk_options_text(options, "backend"), &demo->backend)) {
        return TRK_EXIT_USAGE;
    }
    const char *name = trk_options_text(options, "bug");
    const struct trk_demo_bug *bug = name ? trk_demo_bug_find(name) : NULL;
    if (name && !bug) {
        say_unknown_bug(name);
        return TRK_EXIT_USAGE;
    }
    if (bug && demo->frames < bug->frames) {
        trk_terminal_say("demo", "the bug %s needs at least %" PRIu32 " frames", bug->name,
                         bug->frames);
        return TRK_EXIT_USAGE;
    }
    demo->bug = bug ? bug->id : TRK_DEMO_BUG_NONE;
    return TRK_EXIT_OK;
}

static int run_demo(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_demo_result result = {0};
    struct trk_demo_options demo;
    bool json = trk_options_flag(options, "json");
    static const char *const of_runs[] = {"frames",   "threads", "megabytes", "seed",   "device",
                                          "check",    "backend", "pages",     "images", "dispatch",
                                          "paranoid", "bug",     "policy",    NULL};
    if (trk_options_flag(options, "list-bugs")) {
        if (trk_terminal_refuse(options, of_runs,
                                "does not go with --list-bugs, which runs nothing")) {
            return TRK_EXIT_USAGE;
        }
        list_bugs(json);
        return TRK_EXIT_OK;
    }
    int code = read_options(options, &demo);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_demo_run(&demo, &result, &error);
    if (status != TRK_OK) {
        error.status = status;
        code = trk_terminal_error("demo", NULL, &error);
        /* The options are checked above: what is left to refuse is the machine's business. */
        return code == TRK_EXIT_USAGE ? TRK_EXIT_ENVIRONMENT : code;
    }
    print_result(&demo, &result, json);
    bool wrong = result.mismatches > 0 || result.failures > 0 || result.paranoid_findings > 0;
    return wrong && demo.check ? TRK_EXIT_BROKEN : TRK_EXIT_OK;
}

const struct trk_command trk_cmd_demo = {
    .name = "demo",
    .about = "run the built-in guest that stands in for an emulator",
    .operands = "",
    .text =
        "Guest threads store to and load from tracked memory and know nothing of it; a render "
        "thread copies what has changed to a real Vulkan device, lets the device write some pages "
        "and serves reads of them. Every byte read on either side is checked. Run under trk record "
        "it makes a trace, with a bug in it on demand.\n\n"
        "The exit code is 0 however the checks end, unless --check is given.",
    .examples = "trk demo --frames 300 --threads 4 --check\n"
                "trk record -o bad.trk -- trk demo --bug copy-before-arm",
    .schema = SCHEMA,
    .options = demo_options,
    .run = run_demo,
};
