/*
 * A tape: traces made in a test, by the real core, without a recorder.
 */
#define _GNU_SOURCE
#include "tape.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STORE_BYTES 64u

static void emit(void *context, const struct trk_event *event)
{
    struct tape *tape = context;
    tape_put(tape, event);
    uint64_t store_addr = tape->after_look;
    if (event->type != TRK_EVENT_FAULT || store_addr == 0)
        return;
    tape->after_look = 0;
    uint32_t now = tape->now;
    tape_as(tape, now + 1);
    tape_store_faulting(tape, store_addr, 1);
    tape_as(tape, now);
}

static void failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
}

static struct trk_tracker *tracker_create(struct tape *tape, const char *policy, uint32_t id)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    bool generations = strcmp(policy, "generations") == 0;
    cr_assert_eq(trk_policy_preset(generations ? "default" : policy, &options.policy), TRK_OK);
    options.policy.generations = generations;
    options.backend = tape->backend;
    options.observer = (struct trk_observer){.emit = emit, .context = tape};
    options.failure = failure;
    options.id = id;
    tape_put(tape, &(struct trk_event){.type = TRK_EVENT_TRACKER,
                                       .argument = trk_policy_pack(&options.policy),
                                       .page = (uint16_t)id,
                                       .context = TRK_BACKEND_MPROTECT});
    struct trk_tracker *tracker = NULL;
    cr_assert_eq(trk_tracker_create(&tracker, &options, NULL), TRK_OK);
    return tracker;
}

struct tape *tape_create(const char *policy)
{
    struct tape *tape = calloc(1, sizeof *tape);
    cr_assert_not_null(tape);
    tape->end = true;
    for (uint32_t i = 0; i < TAPE_STREAMS; i++)
        tape->threads[i].id = 100 + i;
    cr_assert_eq(trk_backend_simulated_create(&tape->backend, NULL), TRK_OK);
    tape_as(tape, 0);
    tape->tracker = tracker_create(tape, policy, 0);
    ignore(trk_tracker_register(tape->tracker, TAPE_A & ~(TAPE_R - 1), 2 * TAPE_R));
    return tape;
}

void tape_add_tracker(struct tape *tape)
{
    tape->second = tracker_create(tape, "default", 1);
}

void tape_destroy(struct tape *tape)
{
    trk_trace_close(tape->trace);
    trk_tracker_destroy(tape->tracker);
    trk_tracker_destroy(tape->second);
    trk_backend_destroy(tape->backend);
    trk_thread_swap(NULL);
    free(tape->bytes);
    free(tape);
}

void tape_as(struct tape *tape, uint32_t stream)
{
    tape->now = stream;
    trk_thread_swap(&tape->threads[stream]);
}

void tape_put(struct tape *tape, const struct trk_event *event)
{
    struct tape_stream *stream = &tape->streams[tape->now];
    cr_assert_lt(stream->count, TAPE_EVENTS);
    tape->tsc += 100;
    stream->records[stream->count++] = (struct trk_record){tape->tsc, *event};
    tape->number++;
}

/* ---- annotations ----------------------------------------------------------------------------- */

void tape_copy(struct tape *tape, enum trk_copy direction, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_event event = {
        .type = TRK_EVENT_COPY_BEGIN, .argument = guest_addr, .context = (uint16_t)direction};
    trk_event_set_size(&event, size_bytes);
    tape_put(tape, &event);
    event.type = TRK_EVENT_COPY_END;
    tape_put(tape, &event);
}

static void witness(struct tape *tape, uint8_t type, enum trk_agent agent, uint64_t guest_addr,
                    uint32_t stamp)
{
    tape_put(tape, &(struct trk_event){.type = type,
                                       .argument = guest_addr,
                                       .seq = STORE_BYTES,
                                       .domain = stamp,
                                       .flags = (uint8_t)agent});
}

void tape_store(struct tape *tape, enum trk_agent agent, uint64_t guest_addr, uint32_t stamp)
{
    witness(tape, TRK_EVENT_WITNESS_STORE, agent, guest_addr, stamp);
}

void tape_check(struct tape *tape, enum trk_agent agent, uint64_t guest_addr, uint32_t stamp)
{
    witness(tape, TRK_EVENT_WITNESS_CHECK, agent, guest_addr, stamp);
}

void tape_gpu_read(struct tape *tape, uint64_t guest_addr, uint32_t size_bytes)
{
    tape_put(tape, &(struct trk_event){
                       .type = TRK_EVENT_GPU_READ, .argument = guest_addr, .seq = size_bytes});
}

void tape_signal(struct tape *tape, uint32_t timeline, uint64_t value)
{
    tape_put(tape,
             &(struct trk_event){.type = TRK_EVENT_SIGNAL, .argument = value, .domain = timeline});
}

void tape_await(struct tape *tape, uint32_t timeline, uint64_t value)
{
    tape_put(tape,
             &(struct trk_event){.type = TRK_EVENT_AWAIT, .argument = value, .domain = timeline});
}

void tape_map(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes, uint32_t frame,
              unsigned flags)
{
    struct trk_event event = {.type = TRK_EVENT_MAP,
                              .argument = guest_addr,
                              .context = TRK_RIGHTS_RW,
                              .flags = (uint8_t)flags};
    trk_event_set_size(&event, size_bytes);
    trk_event_set_number32(&event, frame);
    tape_put(tape, &event);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void copy_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_copy(context, TRK_COPY_UP, guest_addr, size_bytes);
}

static struct trk_transfer transfer(uint64_t guest_addr, uint64_t size_bytes)
{
    return (struct trk_transfer){
        .size = sizeof(struct trk_transfer), .guest_addr = guest_addr, .size_bytes = size_bytes};
}

void tape_upload(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes, bool written)
{
    struct trk_transfer upload = transfer(guest_addr, size_bytes);
    upload.written = written;
    ignore(trk_tracker_upload(tape->tracker, &upload));
}

void tape_upload_copying(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer upload = transfer(guest_addr, size_bytes);
    upload.range = copy_range;
    upload.context = tape;
    ignore(trk_tracker_upload(tape->tracker, &upload));
}

void tape_drain(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer drain = transfer(guest_addr, size_bytes);
    ignore(trk_tracker_drain(tape->tracker, &drain));
}

void tape_store_faulting(struct tape *tape, uint64_t guest_addr, uint32_t stamp)
{
    if (!(trk_pages_view(tape->tracker, guest_addr).host_rights & TRK_RIGHT_WRITE))
        trk_tracker_fault(tape->tracker, guest_addr, TRK_ACCESS_WRITE);
    tape_store(tape, TAPE_CPU, guest_addr, stamp);
}

/* ---- changing what was recorded -------------------------------------------------------------- */

static struct trk_record *find(struct tape *tape, uint8_t type, unsigned nth,
                               struct tape_stream **stream)
{
    uint64_t after = 0;
    for (;;) {
        struct trk_record *first = NULL;
        for (uint32_t s = 0; s < TAPE_STREAMS; s++) {
            struct tape_stream *in = &tape->streams[s];
            for (size_t i = 0; i < in->count; i++) {
                struct trk_record *record = &in->records[i];
                if (record->event.type != type || record->tsc <= after ||
                    (first != NULL && record->tsc > first->tsc))
                    continue;
                first = record;
                *stream = in;
            }
        }
        cr_assert_not_null(first, "no such event on the tape");
        if (nth-- == 0)
            return first;
        after = first->tsc;
    }
}

struct trk_event *tape_find(struct tape *tape, uint8_t type, unsigned nth)
{
    struct tape_stream *stream;
    return &find(tape, type, nth, &stream)->event;
}

void tape_remove(struct tape *tape, uint8_t type, unsigned nth)
{
    struct tape_stream *stream;
    struct trk_record *record = find(tape, type, nth, &stream);
    size_t at = (size_t)(record - stream->records);
    memmove(record, record + 1, (stream->count - at - 1) * sizeof *record);
    stream->count--;
}

/* ---- judging --------------------------------------------------------------------------------- */

static const char *const names[TAPE_STREAMS] = {"render", "guest-1", "guest-2", "guest-3"};

static void write_streams(struct tape *tape, struct trk_writer *writer)
{
    for (uint32_t s = 0; s < TAPE_STREAMS; s++) {
        const struct tape_stream *in = &tape->streams[s];
        if (in->count == 0)
            continue;
        struct trk_trace_stream stream = {.stream_id = s, .thread_id = 100 + s};
        memcpy(stream.name, names[s], strlen(names[s]) + 1);
        cr_assert_eq(trk_writer_stream(writer, &stream, NULL), TRK_OK);
        size_t before = in->count - 1;
        cr_assert_eq(trk_writer_append(writer, s, in->records, before, 0, NULL), TRK_OK);
        cr_assert_eq(trk_writer_append(writer, s, in->records + before, 1, tape->dropped, NULL),
                     TRK_OK);
    }
}

static void write_file(struct tape *tape)
{
    int fd = memfd_create("tape", MFD_CLOEXEC);
    cr_assert_geq(fd, 0);
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = 0;
    struct trk_writer *writer;
    cr_assert_eq(trk_writer_create(&writer, fd, &options, "{}", NULL), TRK_OK);
    write_streams(tape, writer);
    if (tape->end) {
        cr_assert_eq(trk_writer_end(writer, tape->child_status, NULL), TRK_OK);
    } else {
        cr_assert_eq(trk_writer_flush(writer, NULL), TRK_OK);
        trk_writer_destroy(writer);
    }
    off_t size_bytes = lseek(fd, 0, SEEK_END);
    tape->size_bytes = (size_t)size_bytes;
    tape->bytes = malloc(tape->size_bytes);
    cr_assert_eq(pread(fd, tape->bytes, tape->size_bytes, 0), size_bytes);
    close(fd);
}

static struct trk_sim_report judge_with(struct tape *tape, const struct trk_sim_options *options)
{
    trk_thread_swap(NULL);
    if (tape->bytes == NULL)
        write_file(tape);
    if (tape->trace == NULL)
        cr_assert_eq(trk_trace_open_bytes(&tape->trace, tape->bytes, tape->size_bytes, NULL),
                     TRK_OK);
    struct trk_sim_report report;
    struct trk_error error = {0};
    enum trk_status status = trk_sim_trace_with(tape->trace, options, &report, &error);
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    return report;
}

struct trk_sim_report tape_judge(struct tape *tape)
{
    struct trk_sim_options options = trk_sim_options_default();
    return judge_with(tape, &options);
}

struct trk_sim_report tape_judge_alone(struct tape *tape, uint32_t granule_bytes)
{
    struct trk_sim_options options = trk_sim_options_default();
    options.mode = TRK_SIM_ORACLE_ONLY;
    options.granule_bytes = granule_bytes;
    return judge_with(tape, &options);
}

uint8_t tape_type_at(struct tape *tape, uint64_t number)
{
    cr_assert_eq(trk_trace_rewind(tape->trace, NULL), TRK_OK);
    struct trk_trace_event event;
    while (trk_trace_next(tape->trace, &event, NULL) == TRK_OK) {
        if (event.number == number)
            return event.event.type;
    }
    return 0;
}

bool tape_reports_equal(const struct trk_sim_report *left, const struct trk_sim_report *right)
{
    bool equal =
        left->verdict == right->verdict && left->failure_class == right->failure_class &&
        left->event_at == right->event_at && left->event_visible == right->event_visible &&
        left->stream_at == right->stream_at && left->guest_addr == right->guest_addr &&
        left->size_bytes == right->size_bytes && left->complete == right->complete &&
        strcmp(left->text, right->text) == 0 && strcmp(left->detail, right->detail) == 0 &&
        left->story_count == right->story_count && left->events == right->events &&
        left->operations == right->operations && left->faults == right->faults &&
        left->copies == right->copies && left->checks == right->checks &&
        left->frames == right->frames && left->divergences == right->divergences &&
        left->ranges == right->ranges && left->protect_calls == right->protect_calls &&
        left->threads == right->threads && left->regions == right->regions &&
        left->unknown == right->unknown && strcmp(left->writer, right->writer) == 0 &&
        strcmp(left->holder, right->holder) == 0 && strcmp(left->teller, right->teller) == 0 &&
        strcmp(left->missing, right->missing) == 0 && strcmp(left->passes, right->passes) == 0 &&
        left->foreign_trackers == right->foreign_trackers &&
        memcmp(left->judged, right->judged, sizeof left->judged) == 0;
    for (size_t i = 0; equal && i < left->story_count; i++)
        equal = left->story[i].event == right->story[i].event &&
                strcmp(left->story[i].text, right->story[i].text) == 0 &&
                strcmp(left->story[i].thread, right->story[i].thread) == 0 &&
                strcmp(left->story[i].role, right->story[i].role) == 0;
    return equal;
}
