/*
 * The HEADER's JSON.
 *
 * Keys are only ever added. Addresses and whole numbers that may pass 2^53 are strings, because
 * JSON readers keep numbers as doubles. Of the environment only our own variables go in: the rest
 * is nobody's business.
 */
#define _GNU_SOURCE /* environ */
#include "record_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "clock_ticks.h"
#include "record_text.h"
#include "track/address.h"
#include "track/backend.h"
#include "track/pages.h"
#include "track/policy.h"

#define HEADER_SCHEMA         "trk.header"
#define HEADER_SCHEMA_VERSION 1
#define ANCHOR_TRIES          8
/* Longer ones are cut: the HEADER has 1 MiB, and a command line may have 2. */
#define COMMAND_WORDS_MAX  512
#define COMMAND_WORD_BYTES 1024

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

struct trk_trace_anchor trk_record_header_anchor(void)
{
    struct trk_trace_anchor best = {0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < ANCHOR_TRIES; ++i) {
        uint64_t before = trk_clock_ticks();
        uint64_t raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t after = trk_clock_ticks();
        if (after - before < narrowest) {
            narrowest = after - before;
            best.ticks = before + narrowest / 2;
            best.monotonic_raw_ns = raw_ns;
            best.realtime_ns = clock_ns(CLOCK_REALTIME);
        }
    }
    return best;
}

static void add_u64(cJSON *object, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    cJSON_AddStringToObject(object, key, text);
}

static void add_address(cJSON *object, const char *key, uint64_t guest_addr)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, guest_addr);
    cJSON_AddStringToObject(object, key, text);
}

static void add_command(cJSON *root, char *const *argv)
{
    cJSON *command = cJSON_AddArrayToObject(root, "command");
    for (size_t i = 0; i < COMMAND_WORDS_MAX && argv[i]; ++i) {
        char word[COMMAND_WORD_BYTES];
        snprintf(word, sizeof(word), "%s", argv[i]);
        trk_record_text_clean(word);
        cJSON_AddItemToArray(command, cJSON_CreateString(word));
    }
}

static void add_environment(cJSON *root)
{
    cJSON *environment = cJSON_AddObjectToObject(root, "environment");
    for (char **entry = environ; *entry; ++entry) {
        const char *value = strchr(*entry, '=');
        if (strncmp(*entry, "TRK_", 4) != 0 || !value)
            continue;
        char name[64];
        char cut[COMMAND_WORD_BYTES];
        snprintf(name, sizeof(name), "%.*s", (int)(value - *entry), *entry);
        snprintf(cut, sizeof(cut), "%s", value + 1);
        trk_record_text_clean(name);
        trk_record_text_clean(cut);
        if (strcmp(name, TRK_SESSION_VARIABLE) != 0 && !cJSON_HasObjectItem(environment, name))
            cJSON_AddStringToObject(environment, name, cut);
    }
}

static void add_capture(cJSON *root, const struct trk_record_header *header)
{
    cJSON *capture = cJSON_AddObjectToObject(root, "capture");
    cJSON_AddNumberToObject(capture, "session_version", TRK_SESSION_VERSION);
    cJSON_AddBoolToObject(capture, "attached", header->attached);
    cJSON_AddNumberToObject(capture, "rings", header->session->ring_count);
    cJSON_AddNumberToObject(capture, "ring_records", header->session->ring_records);
    uint32_t block_ms = header->session->control->block_ms;
    cJSON_AddStringToObject(capture, "when_full", block_ms ? "block" : "drop-newest");
    cJSON_AddNumberToObject(capture, "block_ms", block_ms);
    static const char *const payloads[] = {"none", "hash", "pages"};
    uint32_t payload = header->options->payload;
    cJSON_AddStringToObject(capture, "payload", payload < 3 ? payloads[payload] : "?");
    if (header->append_ns > 0.0) /* tenths tell enough */
        cJSON_AddNumberToObject(capture, "append_ns",
                                (double)(uint64_t)(header->append_ns * 10.0 + 0.5) / 10.0);
    cJSON *hidden = cJSON_AddArrayToObject(root, "not_visible");
    static const char *const what[] = {
        "stores to pages that are open",
        "stores through views that no tracker knows",
        "stores of other processes",
        "faults that the kernel serves itself",
        "order between threads that shares neither a lock domain nor a timeline",
    };
    for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); ++i)
        cJSON_AddItemToArray(hidden, cJSON_CreateString(what[i]));
}

static void add_stream(cJSON *list, const struct trk_flight_view *view, size_t i, uint64_t events)
{
    cJSON *stream = cJSON_CreateObject();
    cJSON_AddItemToArray(list, stream);
    cJSON_AddNumberToObject(stream, "stream", trk_flight_view_stream(view, i)->stream_id);
    add_u64(stream, "events", events);
}

/* Of a dump that begins with a state: how many events of each stream that state is of. */
static void add_before(cJSON *flight, const struct trk_flight_view *view)
{
    if (!view || !trk_flight_view_state(view))
        return;
    cJSON *before = cJSON_AddArrayToObject(flight, "before_state");
    for (size_t i = 0; i < trk_flight_view_streams(view); ++i) {
        if (trk_flight_view_before(view, i) > 0)
            add_stream(before, view, i, trk_flight_view_before(view, i));
    }
}

/* Of which threads the one stream is that stands for those of which nothing is left. */
static void add_forgotten(cJSON *flight, const struct trk_flight_view *view)
{
    size_t count = view ? trk_flight_view_streams(view) : 0;
    uint64_t *events = calloc(count + 1, sizeof *events);
    cJSON *list = NULL;
    bool known = events && count > 0 && trk_flight_view_gone(view, events);
    for (size_t i = 0; known && i < count; ++i) {
        if (events[i] == 0)
            continue;
        if (!list)
            list = cJSON_AddArrayToObject(flight, "forgotten_streams");
        add_stream(list, view, i, events[i]);
    }
    free(events);
}

static void add_dump(cJSON *root, const struct trk_record_header *header)
{
    if (!header->dump)
        return;
    cJSON *flight = cJSON_AddObjectToObject(root, "flight");
    cJSON_AddNumberToObject(flight, "dump", header->dump->number);
    cJSON_AddStringToObject(flight, "trigger", header->dump->trigger);
    add_u64(flight, "trigger_ticks", header->dump->ticks);
    if (header->dump->by_event)
        cJSON_AddStringToObject(flight, "trigger_event",
                                header->dump->has_event ? "in the dump" : "forgotten");
    if (header->dump->note[0] != '\0')
        cJSON_AddStringToObject(flight, "trigger_note", header->dump->note);
    add_u64(flight, "ring_bytes", header->options->flight_bytes);
    add_u64(flight, "forgotten_events", header->dump->forgotten);
    cJSON_AddNumberToObject(flight, "before_ms", header->options->before_ms);
    cJSON_AddNumberToObject(flight, "after_ms", header->options->after_ms);
    add_before(flight, header->dump->view);
    add_forgotten(flight, header->dump->view);
}

static void add_policy(cJSON *tracker, uint64_t word)
{
    struct trk_policy policy;
    if (trk_policy_unpack(word, &policy) != TRK_OK)
        return;
    cJSON *object = cJSON_AddObjectToObject(tracker, "policy");
    cJSON_AddStringToObject(object, "invalidate", trk_invalidate_policy_name(policy.invalidate));
    cJSON_AddStringToObject(object, "download", trk_download_policy_name(policy.download));
    cJSON_AddStringToObject(object, "arena", trk_arena_name(policy.arena));
    cJSON_AddNumberToObject(object, "fault_width", policy.fault_width_bytes);
    cJSON_AddNumberToObject(object, "page_size", policy.page_size_bytes);
    cJSON_AddBoolToObject(object, "generations", policy.generations);
}

/* The trackers that are known when the header is written; TRACKER events tell of all. */
static void add_trackers(cJSON *root, const struct trk_session_control *control)
{
    cJSON *trackers = cJSON_AddArrayToObject(root, "trackers");
    for (unsigned id = 0; id < TRK_SESSION_TRACKERS; ++id) {
        const struct trk_session_tracker *slot = &control->trackers[id];
        uint32_t known = atomic_load_explicit(&slot->known, memory_order_acquire);
        if (known == TRK_SESSION_KNOWN_NOT)
            continue;
        cJSON *tracker = cJSON_CreateObject();
        cJSON_AddNumberToObject(tracker, "id", id);
        uint32_t backend = atomic_load_explicit(&slot->backend, memory_order_relaxed);
        cJSON_AddStringToObject(tracker, "backend",
                                trk_backend_kind_name((enum trk_backend_kind)backend));
        uint64_t policy = atomic_load_explicit(&slot->policy, memory_order_relaxed);
        if (known == TRK_SESSION_KNOWN_FOREIGN)
            cJSON_AddTrueToObject(tracker, "foreign");
        if (known != TRK_SESSION_KNOWN_FOREIGN || policy != 0)
            add_policy(tracker, policy);
        cJSON_AddItemToArray(trackers, tracker);
    }
}

static void add_band(cJSON *bands, const char *name, uint64_t first, uint64_t end)
{
    cJSON *band = cJSON_CreateObject();
    cJSON_AddStringToObject(band, "name", name);
    add_address(band, "first", first);
    add_address(band, "end", end);
    cJSON_AddItemToArray(bands, band);
}

static void add_model(cJSON *root)
{
    cJSON *model = cJSON_AddObjectToObject(root, "model");
    cJSON_AddNumberToObject(model, "host_page_bytes", (double)TRK_HOST_PAGE_BYTES);
    cJSON_AddNumberToObject(model, "guest_page_bytes", (double)TRK_GUEST_PAGE_BYTES);
    cJSON_AddNumberToObject(model, "region_bytes", (double)TRK_REGION_BYTES);
    cJSON_AddNumberToObject(model, "write_watches", TRK_WRITE_WATCHES_MAX);
    cJSON_AddNumberToObject(model, "read_watches", TRK_READ_WATCHES_MAX);
    cJSON *bands = cJSON_AddArrayToObject(model, "bands");
    add_band(bands, "low", TRK_LOW_FIRST, TRK_LOW_END);
    add_band(bands, "arena", TRK_ARENA_FIRST, TRK_ARENA_END);
    static const struct {
        enum trk_domain_class number;
        const char *name;
    } classes[] = {
        {TRK_DOMAIN_REGION, "region"}, {TRK_DOMAIN_GENERATIONS, "generations"},
        {TRK_DOMAIN_PAGES, "pages"},   {TRK_DOMAIN_ADDRESS_SPACE, "address-space"},
        {TRK_DOMAIN_OWNER, "owner"},
    };
    cJSON *domains = cJSON_AddArrayToObject(model, "lock_domains");
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); ++i) {
        cJSON *domain = cJSON_CreateObject();
        cJSON_AddNumberToObject(domain, "class", classes[i].number);
        cJSON_AddStringToObject(domain, "name", classes[i].name);
        cJSON_AddItemToArray(domains, domain);
    }
}

/* tsc_hz stands alone too, where readers that only want microseconds look for it. */
static void add_clock(cJSON *root, const struct trk_trace_anchor *anchors)
{
    cJSON *clock = cJSON_AddObjectToObject(root, "clock");
    cJSON_AddStringToObject(clock, "source", TRK_CLOCK_SOURCE);
    uint64_t ticks = anchors[1].ticks - anchors[0].ticks;
    uint64_t raw_ns = anchors[1].monotonic_raw_ns - anchors[0].monotonic_raw_ns;
    double frequency_hz = raw_ns > 0 ? (double)ticks * 1e9 / (double)raw_ns : 0.0;
    if (frequency_hz >= 1.0)
        cJSON_AddNumberToObject(root, "tsc_hz", (double)(uint64_t)frequency_hz);
    cJSON *list = cJSON_AddArrayToObject(clock, "anchors");
    for (int i = 0; i < 2; ++i) {
        cJSON *anchor = cJSON_CreateObject();
        add_u64(anchor, "ticks", anchors[i].ticks);
        add_u64(anchor, "monotonic_raw_ns", anchors[i].monotonic_raw_ns);
        add_u64(anchor, "realtime_ns", anchors[i].realtime_ns);
        cJSON_AddItemToArray(list, anchor);
    }
}

/* The processor's name as the kernel gives it; "" when it gives none. */
static void read_processor(char *out, size_t size)
{
    out[0] = '\0';
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file)
        return;
    char line[256];
    while (out[0] == '\0' && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
    }
    fclose(file);
}

/* How many mappings a process may have; page protection takes them. 0: not known. */
static double mapping_limit(void)
{
    double limit = 0;
    char line[32];
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    const char *digits = file != NULL ? fgets(line, sizeof line, file) : NULL;
    uint64_t number = 0;
    if (digits != NULL && trk_record_text_number(&digits, &number))
        limit = (double)number;
    if (file != NULL)
        fclose(file);
    return limit;
}

static void add_build(cJSON *object, const uint8_t *id, size_t size)
{
    char text[2 * TRK_BUILD_ID_BYTES + 1] = "";
    for (size_t i = 0; i < size; ++i)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
    if (size > 0)
        cJSON_AddStringToObject(object, "build_id", text);
    else
        cJSON_AddNullToObject(object, "build_id");
}

uint32_t trk_record_header_abouts(const struct trk_session_control *control)
{
    uint32_t count = 0;
    for (size_t i = 0; i < TRK_SESSION_ABOUTS; ++i)
        count += atomic_load_explicit(&control->abouts[i].known, memory_order_acquire) != 0;
    return count;
}

/* What the program has said of itself so far. Its words are anybody's bytes. */
static void add_about(cJSON *root, const struct trk_session_control *control)
{
    cJSON *object = cJSON_AddObjectToObject(root, "about");
    for (size_t i = 0; i < TRK_SESSION_ABOUTS; ++i) {
        const struct trk_session_about *about = &control->abouts[i];
        char bytes[sizeof about->words];
        if (atomic_load_explicit(&about->known, memory_order_acquire) == 0)
            continue;
        for (size_t k = 0; k < sizeof bytes / 8; ++k) {
            uint64_t word = atomic_load_explicit(&about->words[k], memory_order_relaxed);
            memcpy(bytes + 8 * k, &word, sizeof word);
        }
        char *text = bytes + TRK_SESSION_ABOUT_KEY_BYTES;
        bytes[TRK_SESSION_ABOUT_KEY_BYTES - 1] = bytes[sizeof bytes - 1] = '\0';
        trk_record_text_clean(bytes);
        trk_record_text_clean(text);
        cJSON_DeleteItemFromObjectCaseSensitive(object, bytes);
        cJSON_AddStringToObject(object, bytes, text);
    }
}

/* What wrote the trace, and what it is of. */
static void add_builds(cJSON *root, const struct trk_record_header *header)
{
    const struct trk_session_control *control = header->session->control;
    uint8_t id[TRK_BUILD_ID_BYTES] = {0};
    cJSON *tool = cJSON_AddObjectToObject(root, "tool");
    cJSON_AddStringToObject(tool, "name", "trk");
    cJSON_AddStringToObject(tool, "version", TRK_VERSION);
    add_build(tool, id, trk_capture_build(TRK_OWN_PROGRAM, id));
    bool joined = atomic_load_explicit(&control->pid, memory_order_acquire) != 0 ||
                  header->child_pid == getpid();
    uint32_t size = atomic_load_explicit(&control->build_id_bytes, memory_order_relaxed);
    for (size_t i = 0; i < TRK_BUILD_ID_BYTES / 8; ++i) {
        uint64_t word = atomic_load_explicit(&control->build_id[i], memory_order_relaxed);
        memcpy(id + 8 * i, &word, sizeof word);
    }
    cJSON *program = cJSON_AddObjectToObject(root, "program");
    add_build(program, id, joined && size <= TRK_BUILD_ID_BYTES ? size : 0);
    trk_record_handlers_print(&header->handlers, program);
}

static void add_host(cJSON *root)
{
    struct utsname names = {0};
    char processor[128];
    (void)uname(&names);
    read_processor(processor, sizeof(processor));
    cJSON *host = cJSON_AddObjectToObject(root, "host");
    cJSON_AddStringToObject(host, "name", names.nodename);
    cJSON_AddStringToObject(host, "system", names.sysname);
    cJSON_AddStringToObject(host, "kernel", names.release);
    cJSON_AddStringToObject(host, "machine", names.machine);
    cJSON_AddStringToObject(host, "processor", processor);
    cJSON_AddNumberToObject(host, "processors", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cJSON_AddNumberToObject(host, "page_bytes", (double)sysconf(_SC_PAGESIZE));
    double limit = mapping_limit();
    if (limit > 0)
        cJSON_AddNumberToObject(host, "mapping_limit", limit);
}

char *trk_record_header_json(const struct trk_record_header *header)
{
    cJSON *root = cJSON_CreateObject();
    if (!root)
        return NULL;
    cJSON_AddStringToObject(root, "schema", HEADER_SCHEMA);
    cJSON_AddNumberToObject(root, "schema_version", HEADER_SCHEMA_VERSION);
    add_command(root, header->options->argv);
    cJSON_AddNumberToObject(root, "pid", header->child_pid);
    add_builds(root, header);
    add_about(root, header->session->control);
    add_environment(root);
    add_capture(root, header);
    add_dump(root, header);
    if (header->options->settings_json)
        cJSON_AddItemToObject(root, "options", cJSON_Parse(header->options->settings_json));
    add_trackers(root, header->session->control);
    if (header->mappings)
        cJSON_AddItemToObject(root, "mappings", cJSON_Duplicate(header->mappings, true));
    add_model(root);
    add_clock(root, header->anchors);
    add_host(root);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}
