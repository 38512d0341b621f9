/*
 * Running a program on generations.
 */
#include "gen_script.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generations.h"
#include "track/hle.h"
#include "track/thread.h"

#define PLACE_A     (FIXTURE_BASE + 16 * TRK_HOST_PAGE_BYTES)
#define PLACE_B     (PLACE_A + TRK_REGION_BYTES)
#define FAULTS_MAX  8
#define NAMES_MAX   16
#define TEXT_BYTES  256
#define FLUSHES_MAX 16

struct name {
    char text[8];
    uint64_t sum;
};

static struct runner {
    struct fixture fixture;
    struct trk_thread threads[2];
    char step[TEXT_BYTES];
    char result[TEXT_BYTES];
    const char *expected; /* behind =>, or NULL */
    char *at;             /* parse position in step */
    struct name names[NAMES_MAX];
    unsigned name_count;
    void (*emit)(void *context, const struct trk_event *event); /* the fixture's */
    /* What another thread does behind the next FAULT's look. */
    enum { ON_TIME, STORES_FIRST, FORGETS_FIRST, ARMS_ANEW } late;
    uint64_t late_addr;
    uint64_t flushes[FLUSHES_MAX][2];
    unsigned flush_count;
} runner;

static void say(const char *format, ...)
{
    size_t used = strlen(runner.result);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(runner.result + used, TEXT_BYTES - used, format, arguments);
    va_end(arguments);
}

static char *word(void)
{
    while (*runner.at == ' ')
        runner.at++;
    char *first = runner.at;
    while (*runner.at != '\0' && *runner.at != ' ')
        runner.at++;
    if (*runner.at != '\0')
        *runner.at++ = '\0';
    return first;
}

static uint64_t term(char **at)
{
    char *end = *at;
    uint64_t number = isdigit((unsigned char)**at) ? strtoull(*at, &end, 0) : 1;
    static const struct {
        char letter;
        uint64_t value;
    } units[] = {{'P', TRK_HOST_PAGE_BYTES},
                 {'G', TRK_GUEST_PAGE_BYTES},
                 {'R', TRK_REGION_BYTES},
                 {'A', PLACE_A},
                 {'B', PLACE_B},
                 {'Z', FIXTURE_BASE}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (*end == units[i].letter) {
            *at = end + 1;
            return number * units[i].value;
        }
    }
    if (end == *at)
        abort();
    *at = end;
    return number;
}

static uint64_t amount(void)
{
    char *at = word();
    uint64_t total = term(&at);
    while (*at != '\0') {
        bool minus = *at++ == '-';
        uint64_t value = term(&at);
        total = minus ? total - value : total + value;
    }
    return total;
}

static unsigned rights(const char *text)
{
    unsigned value = 0;
    for (; strcmp(text, "none") != 0 && *text != '\0'; text++)
        value |= *text == 'r' ? TRK_RIGHT_READ : *text == 'w' ? TRK_RIGHT_WRITE : TRK_RIGHT_EXEC;
    return value;
}

static const char *rights_text(unsigned value)
{
    static const char *const texts[] = {"none", "r", "w", "rw", "x", "rx", "wx", "rwx"};
    return texts[value & 7];
}

static enum trk_access access_of(const char *text)
{
    return *text == 'r' ? TRK_ACCESS_READ : *text == 'w' ? TRK_ACCESS_WRITE : TRK_ACCESS_EXECUTE;
}

static void say_status(enum trk_status status)
{
    say("%s", status == TRK_E_ARGUMENT ? "fail" : trk_status_name(status));
}

/* `new NAME`, `same NAME`, `not NAME`: judged here, and repeated if it is so. */
static void say_sum(enum trk_status status, uint64_t sum)
{
    if (status != TRK_OK) {
        say_status(status);
        return;
    }
    char verb[8], name[8];
    if (runner.expected == NULL || sscanf(runner.expected, "%7s %7s", verb, name) != 2) {
        say(sum == 0 ? "0" : "something");
        return;
    }
    struct name *known = NULL;
    for (unsigned i = 0; i < runner.name_count; i++)
        known = strcmp(runner.names[i].text, name) == 0 ? &runner.names[i] : known;
    if (strcmp(verb, "new") == 0) {
        if (known == NULL)
            known = &runner.names[runner.name_count++];
        snprintf(known->text, sizeof known->text, "%s", name);
        known->sum = sum;
        say(sum == 0 ? "0" : "new %s", name);
    } else if (known == NULL) {
        say("%s is not known", name);
    } else {
        say("%s %s", known->sum == sum ? "same" : "not", name);
    }
}

static uint64_t page_of(uint64_t guest_addr)
{
    return (guest_addr - PLACE_A) / TRK_HOST_PAGE_BYTES;
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer drain = {
        .size = sizeof drain, .guest_addr = guest_addr, .size_bytes = size_bytes};
    if (runner.flush_count < FLUSHES_MAX) {
        runner.flushes[runner.flush_count][0] = page_of(guest_addr);
        runner.flushes[runner.flush_count++][1] = size_bytes / TRK_HOST_PAGE_BYTES;
    }
    if (trk_tracker_drain(runner.fixture.tracker, &drain) != TRK_OK)
        abort();
}

/* An access as the guest makes it. */
static void touch(uint64_t guest_addr, enum trk_access access)
{
    unsigned needed = access == TRK_ACCESS_WRITE ? TRK_RIGHT_WRITE : TRK_RIGHT_READ;
    unsigned page = (unsigned)((guest_addr - FIXTURE_BASE) / TRK_HOST_PAGE_BYTES);
    int faults = 0;
    while (!(runner.fixture.host[page] & needed)) {
        if (++faults > FAULTS_MAX ||
            trk_tracker_fault(runner.fixture.tracker, guest_addr, access) == TRK_FAULT_UNHANDLED) {
            say("unhandled");
            return;
        }
    }
    say(faults > 0 ? "handled" : "silent");
}

static void fault(const char *verb)
{
    static const char *const outcomes[] = {"unhandled", "served", "retry"};
    uint64_t guest_addr = amount();
    enum trk_access access = access_of(word());
    runner.late = *verb == 'l' ? STORES_FIRST : *verb == 'r' ? FORGETS_FIRST : ON_TIME;
    runner.late_addr = *verb == 'r' ? amount() : guest_addr;
    say("%s", outcomes[trk_tracker_fault(runner.fixture.tracker, guest_addr, access)]);
}

static void on_write(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    char before[TEXT_BYTES];
    memcpy(before, runner.result, sizeof before);
    touch(guest_addr, TRK_ACCESS_WRITE);
    memcpy(runner.result, before, sizeof before);
}

static void hle_write(void)
{
    struct trk_hle_write write = {.size = sizeof write, .write = on_write};
    write.guest_addr = amount();
    write.size_bytes = amount();
    bool written = false;
    enum trk_status status = trk_tracker_hle_write(runner.fixture.tracker, &write, &written);
    say("%s", status != TRK_OK ? trk_status_name(status) : written ? "ok" : "denied");
}

static void gen_map(void)
{
    struct trk_generations_view view = {.guest_addr = amount()};
    view.size_bytes = amount();
    view.physical_offset = amount();
    view.rights = rights(word());
    bool kept = false;
    enum trk_status status = trk_generations_map(runner.fixture.tracker, &view, &kept);
    if (status != TRK_OK)
        say_status(status);
    else
        say(kept ? "kept" : "replaced");
}

static void calls(void)
{
    say("[");
    for (uint32_t i = 0; i < runner.fixture.call_count; i++)
        say("%s%d+%u:%s", i > 0 ? " " : "", (int)runner.fixture.calls[i].first - 16,
            runner.fixture.calls[i].pages, rights_text(runner.fixture.calls[i].rights));
    say("]");
    runner.fixture.call_count = 0;
}

static void flushes(void)
{
    say("[");
    for (unsigned i = 0; i < runner.flush_count; i++)
        say("%s%llu+%llu", i > 0 ? " " : "", (unsigned long long)runner.flushes[i][0],
            (unsigned long long)runner.flushes[i][1]);
    say("]");
    runner.flush_count = 0;
}

/* Verbs with a range and a status. */
static bool act_on_range(const char *verb)
{
    static const struct {
        const char *verb;
        enum trk_status (*operation)(struct trk_tracker *tracker, uint64_t guest_addr,
                                     uint64_t size_bytes);
    } operations[] = {
        {"gen_hle", trk_generations_notify},    {"mark_gpu", trk_tracker_mark_gpu},
        {"untrack", trk_tracker_untrack},       {"register", trk_tracker_register},
        {"unregister", trk_tracker_unregister},
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(verb, operations[i].verb) != 0)
            continue;
        uint64_t guest_addr = amount(), size_bytes = amount();
        say_status(operations[i].operation(runner.fixture.tracker, guest_addr, size_bytes));
        return true;
    }
    return false;
}

static void act_on_tracker(const char *verb)
{
    struct trk_tracker *tracker = runner.fixture.tracker;
    uint64_t guest_addr = amount();
    if (strcmp(verb, "lock") == 0 || strcmp(verb, "unlock") == 0) {
        say_status(*verb == 'l' ? trk_tracker_lock(tracker, guest_addr)
                                : trk_tracker_unlock(tracker, guest_addr));
        return;
    }
    if (strcmp(verb, "armed") == 0) {
        say(trk_pages_view(tracker, guest_addr).armed ? "1" : "0");
        return;
    }
    if (strcmp(verb, "prot") == 0) {
        say("%s", rights_text(trk_pages_view(tracker, guest_addr).host_rights));
        return;
    }
    uint64_t size_bytes = amount();
    bool answer = false;
    if (strcmp(verb, "guest") == 0)
        say_status(
            trk_tracker_set_guest_protection(tracker, guest_addr, size_bytes, rights(word())));
    else if (strcmp(verb, "join") == 0)
        say_status(trk_tracker_join_views(tracker, guest_addr, size_bytes, amount()));
    else if (strcmp(verb, "upload") == 0)
        say_status(
            trk_tracker_upload(tracker, &(struct trk_transfer){.size = sizeof(struct trk_transfer),
                                                               .guest_addr = guest_addr,
                                                               .size_bytes = size_bytes}));
    else if (strcmp(verb, "is_cpu") == 0 &&
             trk_tracker_is_cpu(tracker, guest_addr, size_bytes, &answer) == TRK_OK)
        say(answer ? "1" : "0");
    else
        abort();
}

static void act(const char *verb)
{
    struct trk_tracker *tracker = runner.fixture.tracker;
    if (strcmp(verb, "gen_track") == 0 || strcmp(verb, "gen") == 0) {
        uint64_t guest_addr = amount(), size_bytes = amount(), sum = 1;
        enum trk_status status = verb[3] == '_'
                                     ? trk_generations_track(tracker, guest_addr, size_bytes, &sum)
                                     : trk_generations_query(tracker, guest_addr, size_bytes, &sum);
        say_sum(status, sum);
    } else if (strcmp(verb, "store") == 0) {
        touch(amount(), TRK_ACCESS_WRITE);
    } else if (strcmp(verb, "load") == 0) {
        touch(amount(), TRK_ACCESS_READ);
    } else if (strcmp(verb, "fault") == 0 || strcmp(verb, "late") == 0 ||
               strcmp(verb, "rearmed") == 0) {
        fault(verb);
    } else if (strcmp(verb, "hle_write") == 0) {
        hle_write();
    } else if (strcmp(verb, "gen_map") == 0) {
        gen_map();
    } else if (strcmp(verb, "calls") == 0) {
        calls();
    } else if (strcmp(verb, "flushes") == 0) {
        flushes();
    } else if (strcmp(verb, "fail") == 0) {
        trk_backend_simulated_fail(runner.fixture.simulated, (uint32_t)amount());
    } else if (strcmp(verb, "newest") == 0) {
        tracker->generations->newest = amount();
    } else if (!act_on_range(verb)) {
        act_on_tracker(verb);
    }
}

static void others_turn(int turn)
{
    struct trk_tracker *tracker = runner.fixture.tracker;
    uint64_t sum;
    enum trk_status status = TRK_OK;
    if (turn == STORES_FIRST)
        touch(runner.late_addr, TRK_ACCESS_WRITE);
    else if (turn == FORGETS_FIRST)
        status = trk_tracker_set_guest_protection(tracker, runner.late_addr, 1, TRK_RIGHTS_RW);
    else
        status = trk_generations_track(tracker, runner.late_addr, 1, &sum);
    if (status != TRK_OK)
        abort();
}

/*
 * The observer of the fixture, with another thread's turns: behind the look of a fault, and, when
 * it arms anew, behind the fault's look at generations.
 */
static void on_event(void *context, const struct trk_event *event)
{
    runner.emit(context, event);
    bool looked = event->type == TRK_EVENT_FAULT && runner.late != ARMS_ANEW;
    bool asked = event->type == TRK_EVENT_UNLOCK && runner.late == ARMS_ANEW &&
                 trk_domain_class(event->domain) == TRK_DOMAIN_GENERATIONS;
    if (runner.late == ON_TIME || (!looked && !asked))
        return;
    int turn = (int)runner.late;
    runner.late = ON_TIME;
    (void)trk_thread_swap(&runner.threads[1]);
    struct stream own = runner.fixture.stream;
    char before[TEXT_BYTES];
    memcpy(before, runner.result, sizeof before);
    stream_init(&runner.fixture.stream, false);
    others_turn(turn);
    stream_finish(&runner.fixture.stream);
    if (runner.fixture.stream.broken[0] != '\0')
        snprintf(runner.fixture.broken, sizeof runner.fixture.broken, "%s",
                 runner.fixture.stream.broken);
    memcpy(runner.result, before, sizeof before);
    own.single = false; /* from here on numbers of holds are missing */
    runner.fixture.stream = own;
    runner.late = turn == FORGETS_FIRST ? ARMS_ANEW : ON_TIME;
    (void)trk_thread_swap(&runner.threads[0]);
}

static bool step_run(char *problem, size_t problem_bytes)
{
    char whole[TEXT_BYTES];
    memcpy(whole, runner.step, sizeof whole);
    char *arrow = strstr(runner.step, " => ");
    runner.expected = NULL;
    if (arrow != NULL) {
        *arrow = '\0';
        runner.expected = arrow + 4;
    }
    runner.at = runner.step;
    runner.result[0] = '\0';
    act(word());
    if (runner.expected != NULL && strcmp(runner.expected, runner.result) != 0) {
        snprintf(problem, problem_bytes, "`%s` gives `%s`", whole, runner.result);
        return false;
    }
    fixture_check(&runner.fixture, true);
    if (runner.fixture.broken[0] != '\0') {
        snprintf(problem, problem_bytes, "after `%s`: %s", whole, runner.fixture.broken);
        return false;
    }
    return true;
}

const char *gen_script_run(const struct trk_policy *policy, const char *steps)
{
    static char problem[2 * TEXT_BYTES];
    memset(&runner, 0, sizeof runner);
    problem[0] = '\0';
    runner.threads[0].id = 1;
    runner.threads[1].id = 2;
    (void)trk_thread_swap(&runner.threads[0]);
    fixture_open(&runner.fixture, policy, 3);
    struct trk_tracker *tracker = runner.fixture.tracker;
    runner.emit = tracker->observer.emit;
    tracker->observer.emit = on_event;
    struct trk_resource_layer layer = {.flush = on_flush, .read_back = on_flush};
    if (trk_tracker_set_resource_layer(tracker, &layer) != TRK_OK)
        abort();
    bool good = true;
    while (good && *steps != '\0') {
        size_t size = strcspn(steps, ";");
        snprintf(runner.step, sizeof runner.step, "%.*s", (int)size, steps);
        steps += size;
        steps += strspn(steps, "; ");
        good = step_run(problem, sizeof problem);
    }
    fixture_close(&runner.fixture);
    (void)trk_thread_swap(NULL);
    if (good && runner.fixture.broken[0] != '\0')
        snprintf(problem, sizeof problem, "at the end: %s", runner.fixture.broken);
    return problem[0] != '\0' ? problem : NULL;
}
