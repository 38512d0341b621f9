#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live.h"
#include "recorder/capture.h"
#include "track/crash.h"
#include "track/fault.h"
#include "track/generations.h"
#include "track/pages.h"

#define PAGE SCENARIO_PAGE_BYTES

/* ---- what is left out ---- */

static const char *op_left_out(const struct scenario_op *op)
{
    if (op->verb == VERB_INJECT && op->inject != INJECT_PROTECT_FAIL)
        return "injects faults";
    if (!live_knows(op->verb))
        return "a verb of the simulated host";
    if ((op->verb == VERB_STORE || op->verb == VERB_HLE_WRITE) && !live_store_possible(op))
        return "a store that no single instruction makes";
    for (uint32_t i = 0; i < op->nested_count; i++) {
        const char *why = op_left_out(&op->nested[i]);
        if (why[0] != '\0')
            return why;
    }
    return "";
}

/* Verdicts that only the oracle can give. */
static bool oracle_verdict(const char *verdict)
{
    static const char *const words[] = {"stale-gpu-read", "stale-cpu-read", "lost-cpu-write",
                                        "lost-gpu-write", "kernel-access"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(verdict, words[i]) == 0)
            return true;
    }
    return false;
}

const char *live_left_out(const struct trk_scenario *scenario)
{
    /* First the reasons that a file states, then what its operations need. */
    if (scenario->schedule.kind == SCHEDULE_EXPLORE)
        return "explores";
    if (scenario->schedule.kind != SCHEDULE_IN_ORDER || scenario->thread_count > 3)
        return "schedules threads";
    for (uint32_t thread = 0; thread < scenario->thread_count; thread++) {
        const struct scenario_thread_text *text = &scenario->threads[thread];
        for (uint32_t i = 0; i < text->op_count; i++) {
            const char *why = op_left_out(&text->ops[i]);
            if (why[0] != '\0')
                return why;
        }
    }
    for (uint32_t i = 0; i < scenario->expect.verdict_count; i++) {
        if (oracle_verdict(scenario->expect.verdicts[i]))
            return "a verdict of the oracle";
    }
    if (scenario->entry_count > LIVE_ENTRIES_MOST || scenario->policy.max_mappings != 0)
        return "a host with other limits";
    for (uint32_t i = 0; i < scenario->entry_count; i++) {
        const struct scenario_entry *entry = &scenario->entries[i];
        if (entry->reserved || !entry->mapped)
            return "memory that is not plain";
    }
    return "";
}

/* ---- memory ---- */

static bool fail(struct live *live, const char *what)
{
    snprintf(live->text, sizeof live->text, "%s: %m", what);
    return false;
}

static struct live_entry *original_of(struct live *live, struct live_entry *entry)
{
    uint32_t original = entry->text->alias_of;
    return original != SCENARIO_NONE ? &live->entries[original] : entry;
}

static bool make_object(struct live *live, struct live_entry *entry)
{
    uint64_t bytes = entry->text->size_bytes;
    entry->fd = memfd_create("guest", MFD_CLOEXEC);
    if (entry->fd < 0 || ftruncate(entry->fd, (off_t)bytes) != 0)
        return fail(live, "no memory object");
    entry->gpu = calloc(bytes, 1);
    return entry->gpu != NULL || fail(live, "no memory for the GPU's copy");
}

static bool map_entry(struct live *live, struct live_entry *entry)
{
    uint64_t bytes = entry->text->size_bytes;
    uint64_t host_addr = entry->text->guest_addr + (uint64_t)live->backend.host_bias_bytes;
    const struct live_entry *original = original_of(live, entry);
    void *wanted;
    memcpy(&wanted, &host_addr, sizeof wanted);
    entry->host = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                       original->fd, 0);
    entry->backing = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, original->fd, 0);
    entry->gpu = original->gpu;
    if (entry->host != wanted || entry->backing == MAP_FAILED)
        return fail(live, "no memory at the guest's address");
    return true;
}

/* Originals first: a view is a second mapping of what is there. */
static bool map_entries(struct live *live)
{
    for (uint32_t i = 0; i < live->entry_count; i++) {
        if (live->entries[i].text->alias_of == SCENARIO_NONE &&
            !make_object(live, &live->entries[i]))
            return false;
    }
    for (uint32_t i = 0; i < live->entry_count; i++) {
        if (!map_entry(live, &live->entries[i]))
            return false;
    }
    for (uint32_t i = 0; i < live->entry_count; i++) {
        if (live->entries[i].text->alias_of == SCENARIO_NONE)
            close(live->entries[i].fd);
    }
    return true;
}

struct live_entry *live_entry_at(struct live *live, uint64_t guest_addr, uint64_t size_bytes)
{
    for (uint32_t i = 0; i < live->entry_count; i++) {
        const struct scenario_entry *text = live->entries[i].text;
        uint64_t offset = guest_addr - text->guest_addr;
        if (guest_addr >= text->guest_addr && offset < text->size_bytes &&
            size_bytes <= text->size_bytes - offset)
            return &live->entries[i];
    }
    return NULL;
}

/* A line of the kernel's table of mappings, in guest addresses. */
struct mapping {
    uint64_t first, end;
    unsigned rights;
};

static bool next_mapping(const struct live *live, FILE *maps, struct mapping *out)
{
    char line[512], letters[5];
    uint64_t bias = (uint64_t)live->backend.host_bias_bytes;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &out->first, &out->end, letters) != 3)
            continue;
        out->first -= bias;
        out->end -= bias;
        out->rights = (letters[0] == 'r' ? TRK_RIGHT_READ : 0u) |
                      (letters[1] == 'w' ? TRK_RIGHT_WRITE : 0u) |
                      (letters[2] == 'x' ? TRK_RIGHT_EXEC : 0u);
        return true;
    }
    if (maps != NULL)
        fclose(maps);
    return false;
}

unsigned live_rights(const struct live *live, uint64_t guest_addr)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    struct mapping mapping;
    unsigned rights = TRK_RIGHTS_NONE;
    while (next_mapping(live, maps, &mapping)) {
        if (guest_addr >= mapping.first && guest_addr < mapping.end)
            rights = mapping.rights;
    }
    return rights;
}

/* What the model lets through on a page: guest rights, watches, state. */
static unsigned allowed(const struct trk_page_view *view)
{
    unsigned rights = view->guest_rights;
    if (view->write_watches > 0 || view->armed || !view->cpu_dirty)
        rights &= ~(unsigned)TRK_RIGHT_WRITE;
    return view->read_watch || view->gpu_dirty ? TRK_RIGHTS_NONE : rights;
}

/* The first page of an entry's part of a mapping that may not let through so much; 0: none. */
static uint64_t loose_in(struct live *live, const struct scenario_entry *text,
                         const struct mapping *mapping)
{
    uint64_t end = text->guest_addr + text->size_bytes;
    uint64_t at = text->guest_addr > mapping->first ? text->guest_addr : mapping->first;
    for (; at < end && at < mapping->end; at += PAGE) {
        struct trk_page_view view = trk_pages_view(live->tracker, at);
        if (mapping->rights & ~allowed(&view))
            return at;
    }
    return 0;
}

uint64_t live_loose_page(struct live *live)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    struct mapping mapping;
    uint64_t loose = 0;
    while (next_mapping(live, maps, &mapping)) {
        for (uint32_t i = 0; loose == 0 && i < live->entry_count; i++)
            loose = loose_in(live, live->entries[i].text, &mapping);
    }
    return loose;
}

/* What the page's state explains: CLEAN one write watch, GPU one of each. */
uint64_t live_leaking_page(struct live *live)
{
    for (uint32_t i = 0; i < live->entry_count; i++) {
        const struct scenario_entry *text = live->entries[i].text;
        for (uint64_t at = text->guest_addr; at < text->guest_addr + text->size_bytes; at += PAGE) {
            struct trk_page_view view = trk_pages_view(live->tracker, at);
            if (view.write_watches > !view.cpu_dirty || view.read_watch > view.gpu_dirty)
                return at;
        }
    }
    return 0;
}

/* ---- all of it ---- */

/* The former handler: whoever gets here was declined by the owner. */
static struct live *running;

static void nobody_took_it(int signal_number)
{
    if (running != NULL && running->accessing)
        siglongjmp(running->unhandled, 1);
    signal(signal_number, SIG_DFL); /* a fault of our own */
}

void live_thread_begin(struct live *live)
{
    live->calls.count = 0;
    memset(live->fails, 0, sizeof live->fails);
}

bool live_refuse_call(struct live *live, uint64_t calls)
{
    for (size_t i = 0; i < LIVE_FAILS_MOST; i++) {
        if (live->fails[i] != 0)
            continue;
        live->fails[i] = calls;
        return true;
    }
    return false;
}

/* Whether one of the calls that are to fail is this one. */
static bool refused(struct live *live)
{
    bool now = false;
    for (size_t i = 0; i < LIVE_FAILS_MOST; i++) {
        now |= live->fails[i] == 1;
        live->fails[i] -= live->fails[i] != 0;
    }
    return now;
}

static int counted_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                           unsigned rights)
{
    struct live *live = (struct live *)(void *)backend;
    if (!live->quiet && refused(live))
        return ENOMEM;
    int result = live->host->protect(live->host, guest_addr, size_bytes, rights);
    if (result == 0 && !live->quiet)
        live_span_add(&live->calls, (struct scenario_span){guest_addr, size_bytes, rights});
    return result;
}

static void destroyed_elsewhere(struct trk_backend *backend)
{
    (void)backend;
}

static bool open_tracker(struct live *live)
{
    struct trk_error error;
    if (trk_backend_mprotect_create(&live->host, trk_host_bias_default(), &error) != TRK_OK) {
        snprintf(live->text, sizeof live->text, "%s", error.text);
        return false;
    }
    live->backend = *live->host;
    live->backend.protect = counted_protect;
    live->backend.destroy = destroyed_elsewhere;
    live->backend.mappings = NULL; /* a refused call is refused, as by the simulated host */
    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = live->scenario->policy.core;
    options.backend = &live->backend;
    options.observer = trk_capture_observer(); /* where `trk record` is the parent */
    options.failure = live_failure;
    options.failure_context = live;
    if (trk_tracker_create(&live->tracker, &options, &error) == TRK_OK) {
        trk_capture_tracker(options.id, &options.policy, live->backend.kind);
        return true;
    }
    snprintf(live->text, sizeof live->text, "%s", error.text);
    return false;
}

/* The guest's rights; with generations, the mapping that has them. */
static enum trk_status tell_rights(struct live *live, const struct scenario_entry *entry)
{
    struct trk_generations_view view = {
        .guest_addr = entry->guest_addr, .size_bytes = entry->size_bytes, .rights = entry->rights};
    if (live->scenario->policy.core.generations)
        return trk_generations_map(live->tracker, &view, NULL);
    return trk_tracker_set_guest_protection(live->tracker, entry->guest_addr, entry->size_bytes,
                                            entry->rights);
}

static bool tracked(const struct live *live, const struct scenario_entry *entry)
{
    return trk_range_valid(live->scenario->policy.core.arena, entry->guest_addr, entry->size_bytes);
}

static bool tell_entry(struct live *live, const struct scenario_entry *entry)
{
    if (!tracked(live, entry))
        return true; /* the tracker has nothing to do with it */
    return tell_rights(live, entry) == TRK_OK &&
           (!entry->gpu ||
            trk_tracker_register(live->tracker, entry->guest_addr, entry->size_bytes) == TRK_OK);
}

/* All views of one object are joined when each is joined with the original. */
static bool tell_view(struct live *live, struct live_entry *entry)
{
    const struct scenario_entry *original = original_of(live, entry)->text, *text = entry->text;
    uint64_t bytes =
        text->size_bytes < original->size_bytes ? text->size_bytes : original->size_bytes;
    if (text == original || !tracked(live, text) || !tracked(live, original))
        return true;
    return trk_tracker_join_views(live->tracker, text->guest_addr, original->guest_addr, bytes) ==
           TRK_OK;
}

static bool tell_entries(struct live *live)
{
    bool told = true;
    for (uint32_t i = 0; told && i < live->entry_count; i++)
        told = tell_entry(live, live->entries[i].text);
    for (uint32_t i = 0; told && i < live->entry_count; i++)
        told = tell_view(live, &live->entries[i]);
    return told || fail(live, "the tracker refuses the memory");
}

bool live_open(struct live *live, const struct trk_scenario *scenario)
{
    static const int signals[] = {SIGSEGV, SIGBUS};
    struct trk_error error = {.text = ""};
    memset(live, 0, sizeof *live);
    live->scenario = scenario;
    live->quiet = true;
    if (!open_tracker(live))
        return false;
    live->generations = calloc(scenario->name_count + 1, sizeof *live->generations);
    if (live->generations == NULL)
        return fail(live, "no memory");
    live->entry_count = scenario->entry_count;
    for (uint32_t i = 0; i < scenario->entry_count; i++)
        live->entries[i].text = &scenario->entries[i];
    if (!map_entries(live) || !tell_entries(live))
        return false;
    struct trk_resource_layer layer = {live_flush, live_read_back, live};
    for (size_t i = 0; i < 2; i++)
        signal(signals[i], nobody_took_it);
    trk_crash_reports_set(TRK_CRASH_REPORT_NONE, STDERR_FILENO); /* such faults are meant here */
    running = live;
    if (trk_tracker_set_resource_layer(live->tracker, &layer) != TRK_OK ||
        trk_fault_install(live_fault, live, &error) != TRK_OK ||
        trk_fault_thread_enter(&error) != TRK_OK) {
        snprintf(live->text, sizeof live->text, "no fault handler: %s", error.text);
        return false;
    }
    live->quiet = false;
    return true;
}

void live_close(struct live *live)
{
    running = NULL;
    if (trk_fault_uninstall(NULL) != TRK_OK)
        abort();
    for (uint32_t i = 0; i < live->entry_count; i++) {
        struct live_entry *entry = &live->entries[i];
        munmap(entry->host, entry->text->size_bytes);
        munmap(entry->backing, entry->text->size_bytes);
        if (entry->text->alias_of == SCENARIO_NONE)
            free(entry->gpu);
    }
    free(live->generations);
    /* Watches may be left: the process ends before anybody would mind. */
}
