/*
 * Goal: the canonical order of several threads' events is the one that docs/format.md defines
 * [F-27] to [F-31]: threads in their own order, holds by number, awaits behind their signals, else
 * by time and then by stream; and reading goes on, and says so, where predecessors are lost.
 * Method: a table of named cases, each a few events with a letter and the letters in their order;
 * then random legal histories, whose order must be legal again.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "trace_support.h"

#define STREAMS_MAX 4
#define EVENTS_MAX  16

struct step {
    char letter;
    uint8_t stream;
    uint16_t tsc;
    struct trk_event event;
};

#define REGION(n) ((uint32_t)TRK_DOMAIN_REGION << 28 | (uint32_t)(n))
#define PAGES(n)  ((uint32_t)TRK_DOMAIN_PAGES << 28 | (n))
#define LOCK(d, n)                                                                                 \
    {                                                                                              \
        .type = TRK_EVENT_LOCK, .domain = REGION(d), .seq = (n)                                    \
    }
#define RANGE(d, n)                                                                                \
    {                                                                                              \
        .type = TRK_EVENT_RANGE, .domain = REGION(d), .seq = (n)                                   \
    }
#define UNLOCK(d, n)                                                                               \
    {                                                                                              \
        .type = TRK_EVENT_UNLOCK, .domain = REGION(d), .seq = (n)                                  \
    }
#define WATCH(d, n)                                                                                \
    {                                                                                              \
        .type = TRK_EVENT_WATCH, .domain = PAGES(d), .seq = (n)                                    \
    }
#define PROTECT(d, n)                                                                              \
    {                                                                                              \
        .type = TRK_EVENT_PROTECT, .domain = PAGES(d), .seq = (n)                                  \
    }
#define LAST_PROTECT(d, n)                                                                         \
    {                                                                                              \
        .type = TRK_EVENT_PROTECT, .domain = PAGES(d), .seq = (n), .flags = TRK_EVENT_HOLD_END     \
    }
#define FAULT(d, n)                                                                                \
    {                                                                                              \
        .type = TRK_EVENT_FAULT, .domain = PAGES(d), .seq = (n)                                    \
    }
#define FOREIGN_FAULT                                                                              \
    {                                                                                              \
        .type = TRK_EVENT_FAULT, .domain = 0                                                       \
    }
#define SIGNAL(line, value)                                                                        \
    {                                                                                              \
        .type = TRK_EVENT_SIGNAL, .domain = (line), .argument = (value)                            \
    }
#define AWAIT(line, value)                                                                         \
    {                                                                                              \
        .type = TRK_EVENT_AWAIT, .domain = (line), .argument = (value)                             \
    }
#define MARK                                                                                       \
    {                                                                                              \
        .type = TRK_EVENT_MARK                                                                     \
    }

struct order_case {
    const char *name;
    const char *order;
    uint64_t gaps;
    struct step steps[EVENTS_MAX]; /* ends with letter 0 */
};

/* clang-format off */
static const struct order_case cases[] = {
    {"no events", "", 0, {{0}}},
    {"one stream keeps its order although its clock runs back", "abc", 0, {
        {'a', 0, 30, MARK}, {'b', 0, 20, MARK}, {'c', 0, 10, MARK}}},
    {"two streams by time", "abcd", 0, {
        {'a', 0, 1, MARK}, {'c', 0, 3, MARK}, {'b', 1, 2, MARK}, {'d', 1, 4, MARK}}},
    {"equal times by stream", "abcd", 0, {
        {'a', 0, 5, MARK}, {'b', 0, 5, MARK}, {'c', 1, 5, MARK}, {'d', 2, 5, MARK}}},
    {"clock that jumps back hurries no other stream", "xab", 0, {
        {'a', 0, 50, MARK}, {'b', 0, 10, MARK}, {'x', 1, 40, MARK}}},

    {"holds in turn", "abcd", 0, {
        {'a', 0, 1, LOCK(1, 1)}, {'b', 0, 2, UNLOCK(1, 1)},
        {'c', 1, 3, LOCK(1, 2)}, {'d', 1, 4, UNLOCK(1, 2)}}},
    {"second hold has the earlier clock", "abcd", 0, {
        {'a', 0, 11, LOCK(1, 1)}, {'b', 0, 12, UNLOCK(1, 1)},
        {'c', 1, 3, LOCK(1, 2)}, {'d', 1, 4, UNLOCK(1, 2)}}},
    {"unlock is noted after the next hold has begun", "abcd", 0, {
        {'a', 0, 1, LOCK(1, 1)}, {'b', 0, 9, UNLOCK(1, 1)},
        {'c', 1, 5, LOCK(1, 2)}, {'d', 1, 10, UNLOCK(1, 2)}}},
    {"events inside a hold wait too", "abcde", 0, {
        {'a', 1, 20, LOCK(1, 1)}, {'b', 1, 30, UNLOCK(1, 1)},
        {'c', 0, 1, LOCK(1, 2)}, {'d', 0, 2, RANGE(1, 2)}, {'e', 0, 3, UNLOCK(1, 2)}}},
    {"domains do not wait for each other", "cdab", 0, {
        {'a', 0, 11, LOCK(1, 1)}, {'b', 0, 12, UNLOCK(1, 1)},
        {'c', 1, 3, LOCK(2, 1)}, {'d', 1, 4, UNLOCK(2, 1)}}},
    {"same region, other class of domain", "cab", 0, {
        {'a', 0, 11, LOCK(1, 1)}, {'b', 0, 12, UNLOCK(1, 1)}, {'c', 1, 3, WATCH(1, 1)}}},
    {"three streams in a chain against the clock", "abcdef", 0, {
        {'e', 0, 1, LOCK(1, 3)}, {'f', 0, 2, UNLOCK(1, 3)},
        {'c', 1, 3, LOCK(1, 2)}, {'d', 1, 4, UNLOCK(1, 2)},
        {'a', 2, 5, LOCK(1, 1)}, {'b', 2, 6, UNLOCK(1, 1)}}},
    {"two waiting on one domain are woken one by one", "abcdef", 0, {
        {'c', 0, 1, LOCK(1, 2)}, {'d', 0, 2, UNLOCK(1, 2)},
        {'e', 1, 1, LOCK(1, 3)}, {'f', 1, 2, UNLOCK(1, 3)},
        {'a', 2, 5, LOCK(1, 1)}, {'b', 2, 6, UNLOCK(1, 1)}}},
    {"a fault is a hold of its own", "abc", 0, {
        {'a', 0, 9, FAULT(1, 1)}, {'b', 1, 5, FAULT(1, 2)}, {'c', 1, 6, WATCH(1, 3)}}},
    {"a fault over no region is in no hold", "ab", 0, {
        {'a', 0, 1, FOREIGN_FAULT}, {'b', 1, 2, FOREIGN_FAULT}}},
    {"protect goes on until its last", "abcd", 0, {
        {'a', 0, 1, PROTECT(1, 1)}, {'b', 0, 8, PROTECT(1, 1)}, {'c', 0, 9, LAST_PROTECT(1, 1)},
        {'d', 1, 2, WATCH(1, 2)}}},
    {"nested holds of two domains", "abcdefgh", 0, {
        {'a', 0, 10, LOCK(1, 1)}, {'b', 0, 11, LOCK(2, 1)},
        {'c', 0, 12, UNLOCK(2, 1)}, {'d', 0, 13, UNLOCK(1, 1)},
        {'e', 1, 1, LOCK(1, 2)}, {'f', 1, 2, LOCK(2, 2)},
        {'g', 1, 3, UNLOCK(2, 2)}, {'h', 1, 4, UNLOCK(1, 2)}}},
    {"hold numbers wrap at 32 bits", "abcd", 0, {
        {'c', 0, 5, LOCK(1, 0)}, {'d', 0, 6, UNLOCK(1, 0)},
        {'a', 1, 4, LOCK(1, UINT32_MAX)}, {'b', 1, 8, UNLOCK(1, UINT32_MAX)}}},

    {"await behind its signal", "xab", 0, {
        {'x', 1, 9, SIGNAL(7, 1)}, {'a', 0, 1, AWAIT(7, 1)}, {'b', 0, 2, MARK}}},
    {"await is content with a later value", "xab", 0, {
        {'x', 1, 9, SIGNAL(7, 5)}, {'a', 0, 1, AWAIT(7, 3)}, {'b', 0, 2, MARK}}},
    {"await wants its value, not an earlier one", "xyab", 0, {
        {'x', 1, 8, SIGNAL(7, 1)}, {'y', 1, 9, SIGNAL(7, 2)},
        {'a', 0, 1, AWAIT(7, 2)}, {'b', 0, 2, MARK}}},
    {"await of another timeline", "xyab", 0, {
        {'x', 1, 8, SIGNAL(8, 4)}, {'y', 1, 9, SIGNAL(7, 4)},
        {'a', 0, 1, AWAIT(7, 4)}, {'b', 0, 2, MARK}}},
    {"await of 0 waits for a signal as well", "xa", 0, {
        {'a', 0, 1, AWAIT(7, 0)}, {'x', 1, 2, SIGNAL(7, 0)}}},
    {"a signal is not taken back by a smaller one", "xyab", 0, {
        {'x', 1, 1, SIGNAL(7, 5)}, {'y', 1, 2, SIGNAL(7, 1)},
        {'a', 0, 3, AWAIT(7, 5)}, {'b', 0, 4, MARK}}},
    {"many await one signal", "xabc", 0, {
        {'a', 0, 1, AWAIT(7, 1)}, {'b', 1, 2, AWAIT(7, 1)}, {'c', 2, 3, AWAIT(7, 1)},
        {'x', 3, 9, SIGNAL(7, 1)}}},
    {"barrier of two: both signal, both await", "abcd", 0, {
        {'a', 0, 1, SIGNAL(1, 1)}, {'c', 0, 2, AWAIT(2, 1)},
        {'b', 1, 5, SIGNAL(2, 1)}, {'d', 1, 6, AWAIT(1, 1)}}},
    {"timeline and domain of one number are two things", "abx", 0, {
        {'a', 0, 1, LOCK(0, 1)}, {'b', 0, 2, UNLOCK(0, 1)}, {'x', 1, 3, SIGNAL(REGION(0), 1)}}},

    {"killed holder: its stream has ended", "abcd", 0, {
        {'a', 0, 1, LOCK(1, 1)}, {'b', 0, 2, RANGE(1, 1)},
        {'c', 1, 3, LOCK(1, 2)}, {'d', 1, 4, UNLOCK(1, 2)}}},
    {"killed holder of two domains", "abcd", 0, {
        {'a', 0, 5, LOCK(1, 1)}, {'b', 0, 6, LOCK(2, 1)},
        {'c', 1, 1, LOCK(1, 2)}, {'d', 2, 2, LOCK(2, 2)}}},
    {"killed holder: others wait until its stream has ended", "axbc", 0, {
        {'a', 0, 1, LOCK(1, 1)}, {'b', 0, 9, MARK},
        {'c', 1, 2, LOCK(1, 2)}, {'x', 2, 3, MARK}}},

    {"first hold seen of a domain has any number", "ab", 0, {
        {'a', 0, 1, LOCK(1, 7)}, {'b', 0, 2, UNLOCK(1, 7)}}},
    {"first hold lost: the second waits for what can go", "xab", 0, {
        {'a', 0, 1, LOCK(1, 2)}, {'b', 0, 2, UNLOCK(1, 2)}, {'x', 1, 9, MARK}}},
    {"first holds of two streams, both late in number", "abcd", 0, {
        {'a', 0, 1, LOCK(1, 7)}, {'b', 0, 2, UNLOCK(1, 7)},
        {'c', 1, 1, LOCK(1, 8)}, {'d', 1, 2, UNLOCK(1, 8)}}},
    {"lost hold: a gap", "abxcd", 1, {
        {'a', 0, 1, LOCK(1, 1)}, {'b', 0, 2, UNLOCK(1, 1)},
        {'c', 1, 3, LOCK(1, 3)}, {'d', 1, 4, UNLOCK(1, 3)}, {'x', 0, 9, MARK}}},
    {"lost unlock while the stream goes on: a gap", "axbdc", 1, {
        {'a', 0, 1, LOCK(1, 1)}, {'x', 0, 2, MARK}, {'c', 0, 3, AWAIT(7, 1)},
        {'b', 1, 2, LOCK(1, 2)}, {'d', 1, 9, SIGNAL(7, 1)}}},
    {"lost signal: a gap", "xa", 1, {
        {'a', 0, 1, AWAIT(7, 1)}, {'x', 1, 9, MARK}}},
    {"hold that is past: a gap, at once", "abcx", 1, {
        {'a', 0, 1, LOCK(1, 7)}, {'b', 0, 2, UNLOCK(1, 7)},
        {'c', 1, 3, LOCK(1, 4)}, {'x', 0, 9, MARK}}},
    {"killed before it had noted a page manager's hold: no gap", "axb", 0, {
        {'a', 0, 1, WATCH(1, 1)}, {'x', 0, 9, MARK}, {'b', 1, 2, WATCH(1, 3)}}},
    {"an ended stream lacks one hold at most", "ab", 1, {
        {'a', 0, 1, WATCH(1, 1)}, {'b', 1, 2, WATCH(1, 4)}}},
    {"an ended stream lacks one hold once", "abc", 1, {
        {'a', 0, 1, WATCH(1, 1)}, {'b', 1, 2, WATCH(1, 3)}, {'c', 1, 3, WATCH(1, 5)}}},
    {"two ended streams lack a hold each", "abcd", 0, {
        {'a', 0, 1, WATCH(1, 1)}, {'b', 1, 2, MARK}, {'c', 2, 3, FAULT(1, 4)},
        {'d', 2, 4, WATCH(1, 5)}}},
    {"no stream has ended: the hold is lost", "abcd", 1, {
        {'a', 0, 1, WATCH(1, 1)}, {'d', 0, 4, AWAIT(7, 1)},
        {'b', 1, 2, WATCH(1, 3)}, {'c', 1, 3, SIGNAL(7, 1)}}},
    {"two lost: the smaller time goes first", "abcd", 2, {
        {'a', 0, 1, LOCK(1, 1)}, {'b', 0, 2, UNLOCK(1, 1)},
        {'c', 1, 4, LOCK(1, 5)}, {'d', 2, 5, AWAIT(7, 1)}}},
};
/* clang-format on */

/* Streams of records, and what of them has been taken. */
struct streams {
    struct trk_record records[STREAMS_MAX][EVENTS_MAX];
    char letters[STREAMS_MAX][EVENTS_MAX];
    size_t count[STREAMS_MAX];
    size_t next[STREAMS_MAX];
};

static void offer(struct trk_linear *linear, const struct streams *streams, size_t stream)
{
    size_t next = streams->next[stream];
    if (next == streams->count[stream]) {
        trk_linear_exhaust(linear, stream);
    } else if (next % 3 == 0) { /* as at the start of a chunk: only the time is known */
        trk_linear_expect(linear, stream, streams->records[stream][next].tsc);
    } else {
        cr_assert_eq(trk_linear_offer(linear, stream, &streams->records[stream][next]), TRK_OK);
    }
}

static void run_case(const struct order_case *c)
{
    static struct streams streams;
    memset(&streams, 0, sizeof streams);
    for (const struct step *step = c->steps; step->letter != 0; step++) {
        size_t at = streams.count[step->stream]++;
        streams.records[step->stream][at] = (struct trk_record){step->tsc, step->event};
        streams.letters[step->stream][at] = step->letter;
    }
    struct trk_linear *linear;
    size_t used = STREAMS_MAX;
    while (used > 0 && streams.count[used - 1] == 0) {
        used--;
    }
    cr_assert_eq(trk_linear_create(&linear, used, NULL), TRK_OK);
    for (size_t i = 0; i < used; i++) {
        offer(linear, &streams, i);
    }
    char order[STREAMS_MAX * EVENTS_MAX + 1] = "";
    size_t length = 0;
    size_t stream;
    enum trk_linear_turn turn;
    while ((turn = trk_linear_next(linear, &stream)) != TRK_LINEAR_DONE) {
        if (turn == TRK_LINEAR_LOAD) {
            cr_assert_eq(
                trk_linear_offer(linear, stream, &streams.records[stream][streams.next[stream]]),
                TRK_OK);
            continue;
        }
        order[length++] = streams.letters[stream][streams.next[stream]++];
        offer(linear, &streams, stream);
    }
    cr_expect_str_eq(order, c->order, "%s: got %s, expected %s", c->name, order, c->order);
    cr_expect_eq(trk_linear_gaps(linear), c->gaps, "%s: %llu gaps", c->name,
                 (unsigned long long)trk_linear_gaps(linear));
    trk_linear_destroy(linear);
}

Test(linear, named_cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_case(&cases[i]);
    }
}

/* ---- random histories ------------------------------------------------------------------------ */

#define HISTORY_STREAMS 6
#define HISTORY_DOMAINS 5
#define HISTORY_EVENTS  4000

/*
 * A history is made in a legal order: each step one stream takes, uses or releases a lock, or
 * signals, or awaits what was signalled. Its clocks are off by more than a hold is long.
 */
struct history {
    struct trk_record records[HISTORY_STREAMS][HISTORY_EVENTS];
    size_t count[HISTORY_STREAMS];
    uint32_t seq[HISTORY_DOMAINS];
    int holder[HISTORY_DOMAINS];
    uint64_t signalled[HISTORY_STREAMS];
};

static void history_step(struct history *history, struct trace_random *random, uint64_t now)
{
    size_t stream = trace_random_below(random, HISTORY_STREAMS);
    size_t domain = trace_random_below(random, HISTORY_DOMAINS);
    struct trk_event event = {.type = TRK_EVENT_MARK};
    if (history->holder[domain] == (int)stream) {
        bool ends = trace_random_below(random, 2) == 0;
        event = (struct trk_event){.type = ends ? TRK_EVENT_UNLOCK : TRK_EVENT_RANGE,
                                   .domain = REGION(domain),
                                   .seq = history->seq[domain]};
        history->holder[domain] = ends ? -1 : (int)stream;
    } else if (history->holder[domain] < 0) {
        event = (struct trk_event)LOCK(domain, ++history->seq[domain]);
        history->holder[domain] = (int)stream;
    } else if (trace_random_below(random, 2) == 0) {
        event = (struct trk_event)SIGNAL((uint32_t)stream, ++history->signalled[stream]);
    } else {
        size_t other = trace_random_below(random, HISTORY_STREAMS);
        if (history->signalled[other] > 0) {
            event = (struct trk_event)AWAIT((uint32_t)other, history->signalled[other]);
        }
    }
    history->records[stream][history->count[stream]++] = (struct trk_record){
        .tsc = now + trace_random_below(random, 200) + 100 * stream, .event = event};
}

/* What must have come before an event when it is given. */
static void check_legal(const struct trk_event *event, uint32_t *seq, bool *ended,
                        uint64_t *signalled)
{
    if (event->type == TRK_EVENT_SIGNAL) {
        signalled[event->domain] = event->argument;
    } else if (event->type == TRK_EVENT_AWAIT) {
        cr_assert_geq(signalled[event->domain], event->argument);
    } else if (trk_event_in_hold(event)) {
        uint32_t domain = event->domain & 0xff;
        if (event->type == TRK_EVENT_LOCK) {
            cr_assert(ended[domain] || seq[domain] == 0);
            cr_assert_eq(event->seq, seq[domain] + 1);
        }
        cr_assert(event->type == TRK_EVENT_LOCK || event->seq == seq[domain]);
        seq[domain] = event->seq;
        ended[domain] = event->type == TRK_EVENT_UNLOCK;
    }
}

Test(linear, random_legal_histories_stay_legal)
{
    static struct history history;
    const char *text = getenv("TRK_SEED");
    struct trace_random random = {text != NULL ? strtoull(text, NULL, 0) : 1};
    memset(&history, 0, sizeof history);
    memset(history.holder, 0xff, sizeof history.holder);
    for (uint64_t i = 0; i < HISTORY_EVENTS; i++) {
        history_step(&history, &random, 10 * i);
    }
    struct trace_file file;
    trace_file_start(&file, 0);
    for (uint32_t i = 0; i < HISTORY_STREAMS; i++) {
        trace_file_name(&file, i, "history");
    }
    size_t written[HISTORY_STREAMS] = {0};
    for (size_t stream = 0; stream < HISTORY_STREAMS; stream++) {
        while (written[stream] < history.count[stream]) {
            size_t part = 1 + trace_random_below(&random, 100);
            size_t left = history.count[stream] - written[stream];
            part = part < left ? part : left;
            trace_file_add(&file, (uint32_t)stream, &history.records[stream][written[stream]], part,
                           0);
            trace_file_flush(&file);
            written[stream] += part;
        }
    }
    trace_file_end(&file, 0);
    struct trace_events events = trace_read_bytes(file.bytes, file.size_bytes);
    cr_assert_eq(events.status, TRK_OK);
    cr_assert(events.state.complete);
    cr_assert_eq(events.count, HISTORY_EVENTS);
    cr_expect_eq(events.state.order_gaps, 0);
    uint32_t seq[HISTORY_DOMAINS] = {0};
    bool ended[HISTORY_DOMAINS] = {false};
    uint64_t signalled[HISTORY_STREAMS] = {0};
    size_t next[HISTORY_STREAMS] = {0};
    for (size_t i = 0; i < events.count; i++) {
        const struct trk_trace_event *event = &events.events[i];
        cr_assert_eq(event->number, i);
        const struct trk_record *expected = &history.records[event->stream][next[event->stream]++];
        cr_assert(trace_event_equal(&event->event, &expected->event));
        cr_assert_eq(event->tsc, expected->tsc);
        check_legal(&event->event, seq, ended, signalled);
    }
    trace_events_free(&events);
    trace_file_free(&file);
}
