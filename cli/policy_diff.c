#include "policy_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy_side.h"

/* Of an operation on more regions, those behind are looked at where something is handed over, and
 * at the end. */
#define REGIONS_MOST 64u

struct comparing {
    struct trk_policy_diff *out;
    struct trk_policy_side *sides; /* 2 */
    uint32_t *entries;             /* of each region, from 1 on; 0: it has none */
    bool no_memory;
};

/* ---- regions --------------------------------------------------------------------------------- */

static struct trk_policy_region *region_of(struct comparing *comparing, uint64_t guest_addr)
{
    struct trk_policy_diff *out = comparing->out;
    uint32_t *entry = &comparing->entries[trk_region_index(guest_addr)];
    if (*entry != 0) {
        return &out->regions[*entry - 1];
    }
    if (out->count == out->capacity) {
        uint32_t capacity = out->capacity == 0 ? 16 : out->capacity * 2;
        struct trk_policy_region *regions = realloc(out->regions, capacity * sizeof *regions);
        if (regions == NULL) {
            comparing->no_memory = true;
            return NULL;
        }
        out->regions = regions;
        out->capacity = capacity;
    }
    struct trk_policy_region *region = &out->regions[out->count++];
    *entry = out->count;
    *region = (struct trk_policy_region){
        .region_addr = guest_addr & ~(TRK_REGION_BYTES - 1),
        .first = TRK_POLICY_LOG_NONE,
    };
    return region;
}

/* ---- one command ----------------------------------------------------------------------------- */

/* What a command's difference is, in words of either side; "" none. */
struct words {
    char text[2][120];
};

static void say_number(struct words *words, const char *what, uint64_t a, uint64_t b)
{
    const uint64_t numbers[2] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        snprintf(words->text[i], sizeof words->text[i], "%s: %" PRIu64, what, numbers[i]);
    }
}

/* What is the whole command's. */
static bool differs_in_all(const struct trk_policy_came *a, const struct trk_policy_came *b,
                           bool question, struct words *words)
{
    if (a->status != b->status) {
        snprintf(words->text[0], sizeof words->text[0], "%s", trk_status_name(a->status));
        snprintf(words->text[1], sizeof words->text[1], "%s", trk_status_name(b->status));
    } else if (question && a->answer != b->answer) {
        snprintf(words->text[0], sizeof words->text[0], "%s", a->answer ? "yes" : "no");
        snprintf(words->text[1], sizeof words->text[1], "%s", b->answer ? "yes" : "no");
    } else if (a->faults != b->faults) {
        say_number(words, "faults served", a->faults, b->faults);
    } else if (a->unserved != b->unserved) {
        say_number(words, "faults that nobody serves", a->unserved, b->unserved);
    } else if (a->flushes != b->flushes) {
        say_number(words, "flushes", a->flushes, b->flushes);
    } else if (a->failures != b->failures) {
        say_number(words, "refused, with what is nested", a->failures, b->failures);
    } else {
        return false;
    }
    return true;
}

/* The next run inside a region, from *at on; false: there is none. */
static bool next_run(const struct trk_policy_side *side, uint64_t region_addr, uint32_t *at,
                     struct trk_policy_run_of_pages *out)
{
    uint32_t count =
        side->came.run_count < TRK_POLICY_SIDE_RUNS ? side->came.run_count : TRK_POLICY_SIDE_RUNS;
    for (; *at < count; ++*at) {
        if (side->runs[*at].guest_addr - region_addr < TRK_REGION_BYTES) {
            *out = side->runs[(*at)++];
            return true;
        }
    }
    return false;
}

static void say_run(char *out, size_t size, bool there, const struct trk_policy_run_of_pages *run)
{
    if (there) {
        snprintf(out, size, "hands over 0x%" PRIx64 " +0x%" PRIx64, run->guest_addr,
                 run->size_bytes);
    } else {
        snprintf(out, size, "hands over no more there");
    }
}

static bool differs_in_runs(const struct comparing *comparing, uint64_t region_addr,
                            struct words *words)
{
    uint32_t at[2] = {0, 0};
    for (;;) {
        struct trk_policy_run_of_pages runs[2] = {{0, 0}, {0, 0}};
        bool there[2];
        for (size_t i = 0; i < 2; i++) {
            there[i] = next_run(&comparing->sides[i], region_addr, &at[i], &runs[i]);
        }
        if (!there[0] && !there[1]) {
            return false;
        }
        if (there[0] != there[1] || memcmp(&runs[0], &runs[1], sizeof runs[0]) != 0) {
            for (size_t i = 0; i < 2; i++) {
                say_run(words->text[i], sizeof words->text[i], there[i], &runs[i]);
            }
            return true;
        }
    }
}

static void say_page(char *out, size_t size, uint64_t guest_addr, const struct trk_page_view *view)
{
    const char *state = view->gpu_dirty ? "the GPU's" : view->cpu_dirty ? "CPU" : "CLEAN";
    const char *open = view->host_rights & TRK_RIGHT_WRITE  ? "stores"
                       : view->host_rights & TRK_RIGHT_READ ? "loads"
                                                            : "nobody";
    snprintf(out, size, "page 0x%" PRIx64 " is %s, open to %s", guest_addr, state, open);
}

static bool page_differs(const struct comparing *comparing, uint32_t tracker, uint64_t guest_addr,
                         struct words *words)
{
    struct trk_page_view views[2];
    for (size_t i = 0; i < 2; i++) {
        views[i] = trk_policy_side_page(&comparing->sides[i], tracker, guest_addr);
    }
    if (views[0].cpu_dirty == views[1].cpu_dirty && views[0].gpu_dirty == views[1].gpu_dirty &&
        views[0].host_rights == views[1].host_rights) {
        return false;
    }
    for (size_t i = 0; words != NULL && i < 2; i++) {
        say_page(words->text[i], sizeof words->text[i], guest_addr, &views[i]);
    }
    return true;
}

/* The trackers that a command is about, as bits. */
static uint32_t trackers_of(const struct comparing *comparing, const struct trk_event *event)
{
    uint32_t out = 0;
    if (event->type == TRK_EVENT_OP_BEGIN) {
        return UINT32_C(1) << (event->page & (TRK_POLICY_SIDE_TRACKERS - 1));
    }
    for (uint32_t id = 0; id < TRK_POLICY_SIDE_TRACKERS; id++) {
        out |= (uint32_t)(comparing->sides[0].trackers[id] != NULL) << id;
    }
    return out;
}

static bool differs_in_pages(const struct comparing *comparing, uint32_t trackers, uint64_t from,
                             uint64_t end, struct words *words)
{
    for (uint32_t id = 0; trackers >> id != 0; id++) {
        for (uint64_t at = from; (trackers >> id & 1u) != 0 && at < end;
             at += TRK_HOST_PAGE_BYTES) {
            if (page_differs(comparing, id, at, words)) {
                return true;
            }
        }
    }
    return false;
}

/* A fault may take so many bytes more with it. */
#define FAULT_BYTES_MORE 7u

/* The bytes that a command is about. */
static struct trk_policy_run_of_pages range_of(const struct trk_event *event)
{
    struct trk_policy_run_of_pages out = {event->argument, trk_event_size(event)};
    if (event->type == TRK_EVENT_FAULT) {
        out.size_bytes = 1 + FAULT_BYTES_MORE;
    } else if (event->type == TRK_EVENT_WITNESS_STORE || event->type == TRK_EVENT_WITNESS_CHECK) {
        out.size_bytes = (uint64_t)event->seq + FAULT_BYTES_MORE;
    }
    uint64_t most = UINT64_MAX - out.guest_addr;
    out.size_bytes = out.size_bytes < most ? out.size_bytes : most;
    return out;
}

static void note(struct trk_policy_region *region, uint32_t command, const struct words *words)
{
    region->differ++;
    if (region->first == TRK_POLICY_LOG_NONE) {
        region->first = command;
        memcpy(region->text, words->text, sizeof region->text);
    }
}

/* Compare what the command came to in each region. */
static void compare(struct comparing *comparing, uint32_t command)
{
    const struct trk_event *event = &comparing->out->log.commands[command].event;
    const struct trk_policy_came *a = &comparing->sides[0].came, *b = &comparing->sides[1].came;
    struct trk_policy_run_of_pages range = range_of(event);
    bool question = event->type == TRK_EVENT_OP_BEGIN;
    uint32_t trackers = trackers_of(comparing, event), regions = 0;
    uint64_t end = range.guest_addr + range.size_bytes;
    uint64_t at = range.guest_addr & ~(TRK_HOST_PAGE_BYTES - 1);
    struct words words;
    bool first = true;
    for (; at < end && regions < REGIONS_MOST && trk_policy_in_bands(at);
         regions++, first = false) {
        struct trk_policy_region *region = region_of(comparing, at);
        if (region == NULL) {
            return;
        }
        uint64_t region_end = region->region_addr + TRK_REGION_BYTES;
        region_end = region_end < end ? region_end : end;
        region->commands++;
        if ((first && differs_in_all(a, b, question, &words)) ||
            differs_in_runs(comparing, region->region_addr, &words) ||
            differs_in_pages(comparing, trackers, at, region_end, &words)) {
            note(region, command, &words);
        }
        at = region->region_addr + TRK_REGION_BYTES;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum trk_status run_all(struct comparing *comparing)
{
    struct trk_policy_diff *out = comparing->out;
    for (uint32_t i = 0; i < out->log.count; i++) {
        const struct trk_policy_command *command = &out->log.commands[i];
        bool nested = false;
        for (size_t s = 0; s < 2; s++) {
            nested |= comparing->sides[s].done[i] != 0;
            enum trk_status status = trk_policy_side_run(&comparing->sides[s], i);
            if (status != TRK_OK) {
                return status;
            }
        }
        if (command->event.type == TRK_EVENT_TRACKER) {
            continue;
        }
        if (comparing->sides[0].came.left_out || comparing->sides[1].came.left_out) {
            out->left_out++;
            continue;
        }
        *(command->event.type == TRK_EVENT_OP_BEGIN ? &out->operations : &out->accesses) += 1;
        /* What was run in a flush was compared with it. */
        if (!nested) {
            compare(comparing, i);
        }
        if (comparing->no_memory) {
            return TRK_E_MEMORY;
        }
    }
    return TRK_OK;
}

static void compare_ends(struct comparing *comparing)
{
    struct trk_policy_diff *out = comparing->out;
    const struct trk_event all = {.type = TRK_EVENT_FAULT};
    const uint32_t trackers = trackers_of(comparing, &all);
    for (uint32_t i = 0; i < out->count; i++) {
        struct trk_policy_region *region = &out->regions[i];
        for (uint32_t page = 0; page < TRK_REGION_PAGES; page++) {
            uint64_t guest_addr = region->region_addr + page * TRK_HOST_PAGE_BYTES;
            region->pages += differs_in_pages(comparing, trackers, guest_addr,
                                              guest_addr + TRK_HOST_PAGE_BYTES, NULL);
        }
        out->differ += region->differ > 0 || region->pages > 0;
    }
}

/* Regions that differ, by their first event; the others by address. */
static int by_first(const void *a, const void *b)
{
    const struct trk_policy_region *one = a, *other = b;
    bool differs = one->differ > 0 || one->pages > 0;
    if (differs != (other->differ > 0 || other->pages > 0)) {
        return differs ? -1 : 1;
    }
    if (one->first != other->first) {
        return one->first < other->first ? -1 : 1;
    }
    return one->region_addr < other->region_addr ? -1 : one->region_addr > other->region_addr;
}

enum trk_status trk_policy_diff_run(struct trk_policy_diff *out, struct trk_trace *trace,
                                    const struct trk_policy policies[2], struct trk_error *error)
{
    const uint8_t *end = NULL;
    *out = (struct trk_policy_diff){.count = 0};
    if (trk_trace_snapshot(trace, &end) != NULL) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "it begins with a snapshot: what the pages were before is not known");
    }
    enum trk_status status = trk_policy_log_read(&out->log, trace, error);
    if (status != TRK_OK) {
        return status;
    }
    struct comparing comparing = {.out = out};
    comparing.sides = calloc(2, sizeof *comparing.sides);
    comparing.entries = calloc(TRK_REGION_COUNT, sizeof *comparing.entries);
    if (comparing.sides == NULL || comparing.entries == NULL) {
        status = TRK_E_MEMORY;
    }
    for (size_t i = 0; i < 2 && status == TRK_OK; i++) {
        status = trk_policy_side_open(&comparing.sides[i], &out->log, &policies[i]);
    }
    if (status == TRK_OK) {
        status = run_all(&comparing);
    }
    if (status == TRK_OK) {
        compare_ends(&comparing);
        if (out->count > 0) {
            qsort(out->regions, out->count, sizeof *out->regions, by_first);
        }
    } else {
        (void)trk_error_set(error, status, "it cannot be run: %s", trk_status_name(status));
    }
    for (size_t i = 0; i < 2 && comparing.sides != NULL; i++) {
        trk_policy_side_close(&comparing.sides[i]);
    }
    free(comparing.sides);
    free(comparing.entries);
    return status;
}

void trk_policy_diff_free(struct trk_policy_diff *diff)
{
    free(diff->regions);
    trk_policy_log_free(&diff->log);
}
