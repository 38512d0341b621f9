/*
 * Running a script: parse a step, act, compare, check.
 */
#include "script.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track/address.h"
#include "track/thread.h"

#define RESULT_BYTES 512

struct runner {
    struct fixture fixture;
    char step[256];
    char result[RESULT_BYTES];
    size_t result_used;
    const char *at; /* parse position in step */
    bool loose;
    unsigned flush_calls;
    char flush_kind[2][24]; /* the resource layer's: flush, read_back */
    const char *flush_now;  /* of the invalidate that runs */
};

static void say(struct runner *runner, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(runner->result + runner->result_used, RESULT_BYTES - runner->result_used,
                         format, arguments);
    va_end(arguments);
    runner->result_used += (size_t)used;
    if (runner->result_used >= RESULT_BYTES)
        abort();
}

static void skip_blanks(struct runner *runner)
{
    while (*runner->at == ' ')
        runner->at++;
}

/* The next word, up to a blank; "" at the end or before "=>". */
static const char *word(struct runner *runner, char *out, size_t out_bytes)
{
    size_t used = 0;
    skip_blanks(runner);
    while (*runner->at != '\0' && *runner->at != ' ' && strncmp(runner->at, "=>", 2) != 0 &&
           used + 1 < out_bytes)
        out[used++] = *runner->at++;
    out[used] = '\0';
    return out;
}

/* A sum of pages, regions and bytes, in bytes. */
static uint64_t amount(struct runner *runner)
{
    char text[64];
    const char *at = word(runner, text, sizeof text);
    uint64_t total = 0;
    bool minus = false;
    if (*at == '\0')
        abort();
    if (*at == '-') {
        minus = true;
        at++;
    }
    while (*at != '\0') {
        bool bytes = *at == 'b';
        at += bytes;
        char *end = NULL;
        uint64_t number = isdigit((unsigned char)*at) ? strtoull(at, &end, 0) : 1;
        at = end != NULL ? end : at;
        uint64_t unit = bytes ? 1 : TRK_HOST_PAGE_BYTES;
        if (*at == 'R') {
            unit = TRK_REGION_BYTES;
            at++;
        }
        total = minus ? total - number * unit : total + number * unit;
        minus = *at == '-';
        if (*at == '+' || *at == '-')
            at++;
        else if (*at != '\0')
            abort();
    }
    return total;
}

static uint64_t place(struct runner *runner)
{
    return FIXTURE_BASE + amount(runner);
}

static const char *rights_text(unsigned rights)
{
    static const char *const texts[] = {"none", "r", "w", "rw", "x", "rx", "wx", "rwx"};
    return texts[rights & 7u];
}

static unsigned rights_of(const char *text)
{
    unsigned rights = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    for (; *text != '\0'; text++)
        rights |= *text == 'r' ? 1u : *text == 'w' ? 2u : 4u;
    return rights;
}

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct runner *runner = context;
    say(runner, "%s%llu+%llu", runner->result[runner->result_used - 1] == '[' ? "" : " ",
        (unsigned long long)((guest_addr - FIXTURE_BASE) / TRK_HOST_PAGE_BYTES),
        (unsigned long long)(size_bytes / TRK_HOST_PAGE_BYTES));
}

/* Operations inside callbacks must succeed by themselves. */
static void must(struct runner *runner, enum trk_status status)
{
    if (status != TRK_OK && runner->fixture.broken[0] == '\0')
        snprintf(runner->fixture.broken, sizeof runner->fixture.broken,
                 "an operation inside a callback gives %s", trk_status_name(status));
}

static void take_for_gpu(struct runner *runner, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer upload = {
        .size = sizeof upload, .guest_addr = guest_addr, .size_bytes = size_bytes, .written = true};
    must(runner, trk_tracker_upload(runner->fixture.tracker, &upload));
}

static void flush_by_kind(struct runner *runner, const char *kind, uint64_t guest_addr,
                          uint64_t size_bytes)
{
    struct trk_tracker *tracker = runner->fixture.tracker;
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = guest_addr, .size_bytes = size_bytes, .clear = true};
    runner->flush_calls++;
    if (strcmp(kind, "drain") == 0) {
        must(runner, trk_tracker_drain(tracker, &transfer));
    } else if (strcmp(kind, "part") == 0) {
        transfer.size_bytes -= TRK_HOST_PAGE_BYTES;
        must(runner, trk_tracker_drain(tracker, &transfer));
    } else if (strcmp(kind, "clear") == 0) {
        must(runner, trk_tracker_download(tracker, &transfer));
    } else if (strncmp(kind, "take:", 5) == 0) {
        must(runner, trk_tracker_drain(tracker, &transfer));
        if (runner->flush_calls <= (unsigned)atoi(kind + 5))
            take_for_gpu(runner, guest_addr, size_bytes);
    } else if (strcmp(kind, "keep") == 0) {
        must(runner, trk_tracker_unmark_gpu(tracker, guest_addr, size_bytes));
        must(runner, trk_tracker_mark_gpu(tracker, guest_addr, size_bytes));
    } else if (strcmp(kind, "nothing") != 0) {
        abort();
    }
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct runner *runner = context;
    flush_by_kind(runner, runner->flush_now, guest_addr, size_bytes);
}

static void on_layer_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct runner *runner = context;
    flush_by_kind(runner, runner->flush_kind[0], guest_addr, size_bytes);
}

static void on_layer_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct runner *runner = context;
    flush_by_kind(runner, runner->flush_kind[1], guest_addr, size_bytes);
}

/* ---- verbs ---- */

static void query(struct runner *runner, const char *verb)
{
    uint64_t guest_addr = place(runner), size_bytes = amount(runner);
    bool value = false;
    enum trk_status status =
        strcmp(verb, "is_cpu") == 0
            ? trk_tracker_is_cpu(runner->fixture.tracker, guest_addr, size_bytes, &value)
            : trk_tracker_is_gpu(runner->fixture.tracker, guest_addr, size_bytes, &value);
    say(runner, "%s", status != TRK_OK ? trk_status_name(status) : value ? "1" : "0");
}

typedef enum trk_status range_operation(struct trk_tracker *, uint64_t, uint64_t);

static void simple(struct runner *runner, range_operation *operation)
{
    uint64_t guest_addr = place(runner), size_bytes = amount(runner);
    say(runner, "%s", trk_status_name(operation(runner->fixture.tracker, guest_addr, size_bytes)));
}

static void transfer(struct runner *runner, const char *verb)
{
    struct trk_transfer request = {.size = sizeof request,
                                   .range = on_range,
                                   .context = runner,
                                   .written = strcmp(verb, "upload_written") == 0,
                                   .clear = strcmp(verb, "download_clear") == 0};
    request.guest_addr = place(runner);
    request.size_bytes = amount(runner);
    say(runner, "[");
    enum trk_status status =
        strncmp(verb, "upload", 6) == 0 ? trk_tracker_upload(runner->fixture.tracker, &request)
        : strcmp(verb, "drain") == 0    ? trk_tracker_drain(runner->fixture.tracker, &request)
                                        : trk_tracker_download(runner->fixture.tracker, &request);
    say(runner, "]");
    if (status != TRK_OK) {
        runner->result_used = 0;
        say(runner, "%s", trk_status_name(status));
    }
}

static void invalidate(struct runner *runner)
{
    char kind[24];
    uint64_t guest_addr = place(runner), size_bytes = amount(runner);
    runner->flush_now = word(runner, kind, sizeof kind);
    runner->flush_calls = 0;
    enum trk_status status =
        trk_tracker_invalidate(runner->fixture.tracker, guest_addr, size_bytes,
                               strcmp(kind, "null") == 0 ? NULL : on_flush, runner);
    uint64_t flushes =
        runner->fixture.observed ? runner->fixture.last_end.argument : runner->flush_calls;
    if (strcmp(kind, "null") != 0 && flushes != runner->flush_calls)
        must(runner, TRK_E_DAMAGED);
    if (status != TRK_OK)
        say(runner, "%s", trk_status_name(status));
    else
        say(runner, "flush %llu", (unsigned long long)flushes);
}

static void layer(struct runner *runner)
{
    word(runner, runner->flush_kind[0], sizeof runner->flush_kind[0]);
    word(runner, runner->flush_kind[1], sizeof runner->flush_kind[1]);
    struct trk_resource_layer resource_layer = {
        .flush = on_layer_flush, .read_back = on_layer_read_back, .context = runner};
    say(runner, "%s",
        trk_status_name(trk_tracker_set_resource_layer(runner->fixture.tracker, &resource_layer)));
}

static void fault(struct runner *runner)
{
    static const char *const outcomes[] = {"unhandled", "served", "retry"};
    char access[8];
    uint64_t guest_addr = place(runner);
    word(runner, access, sizeof access);
    runner->flush_calls = 0;
    say(runner, "%s",
        outcomes[trk_tracker_fault(runner->fixture.tracker, guest_addr,
                                   *access == 'r'   ? TRK_ACCESS_READ
                                   : *access == 'w' ? TRK_ACCESS_WRITE
                                                    : TRK_ACCESS_EXECUTE)]);
}

static void guest(struct runner *runner)
{
    char rights[8];
    uint64_t guest_addr = place(runner), size_bytes = amount(runner);
    word(runner, rights, sizeof rights);
    say(runner, "%s",
        trk_status_name(trk_tracker_set_guest_protection(runner->fixture.tracker, guest_addr,
                                                         size_bytes, rights_of(rights))));
}

static void join(struct runner *runner)
{
    uint64_t guest_addr = place(runner), other_addr = place(runner), size_bytes = amount(runner);
    say(runner, "%s",
        trk_status_name(
            trk_tracker_join_views(runner->fixture.tracker, guest_addr, other_addr, size_bytes)));
}

static void views(struct runner *runner)
{
    uint64_t out[TRK_VIEWS_MAX];
    uint32_t count = trk_tracker_views(runner->fixture.tracker, place(runner), out);
    say(runner, "[");
    for (uint32_t i = 0; i < count; i++)
        say(runner, "%s%llu", i > 0 ? " " : "",
            (unsigned long long)((out[i] - FIXTURE_BASE) / TRK_HOST_PAGE_BYTES));
    say(runner, "]");
}

static void parse_mask(const char *at, uint64_t *mask)
{
    while (*at != '\0' && *at != '-') {
        char *end = NULL;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long page = first; page <= last; page++)
            mask[page / 64] |= UINT64_C(1) << (page % 64);
        at = *end == ',' ? end + 1 : end;
    }
}

static void watch_mask(struct runner *runner, const char *verb)
{
    char kind[4], pages[64];
    uint64_t mask[TRK_REGION_WORDS] = {0};
    uint64_t base = place(runner);
    bool read = *word(runner, kind, sizeof kind) == 'r';
    parse_mask(word(runner, pages, sizeof pages), mask);
    enum trk_status status =
        strcmp(verb, "watch_mask") == 0
            ? trk_pages_watch_mask(runner->fixture.tracker, base, mask, read)
            : trk_pages_unwatch_mask(runner->fixture.tracker, base, mask, read);
    say(runner, "%s", trk_status_name(status));
}

static void look(struct runner *runner, const char *verb)
{
    struct trk_page_view view = trk_pages_view(runner->fixture.tracker, place(runner));
    if (strcmp(verb, "state") == 0)
        say(runner, "%s", view.cpu_dirty ? "cpu" : view.gpu_dirty ? "gpu" : "clean");
    else if (strcmp(verb, "prot") == 0)
        say(runner, "%s", rights_text(view.host_rights));
    else
        say(runner, "%u/%d", view.write_watches, view.read_watch);
}

static void calls(struct runner *runner)
{
    struct fixture *fixture = &runner->fixture;
    say(runner, "[");
    for (uint32_t i = 0; i < fixture->call_count; i++)
        say(runner, "%s%u+%u:%s", i > 0 ? " " : "", fixture->calls[i].first,
            fixture->calls[i].pages, rights_text(fixture->calls[i].rights));
    say(runner, "]");
    fixture->call_count = 0;
}

static void act(struct runner *runner, const char *verb)
{
    static const struct {
        const char *verb;
        range_operation *operation;
    } operations[] = {
        {"mark_cpu", trk_tracker_mark_cpu},
        {"mark_gpu", trk_tracker_mark_gpu},
        {"unmark_gpu", trk_tracker_unmark_gpu},
        {"untrack", trk_tracker_untrack},
        {"register", trk_tracker_register},
        {"unregister", trk_tracker_unregister},
        {"watch", trk_pages_watch},
        {"unwatch", trk_pages_unwatch},
        {"leave", trk_tracker_leave_view},
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(verb, operations[i].verb) == 0) {
            simple(runner, operations[i].operation);
            return;
        }
    }
    if (strncmp(verb, "is_", 3) == 0)
        query(runner, verb);
    else if (strncmp(verb, "upload", 6) == 0 || strncmp(verb, "download", 8) == 0 ||
             strcmp(verb, "drain") == 0)
        transfer(runner, verb);
    else if (strcmp(verb, "invalidate") == 0)
        invalidate(runner);
    else if (strcmp(verb, "layer") == 0)
        layer(runner);
    else if (strcmp(verb, "fault") == 0)
        fault(runner);
    else if (strcmp(verb, "guest") == 0)
        guest(runner);
    else if (strstr(verb, "watch_mask") != NULL)
        watch_mask(runner, verb);
    else if (strcmp(verb, "join") == 0)
        join(runner);
    else if (strcmp(verb, "views") == 0)
        views(runner);
    else if (strcmp(verb, "calls") == 0)
        calls(runner);
    else if (strcmp(verb, "fail") == 0)
        trk_backend_simulated_fail(runner->fixture.simulated,
                                   (uint32_t)(amount(runner) / TRK_HOST_PAGE_BYTES));
    else if (strcmp(verb, "lock") == 0)
        say(runner, "%s",
            trk_status_name(trk_tracker_lock(runner->fixture.tracker, place(runner))));
    else if (strcmp(verb, "unlock") == 0)
        say(runner, "%s",
            trk_status_name(trk_tracker_unlock(runner->fixture.tracker, place(runner))));
    else if (strcmp(verb, "loose") == 0)
        runner->loose = true;
    else if (strcmp(verb, "state") == 0 || strcmp(verb, "prot") == 0 ||
             strcmp(verb, "watches") == 0)
        look(runner, verb);
    else
        abort();
}

/* Copy the next step to runner->step; NULL when there is none, else where to go on. */
static const char *next_step(struct runner *runner, const char *steps)
{
    while (*steps == ' ' || *steps == ';')
        steps++;
    if (*steps == '\0')
        return NULL;
    size_t size = strcspn(steps, ";");
    if (size >= sizeof runner->step)
        abort();
    memcpy(runner->step, steps, size);
    while (size > 0 && runner->step[size - 1] == ' ')
        size--;
    runner->step[size] = '\0';
    return steps + strcspn(steps, ";");
}

static bool step_run(struct runner *runner, char *problem, size_t problem_bytes)
{
    char verb[24];
    runner->at = runner->step;
    runner->result[0] = '\0';
    runner->result_used = 0;
    act(runner, word(runner, verb, sizeof verb));
    skip_blanks(runner);
    const char *expected = strstr(runner->step, "=> ");
    if (expected != NULL && strcmp(expected + 3, runner->result) != 0) {
        snprintf(problem, problem_bytes, "`%s` gives `%s`", runner->step, runner->result);
        return false;
    }
    fixture_check(&runner->fixture, !runner->loose);
    if (runner->fixture.broken[0] != '\0') {
        snprintf(problem, problem_bytes, "after `%s`: %s", runner->step, runner->fixture.broken);
        return false;
    }
    return true;
}

const char *script_run(const struct trk_policy *policy, const char *steps)
{
    static char problem[600];
    static struct runner runner;
    struct trk_thread fresh = {.id = trk_thread_current()->id};
    memset(&runner, 0, sizeof runner);
    (void)trk_thread_swap(&fresh); /* no memory of the last case's faults */
    fixture_open(&runner.fixture, policy, 3);
    problem[0] = '\0';
    bool good = true;
    while (good && (steps = next_step(&runner, steps)) != NULL)
        good = step_run(&runner, problem, sizeof problem);
    fixture_close(&runner.fixture);
    (void)trk_thread_swap(NULL);
    if (good && runner.fixture.broken[0] != '\0')
        snprintf(problem, sizeof problem, "at the end: %s", runner.fixture.broken);
    return problem[0] != '\0' ? problem : NULL;
}
