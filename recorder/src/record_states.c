#define _GNU_SOURCE /* memfd_create */
#include "record_states.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock_ticks.h"
#include "format.h"
#include "record_ease.h"

#define PARTS       4u /* of the ring, at least one between two states */
#define STATES_MOST 16u
/* What may wait for the thread in a file: so many rings, and at least so many bytes. */
#define SPILL_RINGS UINT64_C(16)
#define DUMPS_LEFT  4u /* so many of a whole ring still have room on the disk */
#define SPILL_LEAST (UINT64_C(64) << 20)
/* As many as parts may wait, so that none of the traces that are re-executed is much larger. */
#define MARKS_MOST (PARTS * (SPILL_RINGS + 2))
#define ZSTD_LEVEL 1 /* the trace is read once */
/* After an attempt that gave none, for what it took: one that is repeated is longer each time. */
#define RESTS_AFTER_NONE 4u

/* A moment: what came before it was drained, and is in chunks before that number. */
struct mark {
    uint64_t ticks;
    uint64_t number;
};

/* One state being made. */
struct job {
    trk_record_state_fn *make;
    struct trk_flight_view *view; /* what is behind the last state */
    char *header_json;
    uint64_t ticks;
    pthread_t thread;
    bool running;
    _Atomic bool done;
    /* Valid once done. */
    uint64_t took_ns; /* of a processor */
    enum trk_status status;
    struct trk_error error;
    struct trk_flight_state *made;
};

struct trk_record_states {
    struct recording *recording;
    struct trk_flight *ring;
    struct trk_flight_state *list[STATES_MOST]; /* oldest first */
    size_t count;
    struct mark marks[MARKS_MOST]; /* oldest first; up to the first one goes the job under way */
    size_t mark_count;
    uint64_t made;       /* ever */
    bool begun;          /* there is a tracker */
    uint64_t marked_at;  /* bytes of the ring ever, at the last mark */
    uint64_t rest_until; /* nothing is begun before then; ns */
    char why[128];       /* the last attempt gave none; "": it did */
    bool over;           /* there will be no further ones */
    struct job job;
};

/* ---- on the thread --------------------------------------------------------------------------- */

static enum trk_status write_trace(const struct job *job, int fd, struct trk_error *error)
{
    struct trk_writer *writer = NULL;
    struct trk_writer_options options = trk_writer_options_default();
    options.zstd_level = ZSTD_LEVEL;
    options.clock_shift = trk_flight_view_clock_shift(job->view);
    trk_record_output_marker(options.sync_marker);
    enum trk_status status = trk_writer_create(&writer, fd, &options, job->header_json, error);
    if (status == TRK_OK)
        status = trk_flight_view_write(job->view, writer, error);
    if (status == TRK_OK)
        return trk_writer_end(writer, -1, error);
    trk_writer_destroy(writer);
    return status;
}

/* The stream of the ring that a stream of the trace is. Both have the same ones. */
static size_t stream_of(const struct trk_flight_view *view, const struct trk_trace *trace, size_t i)
{
    uint32_t id = trk_trace_stream(trace, i)->stream_id;
    size_t at = trk_flight_view_streams(view);
    while (at > 0 && trk_flight_view_stream(view, --at)->stream_id != id) {
    }
    return at;
}

/* A place in the trace as one in the ring. */
static enum trk_status place_in_ring(struct job *job, const struct trk_trace *trace,
                                     const struct trk_record_state *found)
{
    const struct trk_flight_state *last = trk_flight_view_state(job->view);
    struct trk_flight_state *made = job->made;
    size_t streams = trk_trace_stream_count(trace);
    made->stream_count = trk_flight_view_streams(job->view);
    made->ordinals = calloc(made->stream_count + 1, sizeof *made->ordinals);
    made->prologue = calloc(found->prologue_count + 1, sizeof *made->prologue);
    if (made->ordinals == NULL || made->prologue == NULL)
        return TRK_E_MEMORY;
    for (size_t i = 0; i < made->stream_count; ++i)
        made->ordinals[i] = trk_flight_state_before(last, i);
    for (size_t i = 0; i < streams; ++i) {
        size_t stream = stream_of(job->view, trace, i);
        uint64_t again = trk_flight_state_prologue(last, stream);
        if (found->ordinals[i] < again)
            return TRK_E_UNSUPPORTED; /* before the last one */
        made->ordinals[stream] += found->ordinals[i] - again;
    }
    for (size_t i = 0; i < found->prologue_count; ++i) {
        const struct trk_trace_event *event = &found->prologue[i];
        made->prologue[i] = (struct trk_flight_prologue){
            .stream = (uint32_t)stream_of(job->view, trace, event->stream),
            .record = {event->tsc, event->event},
        };
    }
    made->prologue_count = found->prologue_count;
    return TRK_OK;
}

static enum trk_status make(struct job *job, struct trk_trace *trace)
{
    struct trk_record_state found = {.ticks = 0};
    enum trk_status status = trk_trace_scan(trace, &job->error);
    if (status == TRK_OK)
        status = job->make(trace, job->ticks, &found, &job->error);
    if (status == TRK_OK && found.snapshot.size_bytes > TRK_FORMAT_RAW_MAX)
        status = trk_error_set(&job->error, TRK_E_INCOMPLETE, "the state is too large for a file");
    if (status == TRK_OK) {
        job->made->ticks = found.ticks;
        job->made->snapshot = found.snapshot.bytes;
        job->made->snapshot_bytes = found.snapshot.size_bytes;
        found.snapshot.bytes = NULL;
        status = place_in_ring(job, trace, &found);
    }
    free(found.snapshot.bytes);
    free(found.ordinals);
    free(found.prologue);
    return status;
}

static enum trk_status work(struct job *job)
{
    char path[40];
    struct trk_trace *trace = NULL;
    job->made = calloc(1, sizeof *job->made);
    int fd = memfd_create("trk-flight-state", MFD_CLOEXEC);
    if (job->made == NULL || fd < 0) {
        enum trk_status none = fd < 0 ? TRK_E_SYSTEM : TRK_E_MEMORY;
        if (fd >= 0)
            close(fd);
        return trk_error_set(&job->error, none, "no memory for a trace of the flight ring");
    }
    atomic_init(&job->made->users, 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum trk_status status = write_trace(job, fd, &job->error);
    if (status == TRK_OK)
        status = trk_trace_open(&trace, path, &job->error);
    if (status == TRK_OK) {
        status = make(job, trace);
        trk_trace_close(trace);
    }
    close(fd);
    return status;
}

static void *run(void *argument)
{
    struct job *job = argument;
    struct timespec used = {0};
    trk_record_give_way(); /* to the program, and to who drains */
    job->status = work(job);
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    job->took_ns = (uint64_t)used.tv_sec * UINT64_C(1000000000) + (uint64_t)used.tv_nsec;
    if (job->status != TRK_OK) {
        trk_flight_state_release(job->made);
        job->made = NULL;
    }
    atomic_store(&job->done, true);
    return NULL;
}

/* ---- on the recorder's ----------------------------------------------------------------------- */

enum trk_status trk_record_states_create(struct trk_record_states **out,
                                         struct recording *recording, struct trk_flight *ring)
{
    *out = NULL;
    if (recording->options->state == NULL)
        return TRK_OK;
    uint64_t spill = SPILL_RINGS * recording->options->flight_bytes;
    enum trk_status status =
        trk_flight_spill(ring, recording->options->path, spill > SPILL_LEAST ? spill : SPILL_LEAST,
                         DUMPS_LEFT * recording->options->flight_bytes, recording->error);
    if (status != TRK_OK)
        return status;
    struct trk_record_states *states = calloc(1, sizeof *states);
    if (states == NULL)
        return trk_error_set(recording->error, TRK_E_MEMORY, "out of memory for the flight ring");
    states->recording = recording;
    states->ring = ring;
    *out = states;
    return TRK_OK;
}

static struct trk_flight_state *newest(const struct trk_record_states *states)
{
    return states->count > 0 ? states->list[states->count - 1] : NULL;
}

/* Those that there are can be used as long as the ring has what is behind them. */
static void give_up(struct trk_record_states *states, const char *why)
{
    char text[256];
    const struct trk_record_options *options = states->recording->options;
    snprintf(text, sizeof text,
             "dumps will not begin with a state of the trackers any more: %.160s", why);
    if (options->say != NULL)
        options->say(text);
    states->over = true;
    states->mark_count = 0;
    trk_flight_keep_nothing(states->ring);
}

static void drop_oldest(struct trk_record_states *states)
{
    trk_flight_state_release(states->list[0]);
    states->count--;
    for (size_t i = 0; i < states->count; ++i)
        states->list[i] = states->list[i + 1];
}

static void add(struct trk_record_states *states, struct trk_flight_state *made)
{
    if (states->count == STATES_MOST)
        drop_oldest(states);
    states->list[states->count++] = made;
    states->made++;
    trk_flight_keep_behind(states->ring, made);
}

static void end_job(struct trk_record_states *states)
{
    struct job *job = &states->job;
    (void)pthread_join(job->thread, NULL);
    job->running = false;
    trk_flight_view_destroy(job->view);
    free(job->header_json);
    states->mark_count--;
    for (size_t i = 0; i < states->mark_count; ++i)
        states->marks[i] = states->marks[i + 1];
    /* Half of one processor at most, however much comes in. */
    states->rest_until =
        trk_record_now_ns() + job->took_ns * (job->status == TRK_OK ? 1 : RESTS_AFTER_NONE);
    states->why[0] = 0;
    if (job->status == TRK_OK)
        add(states, job->made);
    else if (job->status == TRK_E_UNSUPPORTED)
        snprintf(states->why, sizeof states->why, "%.120s", job->error.text);
    else
        give_up(states, job->error.text);
}

/* Everything that came before now gets into chunks, so that the order of events in them is certain.
 */
static void add_mark(struct trk_record_states *states)
{
    struct recording *recording = states->recording;
    struct mark mark = {.ticks = trk_clock_ticks()};
    uint64_t fullest = 0;
    if (trk_record_drain_pass(&recording->drain, &fullest, recording->error) == TRK_OK)
        recording->drain.status = trk_record_drain_flush(&recording->drain, recording->error);
    mark.number = trk_flight_next_number(states->ring);
    states->marked_at = trk_flight_bytes_ever(states->ring);
    if (states->mark_count == MARKS_MOST)
        states->mark_count--; /* that part and this one are one */
    states->marks[states->mark_count++] = mark;
}

/* What came between the newest state and the first mark: so a long wait leaves more than one. */
static void begin_job(struct trk_record_states *states)
{
    struct recording *recording = states->recording;
    struct job *job = &states->job;
    sigset_t all;
    sigset_t former;
    *job = (struct job){.make = recording->options->state, .ticks = states->marks[0].ticks};
    if (!trk_flight_has_behind(states->ring, newest(states))) {
        give_up(states, states->why[0] ? states->why : "re-execution does not keep up");
        return;
    }
    job->header_json = trk_record_output_json(recording, NULL);
    job->view = trk_flight_view_behind(states->ring, newest(states), states->marks[0].number);
    sigfillset(&all); /* signals are the main thread's */
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    job->running = job->header_json != NULL && job->view != NULL &&
                   pthread_create(&job->thread, NULL, run, job) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (job->running)
        return;
    free(job->header_json);
    trk_flight_view_destroy(job->view);
    give_up(states, "there is no memory, or no thread, for re-executing");
}

static bool is_mark_due(const struct trk_record_states *states)
{
    uint64_t part = states->recording->options->flight_bytes / PARTS;
    return states->begun && trk_flight_bytes_ever(states->ring) - states->marked_at >= part;
}

void trk_record_states_turn(struct trk_record_states *states)
{
    if (states == NULL || states->over)
        return;
    if (states->job.running && atomic_load(&states->job.done))
        end_job(states);
    if (states->over)
        return;
    if (!states->begun && trk_flight_has_tracker(states->ring)) {
        states->begun = true;
        trk_flight_keep_behind(states->ring, NULL);
        if (!trk_flight_has_behind(states->ring, NULL)) {
            give_up(states, "more came before the first tracker than the ring has");
            return;
        }
    }
    while (states->count > 1 && !trk_flight_has_behind(states->ring, states->list[0]))
        drop_oldest(states); /* of no use any more */
    if (is_mark_due(states))
        add_mark(states);
    if (!states->job.running && states->mark_count > 0 && trk_record_now_ns() >= states->rest_until)
        begin_job(states);
}

void trk_record_states_end(struct trk_record_states *states)
{
    if (states == NULL)
        return;
    if (states->job.running)
        end_job(states);
    states->over = true;
}

void trk_record_states_destroy(struct trk_record_states *states)
{
    trk_record_states_end(states);
    for (size_t i = 0; states != NULL && i < states->count; ++i)
        trk_flight_state_release(states->list[i]);
    free(states);
}

void trk_record_states_describe(const struct trk_record_states *states, char *out, size_t size)
{
    if (states == NULL)
        snprintf(out, size, "no states");
    else
        snprintf(out, size, "%" PRIu64 " states made, %s", states->made,
                 states->over                                    ? "no more to come"
                 : states->mark_count > 0 || is_mark_due(states) ? "others under way"
                                                                 : "none under way");
}

/* Behind the oldest state there is much less than the ring would have: its length counts more. */
static bool is_short(const struct trk_record_states *states, const struct trk_flight_state *found,
                     char *why, size_t size)
{
    uint64_t budget = states->recording->options->flight_bytes;
    uint64_t all = trk_flight_bytes_behind(states->ring, NULL);
    uint64_t behind = trk_flight_bytes_behind(states->ring, found);
    if (2 * behind >= (all < budget ? all : budget))
        return false;
    snprintf(
        why, size,
        "the dump has the whole ring and begins with no state: behind the oldest one there are "
        "%" PRIu64 " of %" PRIu64 " bytes",
        behind, all);
    return true;
}

struct trk_flight_state *trk_record_states_for(const struct trk_record_states *states,
                                               uint64_t *since_ticks, char *why, size_t size)
{
    struct trk_flight_state *found = NULL;
    bool any = false;
    why[0] = '\0';
    if (states == NULL || !trk_flight_has_tracker(states->ring))
        return NULL;
    bool has_all = trk_flight_has_behind(states->ring, NULL);
    if (*since_ticks == 0 && has_all)
        return NULL;
    /* 0: to the oldest, then */
    uint64_t since = trk_flight_reaches(states->ring, *since_ticks) ? *since_ticks : 0;
    for (size_t i = 0; i < states->count; ++i) {
        bool usable = trk_flight_has_behind(states->ring, states->list[i]);
        any = any || usable;
        bool wanted = since == 0 ? found == NULL : states->list[i]->ticks <= since;
        found = usable && wanted ? states->list[i] : found;
    }
    if (found == NULL && has_all)
        *since_ticks = 0;
    else if (found == NULL)
        snprintf(why, size, "the dump begins with no state: none is %s",
                 any ? "as old as it is to go back" : "known behind which the ring has all");
    else if (since == 0 && is_short(states, found, why, size))
        return NULL;
    return found;
}
