#include "report_times.h"

#include <stdlib.h>
#include <string.h>

static enum trk_status make_room(struct trk_report_times *times, uint32_t stream,
                                 struct trk_error *error)
{
    size_t count = times->thread_count;
    if (stream >= count) {
        size_t more = (size_t)stream + 16;
        void *threads = realloc(times->threads, more * sizeof *times->threads);
        if (threads == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for the threads' times");
        }
        times->threads = threads;
        memset(times->threads + count, 0, (more - count) * sizeof *times->threads);
        times->thread_count = more;
    }
    if (times->count == times->capacity) {
        size_t more = times->capacity * 2 + 1024;
        void *latencies = realloc(times->latencies, more * sizeof *times->latencies);
        if (latencies == NULL) {
            return trk_error_set(error, TRK_E_MEMORY, "no memory for the faults' times");
        }
        times->latencies = latencies;
        times->capacity = more;
    }
    return TRK_OK;
}

static void begin(struct trk_report_thread *thread, uint64_t tsc, bool fault)
{
    if (thread->depth == 0) {
        thread->outer = tsc;
        thread->copied = 0;
    }
    if (thread->depth < TRK_REPORT_DEEP) {
        thread->fault[thread->depth] = fault ? tsc : 0;
    }
    thread->depth++;
}

static void end(struct trk_report_times *times, struct trk_report_thread *thread, uint64_t tsc)
{
    if (thread->depth == 0) {
        return; /* of an operation that began before the trace */
    }
    thread->depth--;
    if (thread->depth < TRK_REPORT_DEEP && thread->fault[thread->depth] != 0) {
        times->latencies[times->count++] = tsc - thread->fault[thread->depth];
    }
    uint64_t took = tsc - thread->outer;
    if (thread->depth == 0 && took > thread->copied) {
        times->tracking += took - thread->copied;
    }
}

enum trk_status trk_report_times_note(struct trk_report_times *times,
                                      const struct trk_trace_event *event, struct trk_error *error)
{
    enum trk_status status = make_room(times, event->stream, error);
    if (status != TRK_OK) {
        return status;
    }
    struct trk_report_thread *thread = &times->threads[event->stream];
    if (!thread->seen) {
        thread->first = event->tsc;
        thread->seen = true;
    }
    /* A time stamp that runs backwards counts for nothing. */
    const uint64_t tsc = event->tsc > thread->last ? event->tsc : thread->last;
    thread->last = tsc;
    switch (event->event.type) {
    case TRK_EVENT_OP_BEGIN:
    case TRK_EVENT_FAULT:
        begin(thread, tsc, event->event.type == TRK_EVENT_FAULT);
        break;
    case TRK_EVENT_OP_END:
        end(times, thread, tsc);
        break;
    case TRK_EVENT_COPY_BEGIN:
        thread->copy = tsc;
        thread->copying = true;
        break;
    case TRK_EVENT_COPY_END:
        thread->copied += thread->copying ? tsc - thread->copy : 0;
        thread->copying = false;
        break;
    default:
        break;
    }
    return TRK_OK;
}

static int by_size(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

void trk_report_times_end(struct trk_report_times *times)
{
    for (size_t i = 0; i < times->thread_count; i++) {
        times->total += times->threads[i].last - times->threads[i].first;
    }
    if (times->count > 0) {
        qsort(times->latencies, times->count, sizeof *times->latencies, by_size);
    }
}

uint64_t trk_report_times_latency(const struct trk_report_times *times, unsigned per_mille)
{
    /* By the nearest rank: the least one that as many do not exceed. */
    const size_t rank = (times->count * per_mille + 999) / 1000;
    return times->count == 0 ? TRK_NOT_KNOWN : times->latencies[rank > 0 ? rank - 1 : 0];
}

void trk_report_times_deinit(struct trk_report_times *times)
{
    free(times->threads);
    free(times->latencies);
    *times = (struct trk_report_times){.count = 0};
}
