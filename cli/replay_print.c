#include "replay_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibration_print.h"
#include "json_out.h"
#include "terminal.h"

#define MEBIBYTE (1024.0 * 1024.0)

static const char *side_name(enum trk_plan_side side)
{
    return side == TRK_PLAN_DEVICE ? "device" : "guest memory";
}

/* The verdict's word, as trk sim says it. */
static const char *verdict_name(const struct trk_plan_finding *finding)
{
    const struct trk_sim_report report = {.verdict = finding->verdict,
                                          .failure_class = finding->failure_class};
    return trk_verdict_name(&report);
}

static int time_compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* The middle one of all passes; TRK_NOT_KNOWN: one is not known. */
static uint64_t middle(const struct trk_replay_run *run, bool device)
{
    uint64_t *times = calloc(run->loops, sizeof *times);
    uint64_t result = TRK_NOT_KNOWN;
    if (times != NULL) {
        for (uint64_t i = 0; i < run->loops; i++) {
            const struct trk_replay_times *all = &run->passes[i].all;
            times[i] = device ? all->device_ns : all->host_ns;
        }
        qsort(times, run->loops, sizeof *times, time_compare);
        result = times[run->loops - 1] == TRK_NOT_KNOWN ? TRK_NOT_KNOWN : times[run->loops / 2];
    }
    free(times);
    return result;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_time(const char *label, uint64_t ns, uint64_t bytes)
{
    if (ns == TRK_NOT_KNOWN) {
        printf("%-10s no time stamps\n", label);
        return;
    }
    printf("%-10s %.3f ms", label, (double)ns / 1e6);
    if (ns > 0) {
        printf(", %.2f GB/s of what was asked for", (double)bytes / (double)ns);
    }
    putchar('\n');
}

static void print_bytes(const char *label, const uint8_t bytes[8])
{
    printf("  %-8s", label);
    for (int i = 0; i < 8; i++) {
        printf(" %02x", bytes[i]);
    }
    putchar('\n');
}

static void print_wrong(const struct trk_replay_run *run, const char *word,
                        const struct trk_replay_wrong *wrong)
{
    printf("%-10s ", word);
    if (wrong->event == TRK_NOT_KNOWN && wrong->guest_addr == TRK_NOT_KNOWN) {
        printf("at the end, ");
    } else if (wrong->event == TRK_NOT_KNOWN) {
        printf("at the end, address 0x%" PRIx64 ", last touched by event %" PRIu64 ", ",
               wrong->guest_addr, wrong->touched_event);
    } else {
        printf("frame %" PRIu64 ", event %" PRIu64 ", address 0x%" PRIx64 ", ", wrong->frame,
               wrong->event, wrong->guest_addr);
    }
    printf("%" PRIu64 " bytes of the %s\n", wrong->size_bytes, side_name(wrong->side));
    print_bytes("seen", wrong->seen);
    print_bytes("wanted", wrong->wanted);
    if (wrong == &run->check.first_not_brought) {
        puts("  the recorded copies leave what was seen, and no copy of what is wanted is in the "
             "trace");
        return;
    }
    if (wrong->finding == 0) {
        puts("  the replay itself is to blame: the recorded copies leave something else");
        return;
    }
    const struct trk_plan_finding *finding = &run->plan->findings[wrong->finding - 1];
    printf("  %s: the store of event %" PRIu64 " should be there; event %" PRIu64 " is to blame\n",
           verdict_name(finding), finding->store_event, finding->event_at);
}

/* The first finding of the oracle that no bytes can show; NULL: there is none. */
static const struct trk_plan_finding *no_bytes(const struct trk_plan *plan, uint64_t *count)
{
    const struct trk_plan_finding *first = NULL;
    *count = 0;
    for (size_t i = 0; i < plan->finding_count; i++) {
        if (plan->findings[i].store_event == TRK_NOT_KNOWN) {
            first = first != NULL ? first : &plan->findings[i];
            ++*count;
        }
    }
    return first;
}

uint64_t trk_replay_broken(const struct trk_replay_run *run)
{
    uint64_t count = 0;
    (void)no_bytes(run->plan, &count);
    return run->checked ? count : 0;
}

static void print_broken(const struct trk_replay_run *run)
{
    uint64_t count = 0;
    const struct trk_plan_finding *first = no_bytes(run->plan, &count);
    if (first != NULL) {
        printf("%-10s %" PRIu64
               " findings of the oracle that no bytes show; the first: %s, event %" PRIu64
               " is to blame\n",
               "rules", count, verdict_name(first), first->event_at);
        printf("  frame %" PRIu64 ", event %" PRIu64 ", address 0x%" PRIx64 ", %" PRIu64 " bytes\n",
               run->plan->frames[first->frame].number, first->event_visible, first->guest_addr,
               first->size_bytes);
    }
}

static void print_check(const struct trk_replay_run *run)
{
    const struct trk_replay_check *check = &run->check;
    printf("%-10s %" PRIu64 " of the bytes below held against what the oracle says is current\n",
           "oracle", check->oracle_bytes);
    printf("%-10s %" PRIu64 " checks, %" PRIu64 " bytes compared: ", "contents", check->checks,
           check->compared_bytes);
    if (check->wrong_recorded + check->wrong_replayed == 0) {
        if (check->not_brought > 0) {
            puts("as the recorded copies leave them");
        } else {
            trk_terminal_word(TRK_TONE_GOOD, "equal");
            putchar('\n');
        }
    } else {
        trk_terminal_word(TRK_TONE_BAD, "wrong");
        printf(" %" PRIu64 " times as the oracle says, %" PRIu64 " times by the replay\n",
               check->wrong_recorded, check->wrong_replayed);
        print_wrong(run, "wrong", &check->first);
    }
    if (check->wrong_replayed > 0 && check->first.finding != 0) {
        print_wrong(run, "wrong", &check->first_replayed);
    }
    if (check->not_brought > 0) {
        printf("%-10s %" PRIu64 " checks want bytes that no recorded copy brings there\n",
               "lacking", check->not_brought);
        print_wrong(run, "lacking", &check->first_not_brought);
    }
    print_broken(run);
    if (check->unseen > 0) {
        printf("%-10s %" PRIu64 " findings of the oracle whose bytes came out right\n", "unseen",
               check->unseen);
    }
}

static void print_us(uint64_t ns)
{
    if (ns == TRK_NOT_KNOWN) {
        printf(" %12s", "-");
    } else {
        printf(" %12.1f", (double)ns / 1e3);
    }
}

/* The last four: on the host's clock, since the pass began. */
static void print_frames(const struct trk_replay_run *run)
{
    printf("\n%8s %12s %12s %12s %12s %12s %12s %12s %12s\n", "frame", "bytes up", "bytes down",
           "device us", "host us", "host from", "host to", "device from", "device to");
    for (size_t i = 0; i < run->plan->frame_count; i++) {
        const struct trk_plan_frame *frame = &run->plan->frames[i];
        const struct trk_replay_place *place = &run->places[i];
        printf("%8" PRIu64 " %12" PRIu64 " %12" PRIu64, frame->number, frame->upload_bytes,
               frame->download_bytes);
        print_us(run->frames[i].device_ns);
        print_us(run->frames[i].host_ns);
        print_us(place->host_begin_ns);
        print_us(place->host_end_ns);
        print_us(place->device_begin_ns);
        print_us(place->device_end_ns);
        putchar('\n');
    }
}

void trk_replay_print_text(const struct trk_replay_run *run, const char *schema)
{
    char policy[TRK_POLICY_TEXT_BYTES];
    const struct trk_gpu_info *info = trk_gpu_info(run->gpu);
    const struct trk_plan *plan = run->plan;
    const struct trk_replay_pass *last = &run->passes[run->loops - 1];
    (void)schema;
    trk_transfer_policy_print(&run->policy, policy);
    fputs("trace      ", stdout);
    trk_terminal_text(stdout, run->input.path);
    printf("\n%-10s %s, %s\n%-10s %s\n", "device", info->device_name, info->driver, "policy",
           policy);
    printf("%-10s %zu, %.1f MiB of memory%s\n", "frames", plan->frame_count,
           (double)plan->mirror_bytes / MEBIBYTE, plan->witnessed ? "" : ", stores not witnessed");
    printf("%-10s %" PRIu64 " ranges, %.1f MiB\n", "up", plan->uploads,
           (double)plan->upload_bytes / MEBIBYTE);
    printf("%-10s %" PRIu64 " ranges, %.1f MiB\n", "down", plan->downloads,
           (double)plan->download_bytes / MEBIBYTE);
    printf("%-10s %" PRIu64 ", %.1f MiB\n", "gpu writes", plan->gpu_writes,
           (double)plan->gpu_write_bytes / MEBIBYTE);
    if (plan->page_count > 0) {
        printf("%-10s %zu contents of pages, put up as they are\n", "recorded", plan->page_count);
    }
    if (plan->pages_damaged > 0) {
        printf("%-10s %zu contents of pages: made-up ones are in their place\n", "damaged",
               plan->pages_damaged);
    }
    if (plan->dispatches > 0) {
        printf("%-10s %" PRIu64 " of the gpu's writes\n", "dispatches", plan->dispatches);
    }
    if (plan->image_count + plan->plain_images > 0) {
        printf("%-10s %zu, and %zu replayed as buffers\n", "images", plan->image_count,
               plan->plain_images);
    }
    printf("%-10s %" PRIu64 " regions, %.1f MiB, %" PRIu64 " submits\n", "copied", last->regions,
           (double)last->moved_bytes / MEBIBYTE, last->submits);
    if (run->loops > 1) {
        printf("%-10s %" PRIu64 ", the median of them:\n", "passes", run->loops);
    }
    const uint64_t asked = plan->upload_bytes + plan->download_bytes;
    print_time("device", middle(run, true), asked);
    print_time("host", middle(run, false), asked);
    printf("%-10s ", "clocks");
    trk_calibration_print(info, &run->calibration);
    putchar('\n');
    if (last->lost_timestamps > 0) {
        printf("%-10s %" PRIu64 " time stamps, the first in frame %" PRIu64 ", event %" PRIu64 "\n",
               "lost", last->lost_timestamps, last->lost_frame, last->lost_event);
    }
    if (run->checked) {
        print_check(run);
    }
    if (info->validated) {
        printf("%-10s %" PRIu64 " messages\n", "validation", run->messages);
    }
    if (run->messages > 0) {
        trk_terminal_text(stdout, run->first_message);
        putchar('\n');
    }
    if (run->by_frame) {
        print_frames(run);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_wrong(cJSON *object, const char *key, const struct trk_replay_run *run,
                      const struct trk_replay_wrong *wrong)
{
    char hex[17];
    cJSON *entry = cJSON_AddObjectToObject(object, key);
    trk_json_out_number(entry, "event", wrong->event);
    trk_json_out_number(entry, "frame", wrong->frame);
    if (wrong->guest_addr == TRK_NOT_KNOWN) {
        cJSON_AddNullToObject(entry, "guest_addr");
    } else {
        trk_json_out_address(entry, "guest_addr", wrong->guest_addr);
    }
    trk_json_out_number(entry, "bytes", wrong->size_bytes);
    trk_json_out_number(entry, "touched_event", wrong->touched_event);
    trk_json_out_text(entry, "side", side_name(wrong->side));
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < 8; i++) {
            snprintf(hex + 2 * i, sizeof hex - 2 * i, "%02x",
                     side == 0 ? wrong->seen[i] : wrong->wanted[i]);
        }
        trk_json_out_text(entry, side == 0 ? "seen" : "wanted", hex);
    }
    const struct trk_plan_finding *finding =
        wrong->finding != 0 ? &run->plan->findings[wrong->finding - 1] : NULL;
    trk_json_out_text(entry, "verdict", finding ? verdict_name(finding) : NULL);
    trk_json_out_number(entry, "event_at", finding ? finding->event_at : TRK_NOT_KNOWN);
    trk_json_out_number(entry, "store_event", finding ? finding->store_event : TRK_NOT_KNOWN);
}

static void add_broken(cJSON *check, const struct trk_replay_run *run)
{
    uint64_t count = 0;
    const struct trk_plan_finding *first = no_bytes(run->plan, &count);
    trk_json_out_number(check, "broken", count);
    if (first != NULL) {
        cJSON *entry = cJSON_AddObjectToObject(check, "first_broken");
        trk_json_out_text(entry, "verdict", verdict_name(first));
        trk_json_out_number(entry, "event_at", first->event_at);
        trk_json_out_number(entry, "event", first->event_visible);
        trk_json_out_number(entry, "frame", run->plan->frames[first->frame].number);
        trk_json_out_address(entry, "guest_addr", first->guest_addr);
        trk_json_out_number(entry, "bytes", first->size_bytes);
    }
}

static void add_check(cJSON *object, const struct trk_replay_run *run)
{
    const struct trk_replay_check *check = &run->check;
    cJSON *entry = cJSON_AddObjectToObject(object, "check");
    const uint64_t wrong = check->wrong_recorded + check->wrong_replayed;
    cJSON_AddBoolToObject(entry, "equal", wrong + check->not_brought == 0);
    trk_json_out_number(entry, "checks", check->checks);
    trk_json_out_number(entry, "compared_bytes", check->compared_bytes);
    trk_json_out_number(entry, "oracle_bytes", check->oracle_bytes);
    trk_json_out_number(entry, "wrong_recorded", check->wrong_recorded);
    trk_json_out_number(entry, "wrong_replayed", check->wrong_replayed);
    trk_json_out_number(entry, "not_brought", check->not_brought);
    trk_json_out_number(entry, "unseen", check->unseen);
    add_broken(entry, run);
    if (wrong > 0) {
        add_wrong(entry, "first", run, &check->first);
    }
    if (check->wrong_replayed > 0) {
        add_wrong(entry, "first_replayed", run, &check->first_replayed);
    }
    if (check->not_brought > 0) {
        add_wrong(entry, "first_not_brought", run, &check->first_not_brought);
    }
}

static void add_times(cJSON *object, const struct trk_replay_times *times)
{
    trk_json_out_number(object, "device_ns", times->device_ns);
    trk_json_out_number(object, "host_ns", times->host_ns);
}

static void add_place(cJSON *object, const struct trk_replay_place *place)
{
    trk_json_out_number(object, "host_begin_ns", place->host_begin_ns);
    trk_json_out_number(object, "host_end_ns", place->host_end_ns);
    trk_json_out_number(object, "device_begin_ns", place->device_begin_ns);
    trk_json_out_number(object, "device_end_ns", place->device_end_ns);
}

static void add_passes(cJSON *object, const struct trk_replay_run *run)
{
    cJSON *list = cJSON_AddArrayToObject(object, "passes");
    for (uint64_t i = 0; i < run->loops; i++) {
        const struct trk_replay_pass *pass = &run->passes[i];
        cJSON *entry = cJSON_CreateObject();
        add_times(entry, &pass->all);
        trk_json_out_number(entry, "regions", pass->regions);
        trk_json_out_number(entry, "moved_bytes", pass->moved_bytes);
        trk_json_out_number(entry, "submits", pass->submits);
        const bool lost = pass->lost_timestamps > 0;
        trk_json_out_number(entry, "lost_timestamps", pass->lost_timestamps);
        trk_json_out_number(entry, "lost_frame", lost ? pass->lost_frame : TRK_NOT_KNOWN);
        trk_json_out_number(entry, "lost_event", lost ? pass->lost_event : TRK_NOT_KNOWN);
        const bool wrong = pass->wrong_timestamps > 0;
        trk_json_out_number(entry, "wrong_timestamps", pass->wrong_timestamps);
        trk_json_out_number(entry, "wrong_frame", wrong ? pass->wrong_frame : TRK_NOT_KNOWN);
        trk_json_out_number(entry, "wrong_event", wrong ? pass->wrong_event : TRK_NOT_KNOWN);
        cJSON_AddItemToArray(list, entry);
    }
    if (run->by_frame) {
        list = cJSON_AddArrayToObject(object, "frame_list");
        for (size_t i = 0; i < run->plan->frame_count; i++) {
            cJSON *entry = cJSON_CreateObject();
            trk_json_out_number(entry, "frame", run->plan->frames[i].number);
            trk_json_out_number(entry, "upload_bytes", run->plan->frames[i].upload_bytes);
            trk_json_out_number(entry, "download_bytes", run->plan->frames[i].download_bytes);
            add_times(entry, &run->frames[i]);
            add_place(entry, &run->places[i]);
            cJSON_AddItemToArray(list, entry);
        }
    }
}

void trk_replay_print_json(const struct trk_replay_run *run, const char *schema)
{
    char policy[TRK_POLICY_TEXT_BYTES], hash[24];
    const struct trk_gpu_info *info = trk_gpu_info(run->gpu);
    const struct trk_plan *plan = run->plan;
    cJSON *object = trk_json_out_object(schema);
    trk_transfer_policy_print(&run->policy, policy);
    snprintf(hash, sizeof hash, "0x%016" PRIx64, plan->hash);
    trk_json_out_text(object, "path", run->input.path);
    trk_json_out_text(object, "plan_hash", hash);
    trk_json_out_text(object, "device", info->device_name);
    trk_json_out_text(object, "driver", info->driver);
    trk_json_out_text(object, "policy", policy);
    cJSON_AddBoolToObject(object, "complete", plan->complete);
    cJSON_AddBoolToObject(object, "witnessed", plan->witnessed);
    trk_json_out_number(object, "frames", plan->frame_count);
    trk_json_out_number(object, "memory_bytes", plan->mirror_bytes);
    trk_json_out_number(object, "uploads", plan->uploads);
    trk_json_out_number(object, "upload_bytes", plan->upload_bytes);
    trk_json_out_number(object, "downloads", plan->downloads);
    trk_json_out_number(object, "download_bytes", plan->download_bytes);
    trk_json_out_number(object, "gpu_writes", plan->gpu_writes);
    trk_json_out_number(object, "dispatches", plan->dispatches);
    trk_json_out_number(object, "images", plan->image_count);
    trk_json_out_number(object, "plain_images", plan->plain_images);
    trk_json_out_number(object, "findings", plan->finding_count);
    trk_json_out_number(object, "recorded_pages", plan->page_count);
    trk_json_out_number(object, "damaged_pages", plan->pages_damaged);
    trk_json_out_number(object, "median_device_ns", middle(run, true));
    trk_json_out_number(object, "median_host_ns", middle(run, false));
    trk_calibration_json(object, info, &run->calibration);
    add_passes(object, run);
    if (run->checked) {
        add_check(object, run);
    }
    if (info->validated) {
        trk_json_out_number(object, "messages", run->messages);
    }
    trk_json_out_print(object);
}
