/*
 * A window as a scenario file: its memory, the way to its first state, its threads.
 *
 * Rules: scenario-format, Keys.
 */
#include "explore_script.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_expect.h"

/* ---- names ----------------------------------------------------------------------------------- */

struct thread_name {
    char text[48];
};

static bool plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A stream's name as a thread's: letters, digits and -, and no two alike. */
static struct thread_name name_of(const struct script *script, uint32_t thread)
{
    struct thread_name name = {""};
    uint32_t stream = script->window->streams[thread];
    const struct trk_trace_stream *in_file =
        trk_trace_stream(script->window->projection->run->trace, stream);
    if (script->request->kind == SCRIPT_SHAPE || in_file == NULL || in_file->name[0] == '\0') {
        snprintf(name.text, sizeof name.text, "thread-%" PRIu32, thread);
        return name;
    }
    size_t used = 0;
    for (const char *at = in_file->name; *at != '\0' && used < 32; at++)
        name.text[used++] = plain(*at) ? *at : '-';
    bool taken = strcmp(name.text, "init") == 0 || strcmp(name.text, "finally") == 0;
    for (uint32_t i = 0; i < script->window->stream_count; i++) {
        const struct trk_trace_stream *other =
            trk_trace_stream(script->window->projection->run->trace, script->window->streams[i]);
        taken |= i != thread && other != NULL && strcmp(other->name, in_file->name) == 0;
    }
    if (taken)
        snprintf(name.text + used, sizeof name.text - used, "-%" PRIu32, stream);
    return name;
}

static const char *kind_of(const struct script *script, uint32_t stream)
{
    const struct trk_trace_stream *in_file =
        trk_trace_stream(script->window->projection->run->trace, stream);
    uint32_t role = in_file == NULL ? 0 : in_file->role;
    return role == 1 ? "guest" : role == 2 ? "gpu" : "host";
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void add_text(void *list, const char *text)
{
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* The text that was written so far is one string of the list. */
static void take(struct script *script, cJSON *list)
{
    if (script->text.text != NULL)
        add_text(list, script->text.text);
    growing_clear(&script->text);
}

/* ---- policy and memory ----------------------------------------------------------------------- */

/* The policy of the tracker; of a foreign one that it follows, or the usual, with its own pages. */
static struct trk_policy policy_of(const struct projection *projection)
{
    const struct foreign_tracker *foreign = &projection->run->foreign.trackers[projection->tracker];
    struct trk_policy policy = trk_tracker_options_default().policy;
    if (!projection_foreign(projection))
        return projection->run->machines[projection->tracker].policy;
    if (foreign->policy == 0 || trk_policy_unpack(foreign->policy, &policy) != TRK_OK)
        policy.page_size_bytes = (uint32_t)foreign->page_bytes;
    return policy;
}

static void add_policy(const struct script *script, cJSON *root)
{
    const struct trk_policy its = policy_of(script->window->projection);
    const struct trk_policy *policy = &its;
    cJSON *object = cJSON_AddObjectToObject(root, "policy");
    cJSON_AddStringToObject(object, "invalidate", trk_invalidate_policy_name(policy->invalidate));
    cJSON_AddStringToObject(object, "download", trk_download_policy_name(policy->download));
    cJSON_AddStringToObject(object, "arena", trk_arena_name(policy->arena));
    cJSON_AddNumberToObject(object, "fault_width", policy->fault_width_bytes);
    cJSON_AddNumberToObject(object, "page_size", policy->page_size_bytes);
    if (policy->generations)
        cJSON_AddTrueToObject(object, "generations");
}

static const struct start *start_of(const struct script *script)
{
    const struct projection *projection = script->window->projection;
    return &projection->starts[projection->items[script->window->first].start];
}

static void find_entries(struct script *script)
{
    const struct projection *projection = script->window->projection;
    const struct start *start = start_of(script);
    for (uint32_t i = 0; i < projection->page_count; i++) {
        const struct page_start *page = &start->pages[i];
        const struct page_start *before = i > 0 ? &start->pages[i - 1] : NULL;
        if (before != NULL && before->registered == page->registered &&
            before->rights == page->rights) {
            script->entries[script->entry_count - 1].size_bytes += SCENARIO_PAGE_BYTES;
            continue;
        }
        script->entries[script->entry_count++] =
            (struct script_entry){projection->first_addr + i * SCENARIO_PAGE_BYTES,
                                  SCENARIO_PAGE_BYTES, page->rights, page->registered};
    }
}

static void add_memory(struct script *script, cJSON *root)
{
    cJSON *memory = cJSON_AddObjectToObject(root, "memory");
    for (uint32_t i = 0; i < script->entry_count; i++) {
        const struct script_entry *from = &script->entries[i];
        const char name[2] = {(char)('A' + i), '\0'};
        char text[32];
        cJSON *entry = cJSON_AddObjectToObject(memory, name);
        bool shape = script->request->kind == SCRIPT_SHAPE;
        snprintf(text, sizeof text, "0x%" PRIx64,
                 shape ? from->guest_addr - script->entries[0].guest_addr : from->guest_addr);
        cJSON_AddStringToObject(entry, "at", text);
        snprintf(text, sizeof text, "%" PRIu64 "P", from->size_bytes / SCENARIO_PAGE_BYTES);
        cJSON_AddStringToObject(entry, "size", text);
        if (from->rights != TRK_RIGHTS_RW)
            cJSON_AddStringToObject(entry, "prot", scenario_rights_word(from->rights));
        if (!from->registered)
            cJSON_AddFalseToObject(entry, "gpu");
    }
}

/* ---- init and finally ------------------------------------------------------------------------ */

static void write_newer(struct script *script, const struct newer *newer, const char *verb)
{
    const struct item *item = &script->window->projection->items[newer->item];
    growing_add(&script->text, "%s ", verb);
    script_range(script, newer->guest_addr, newer->size_bytes);
    growing_add(&script->text, " %" PRIu32,
                script->request->kind == SCRIPT_SHAPE ? 1 : script_value(item->stamp));
}

/* Bytes of a page that one side alone has; nested: behind a brace. */
static void page_newer(struct script *script, cJSON *list, uint64_t page_addr, bool gpu)
{
    const struct window *window = script->window;
    bool between = false;
    for (uint32_t i = 0; i < window->newer_count; i++) {
        struct newer newer = window->newer[i];
        uint64_t end = newer.guest_addr + newer.size_bytes;
        uint64_t page_end = page_addr + SCENARIO_PAGE_BYTES;
        if (newer.gpu != gpu || newer.guest_addr >= page_end || end <= page_addr)
            continue;
        if (newer.guest_addr < page_addr)
            newer.guest_addr = page_addr;
        newer.size_bytes = (end < page_end ? end : page_end) - newer.guest_addr;
        if (list == NULL && between)
            growing_add(&script->text, " ; ");
        between = true;
        write_newer(script, &newer, gpu ? "gpu_write" : "raw_write");
        if (list != NULL)
            take(script, list);
    }
}

/* How often a page is watched beside what its state explains. */
static unsigned extra_watches(const struct page_start *page)
{
    unsigned explained = page->cpu_dirty ? 0 : 1;
    return page->write_watches > explained ? page->write_watches - explained : 0;
}

static void init_page(struct script *script, cJSON *list, uint64_t page_addr,
                      const struct page_start *page)
{
    if (page->gpu_dirty) {
        growing_add(&script->text, "upload ");
        script_range(script, page_addr, SCENARIO_PAGE_BYTES);
        growing_add(&script->text, " written { ");
        size_t empty = script->text.size;
        page_newer(script, NULL, page_addr, true);
        growing_add(&script->text, script->text.size == empty ? "}" : " }");
        take(script, list);
    } else if (!page->cpu_dirty) {
        growing_add(&script->text, "upload ");
        script_range(script, page_addr, SCENARIO_PAGE_BYTES);
        take(script, list);
    }
    if (!page->gpu_dirty)
        page_newer(script, list, page_addr, true);
    page_newer(script, list, page_addr, false);
    for (unsigned i = 0; i < extra_watches(page); i++) {
        growing_add(&script->text, "watch ");
        script_range(script, page_addr, SCENARIO_PAGE_BYTES);
        take(script, list);
    }
    if (page->armed) {
        growing_add(&script->text, "gen_track ");
        script_range(script, page_addr, SCENARIO_PAGE_BYTES);
        take(script, list);
    }
}

static void add_init(struct script *script, cJSON *root)
{
    const struct projection *projection = script->window->projection;
    cJSON *list = cJSON_AddArrayToObject(root, "init");
    for (uint32_t i = 0; i < projection->page_count; i++)
        init_page(script, list, projection->first_addr + i * SCENARIO_PAGE_BYTES,
                  &start_of(script)->pages[i]);
}

/* How many direct watches of a page are left when all threads have ended. */
static int watches_left(const struct script *script, uint32_t page)
{
    const struct window *window = script->window;
    const struct projection *projection = window->projection;
    uint64_t page_addr = projection->first_addr + page * SCENARIO_PAGE_BYTES;
    int left = (int)extra_watches(&start_of(script)->pages[page]);
    for (uint32_t i = window->first; i < window->end; i++) {
        const struct item *item = &projection->items[i];
        if (item->kind != ITEM_LEAF || !window_says(projection, i))
            continue;
        bool inside = item->guest_addr < page_addr + SCENARIO_PAGE_BYTES &&
                      page_addr < item->guest_addr + item->size_bytes;
        bool masked = !item->read_watch && (item->mask >> page & 1) != 0;
        left += item->verb == VERB_WATCH && inside;
        left -= item->verb == VERB_UNWATCH && inside;
        left += item->verb == VERB_WATCH_MASK && masked;
        left -= item->verb == VERB_UNWATCH_MASK && masked;
    }
    return left;
}

/* Whether guest rights change in the window: then nobody can say what may be read at its end. */
static bool rights_change(const struct window *window)
{
    for (uint32_t i = window->first; i < window->end; i++)
        if (window->projection->items[i].verb == VERB_GUEST_PROTECT)
            return true;
    return false;
}

/* Nothing may be lost: a last upload and a last read-back give the newest bytes. */
static void add_finally(struct script *script, cJSON *root)
{
    const struct projection *projection = script->window->projection;
    cJSON *list = cJSON_AddArrayToObject(root, "finally");
    for (uint32_t i = 0; i < projection->page_count; i++) {
        for (int left = watches_left(script, i); left > 0; left--) {
            growing_add(&script->text, "unwatch ");
            script_range(script, projection->first_addr + i * SCENARIO_PAGE_BYTES,
                         SCENARIO_PAGE_BYTES);
            take(script, list);
        }
    }
    for (uint32_t i = 0; i < script->entry_count && !rights_change(script->window); i++) {
        /* Where loads of the GPU's pages do not fault, their owner brings the bytes home before. */
        static const struct {
            const char *verb, *how;
        } steps[] = {{"upload", ""}, {"gpu_read", ""}, {"download", " clear"}, {"load", ""}};
        const struct script_entry *entry = &script->entries[i];
        if (!entry->registered || (entry->rights & TRK_RIGHT_READ) == 0)
            continue;
        for (size_t v = 0; v < sizeof steps / sizeof steps[0]; v++) {
            if (steps[v].how[0] != '\0' && !core_ways.open_loads)
                continue;
            growing_add(&script->text, "%s ", steps[v].verb);
            script_range(script, entry->guest_addr, entry->size_bytes);
            growing_add(&script->text, "%s", steps[v].how);
            take(script, list);
        }
    }
}

/* ---- threads and schedule -------------------------------------------------------------------- */

static void add_threads(struct script *script, cJSON *root)
{
    const struct window *window = script->window;
    cJSON *threads = cJSON_AddObjectToObject(root, "threads");
    for (uint32_t t = 0; t < window->stream_count; t++) {
        cJSON *thread = cJSON_AddObjectToObject(threads, name_of(script, t).text);
        cJSON_AddStringToObject(thread, "kind", kind_of(script, window->streams[t]));
        cJSON *list = cJSON_AddArrayToObject(thread, "run");
        script_thread(script, window->streams[t], add_text, list);
        growing_clear(&script->text);
        if (script->request->kind == SCRIPT_RECORDED)
            add_text(list, "over: frame");
    }
}

/* Each operation as soon as all that began before it have begun. */
static void add_recorded_order(struct script *script, cJSON *root)
{
    const struct window *window = script->window;
    const struct item *items = window->projection->items;
    cJSON *list = cJSON_AddArrayToObject(root, "schedule");
    for (uint32_t i = window->first; i < window->end; i++) {
        uint32_t next = i + 1;
        if (items[i].kind == ITEM_CLOSE || !window_says(window->projection, i))
            continue;
        while (next < window->end &&
               (items[next].stream != items[i].stream || items[next].kind == ITEM_CLOSE ||
                !window_says(window->projection, next)))
            next++;
        growing_add(&script->text, "%s@",
                    name_of(script, window_thread(window, items[i].stream)).text);
        if (next < window->end)
            growing_add(&script->text, "e%" PRIu64, items[next].event);
        else
            growing_add(&script->text, "over");
        take(script, list);
    }
}

static void add_schedule(struct script *script, cJSON *root)
{
    const struct script_request *request = script->request;
    if (request->kind == SCRIPT_RECORDED) {
        add_recorded_order(script, root);
        return;
    }
    if (request->schedule == SCHEDULE_EXPLORE) {
        cJSON_AddStringToObject(root, "schedule", "explore");
        return;
    }
    cJSON *object = cJSON_AddObjectToObject(root, "schedule");
    cJSON_AddNumberToObject(object, request->schedule == SCHEDULE_PCT ? "pct" : "random",
                            (double)request->seed);
    if (request->schedule == SCHEDULE_PCT)
        cJSON_AddNumberToObject(object, "depth", (double)request->depth);
    cJSON_AddNumberToObject(object, "runs", (double)request->runs);
}

static void add_expect(const struct script *script, cJSON *root)
{
    cJSON *object = cJSON_AddObjectToObject(root, "expect");
    uint32_t seen = script->request->seen;
    if ((seen & (seen - 1)) == 0) {
        cJSON_AddStringToObject(object, "verdict",
                                seen == 0 ? "ok"
                                          : scenario_verdict_word((uint32_t)__builtin_ctz(seen)));
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(object, "verdicts");
    for (; seen != 0; seen &= seen - 1)
        add_text(list, scenario_verdict_word((uint32_t)__builtin_ctz(seen)));
}

static void add_head(const struct script *script, cJSON *root)
{
    const struct projection *projection = script->window->projection;
    const struct item *first = &projection->items[script->window->first];
    char text[512];
    cJSON_AddNumberToObject(root, "scenario", 1);
    snprintf(text, sizeof text, "window-%" PRIx64 "-e%" PRIu64,
             projection->first_addr / SCENARIO_PAGE_BYTES, first->event);
    cJSON_AddStringToObject(root, "name", script->request->kind == SCRIPT_SHAPE ? "shape" : text);
    if (script->request->kind == SCRIPT_SHAPE)
        return;
    snprintf(text, sizeof text,
             "What a trace did to %" PRIu32 " page%s at 0x%" PRIx64 " from event %" PRIu64
             " on; labels are numbers of its events.",
             projection->page_count, projection->page_count == 1 ? "" : "s", projection->first_addr,
             first->event);
    cJSON_AddStringToObject(root, "about", text);
}

/* A file's last line ends, too. */
static char *with_newline(char *text)
{
    size_t size = text == NULL ? 0 : strlen(text);
    char *longer = text == NULL ? NULL : realloc(text, size + 2);
    if (longer == NULL) {
        free(text);
        return NULL;
    }
    longer[size] = '\n';
    longer[size + 1] = '\0';
    return longer;
}

char *window_script(const struct window *window, const struct script_request *request)
{
    struct script script = {.window = window, .request = request};
    cJSON *root = cJSON_CreateObject();
    find_entries(&script);
    add_head(&script, root);
    add_policy(&script, root);
    add_memory(&script, root);
    add_init(&script, root);
    add_threads(&script, root);
    add_schedule(&script, root);
    add_finally(&script, root);
    add_expect(&script, root);
    char *text = script.text.no_memory ? NULL : with_newline(cJSON_Print(root));
    cJSON_Delete(root);
    growing_deinit(&script.text);
    return text;
}
