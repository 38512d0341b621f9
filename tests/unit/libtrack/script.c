/*
 * Running a script: parse a step, act, compare, check.
 */
#include "script_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track/thread.h"

static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct runner *runner = context;
    runner_say(runner, "%s%llu+%llu", runner->result[runner->result_used - 1] == '[' ? "" : " ",
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
    uint64_t guest_addr = runner_place(runner), size_bytes = runner_amount(runner);
    bool value = false;
    enum trk_status status =
        strcmp(verb, "is_cpu") == 0
            ? trk_tracker_is_cpu(runner->fixture.tracker, guest_addr, size_bytes, &value)
            : trk_tracker_is_gpu(runner->fixture.tracker, guest_addr, size_bytes, &value);
    runner_say(runner, "%s", status != TRK_OK ? trk_status_name(status) : value ? "1" : "0");
}

typedef enum trk_status range_operation(struct trk_tracker *, uint64_t, uint64_t);

static void simple(struct runner *runner, range_operation *operation)
{
    uint64_t guest_addr = runner_place(runner), size_bytes = runner_amount(runner);
    runner_say(runner, "%s",
               trk_status_name(operation(runner->fixture.tracker, guest_addr, size_bytes)));
}

static void transfer(struct runner *runner, const char *verb)
{
    struct trk_transfer request = {.size = sizeof request,
                                   .range = on_range,
                                   .context = runner,
                                   .written = strcmp(verb, "upload_written") == 0,
                                   .clear = strcmp(verb, "download_clear") == 0};
    request.guest_addr = runner_place(runner);
    request.size_bytes = runner_amount(runner);
    runner_say(runner, "[");
    enum trk_status status =
        strncmp(verb, "upload", 6) == 0 ? trk_tracker_upload(runner->fixture.tracker, &request)
        : strcmp(verb, "drain") == 0    ? trk_tracker_drain(runner->fixture.tracker, &request)
                                        : trk_tracker_download(runner->fixture.tracker, &request);
    runner_say(runner, "]");
    if (status != TRK_OK) {
        runner->result_used = 0;
        runner_say(runner, "%s", trk_status_name(status));
    }
}

static void invalidate(struct runner *runner)
{
    char kind[24];
    uint64_t guest_addr = runner_place(runner), size_bytes = runner_amount(runner);
    runner->flush_now = runner_word(runner, kind, sizeof kind);
    runner->flush_calls = 0;
    enum trk_status status =
        trk_tracker_invalidate(runner->fixture.tracker, guest_addr, size_bytes,
                               strcmp(kind, "null") == 0 ? NULL : on_flush, runner);
    uint64_t flushes =
        runner->fixture.observed ? runner->fixture.last_end.argument : runner->flush_calls;
    if (strcmp(kind, "null") != 0 && flushes != runner->flush_calls)
        must(runner, TRK_E_DAMAGED);
    if (status != TRK_OK)
        runner_say(runner, "%s", trk_status_name(status));
    else
        runner_say(runner, "flush %llu", (unsigned long long)flushes);
}

static void layer(struct runner *runner)
{
    runner_word(runner, runner->flush_kind[0], sizeof runner->flush_kind[0]);
    runner_word(runner, runner->flush_kind[1], sizeof runner->flush_kind[1]);
    struct trk_resource_layer resource_layer = {
        .flush = on_layer_flush, .read_back = on_layer_read_back, .context = runner};
    runner_say(
        runner, "%s",
        trk_status_name(trk_tracker_set_resource_layer(runner->fixture.tracker, &resource_layer)));
}

static void fault(struct runner *runner)
{
    static const char *const outcomes[] = {"unhandled", "served", "retry"};
    char access[8];
    uint64_t guest_addr = runner_place(runner);
    runner_word(runner, access, sizeof access);
    runner->flush_calls = 0;
    runner_say(runner, "%s",
               outcomes[trk_tracker_fault(runner->fixture.tracker, guest_addr,
                                          *access == 'r'   ? TRK_ACCESS_READ
                                          : *access == 'w' ? TRK_ACCESS_WRITE
                                                           : TRK_ACCESS_EXECUTE)]);
}

static void guest(struct runner *runner)
{
    char rights[8];
    uint64_t guest_addr = runner_place(runner), size_bytes = runner_amount(runner);
    runner_word(runner, rights, sizeof rights);
    runner_say(runner, "%s",
               trk_status_name(trk_tracker_set_guest_protection(
                   runner->fixture.tracker, guest_addr, size_bytes, runner_rights_of(rights))));
}

static void join(struct runner *runner)
{
    uint64_t guest_addr = runner_place(runner), other_addr = runner_place(runner),
             size_bytes = runner_amount(runner);
    runner_say(runner, "%s",
               trk_status_name(trk_tracker_join_views(runner->fixture.tracker, guest_addr,
                                                      other_addr, size_bytes)));
}

static void views(struct runner *runner)
{
    uint64_t out[TRK_VIEWS_MAX];
    uint32_t count = trk_tracker_views(runner->fixture.tracker, runner_place(runner), out);
    runner_say(runner, "[");
    for (uint32_t i = 0; i < count; i++)
        runner_say(runner, "%s%llu", i > 0 ? " " : "",
                   (unsigned long long)((out[i] - FIXTURE_BASE) / TRK_HOST_PAGE_BYTES));
    runner_say(runner, "]");
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
    uint64_t base = runner_place(runner);
    bool read = *runner_word(runner, kind, sizeof kind) == 'r';
    parse_mask(runner_word(runner, pages, sizeof pages), mask);
    enum trk_status status =
        strcmp(verb, "watch_mask") == 0
            ? trk_pages_watch_mask(runner->fixture.tracker, base, mask, read)
            : trk_pages_unwatch_mask(runner->fixture.tracker, base, mask, read);
    runner_say(runner, "%s", trk_status_name(status));
}

static void look(struct runner *runner, const char *verb)
{
    struct trk_page_view view = trk_pages_view(runner->fixture.tracker, runner_place(runner));
    if (strcmp(verb, "state") == 0)
        runner_say(runner, "%s", view.cpu_dirty ? "cpu" : view.gpu_dirty ? "gpu" : "clean");
    else if (strcmp(verb, "prot") == 0)
        runner_say(runner, "%s", runner_rights_text(view.host_rights));
    else
        runner_say(runner, "%u/%d", view.write_watches, view.read_watch);
}

static void calls(struct runner *runner)
{
    struct fixture *fixture = &runner->fixture;
    runner_say(runner, "[");
    for (uint32_t i = 0; i < fixture->call_count; i++)
        runner_say(runner, "%s%u+%u:%s", i > 0 ? " " : "", fixture->calls[i].first,
                   fixture->calls[i].pages, runner_rights_text(fixture->calls[i].rights));
    runner_say(runner, "]");
    fixture->call_count = 0;
}

static void fail(struct runner *runner)
{
    trk_backend_simulated_fail(runner->fixture.simulated,
                               (uint32_t)(runner_amount(runner) / TRK_HOST_PAGE_BYTES));
}

static void loose(struct runner *runner)
{
    runner->loose = true;
}

static void lock(struct runner *runner, const char *verb)
{
    uint64_t guest_addr = runner_place(runner);
    runner_say(runner, "%s",
               trk_status_name(*verb == 'u'
                                   ? trk_tracker_unlock(runner->fixture.tracker, guest_addr)
                                   : trk_tracker_lock(runner->fixture.tracker, guest_addr)));
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
    static const struct {
        const char *verb;
        void (*step)(struct runner *runner);
    } others[] = {
        {"invalidate", invalidate}, {"layer", layer}, {"fault", fault},
        {"guest", guest},           {"join", join},   {"views", views},
        {"calls", calls},           {"fail", fail},   {"loose", loose},
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(verb, operations[i].verb) == 0) {
            simple(runner, operations[i].operation);
            return;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(verb, others[i].verb) == 0) {
            others[i].step(runner);
            return;
        }
    }
    if (strncmp(verb, "is_", 3) == 0)
        query(runner, verb);
    else if (strncmp(verb, "upload", 6) == 0 || strncmp(verb, "download", 8) == 0 ||
             strcmp(verb, "drain") == 0)
        transfer(runner, verb);
    else if (strstr(verb, "watch_mask") != NULL)
        watch_mask(runner, verb);
    else if (strstr(verb, "lock") != NULL)
        lock(runner, verb);
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
    act(runner, runner_word(runner, verb, sizeof verb));
    runner_skip_blanks(runner);
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
    static char problem[sizeof(((struct runner *)NULL)->step) + RESULT_BYTES +
                        32]; /* what it can say at most */
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
