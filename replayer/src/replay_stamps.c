/*
 * What the time stamps of a pass say: how long the device was at it, and where that lies on the
 * host's clock.
 *
 * A stamp that does not come is lost. One that cannot be is wrong: a submit has begun after the
 * host handed it over and has ended before the host had waited for its frame, so it is neither
 * longer than that nor, where both clocks are read together, outside of it.
 */
#include <stdlib.h>

#include "replay_internal.h"

/* Clocks that are not read together may differ by this share, and no clock is exact. */
#define RATE_MOST TRK_CALIBRATION_DRIFT_MOST
#define SLACK_NS  ((double)TRK_CALIBRATION_SLACK_NS)

struct span {
    uint64_t begin, end; /* ticks since the first timestamp */
};

/* Reading the stamps of one pass. */
struct reading {
    struct trk_replay *replay;
    struct trk_replay_pass *pass;
    struct span *spans; /* of a frame */
    size_t count;
    double first_ns, last_ns; /* of its copies, since the pass began */
};

static int span_compare(const void *a, const void *b)
{
    uint64_t left = ((const struct span *)a)->begin, right = ((const struct span *)b)->begin;
    return left < right ? -1 : left > right;
}

/* How long any of them was under way: submits overlap where one begins before another has ended. */
static uint64_t spans_busy(struct span *spans, size_t count)
{
    uint64_t busy = 0, until = 0;
    qsort(spans, count, sizeof *spans, span_compare);
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = spans[i].begin > until ? spans[i].begin : until;
        if (spans[i].end > begin) {
            busy += spans[i].end - begin;
            until = spans[i].end;
        }
    }
    return busy;
}

/* From one moment of the host's clock to another. */
static double ns_since(uint64_t from, uint64_t to)
{
    return to >= from ? (double)(to - from) : -(double)(from - to);
}

/* Whether a submit of that length, in ticks, lies inside of what the host saw of it. */
static bool stamp_right(struct reading *reading, const struct replay_stamp *stamp,
                        const uint64_t *tick, uint64_t length)
{
    const struct trk_calibration *clocks = &reading->pass->calibration;
    const struct trk_replay *replay = reading->replay;
    const uint64_t end_ns = replay->brackets[stamp->frame].end_ns;
    const double seen_ns = ns_since(stamp->submit_ns, end_ns);
    if ((double)length * replay->gpu->info.tick_ns > seen_ns * (1.0 + RATE_MOST) + SLACK_NS) {
        return false;
    }
    if (clocks->state != TRK_CALIBRATION_GOOD) {
        return true;
    }
    const double slack = SLACK_NS + (double)clocks->deviation_ns;
    const double from = ns_since(clocks->begin.host_ns, stamp->submit_ns), to = from + seen_ns;
    const double begin = trk_calibration_place(clocks, tick[0], from);
    const double end = trk_calibration_place(clocks, tick[2], from);
    const double origin = ns_since(clocks->begin.host_ns, replay->begin_ns);
    if (begin < from - slack || end > to + slack || end < begin) {
        return false;
    }
    if (reading->count == 0 || begin - origin < reading->first_ns) {
        reading->first_ns = begin - origin;
    }
    if (reading->count == 0 || end - origin > reading->last_ns) {
        reading->last_ns = end - origin;
    }
    return true;
}

/* One of lost or wrong stamps; the first one is named. */
struct fault {
    uint64_t *count, *frame, *event;
};

static void fault_count(const struct reading *reading, const struct replay_stamp *stamp,
                        const struct fault *fault)
{
    if ((*fault->count)++ == 0) {
        *fault->frame = reading->replay->plan->frames[stamp->frame].number;
        *fault->event = stamp->event;
    }
}

static void stamp_take(struct reading *reading, uint32_t at)
{
    struct trk_replay *replay = reading->replay;
    struct trk_replay_pass *pass = reading->pass;
    const uint64_t bits = replay->gpu->queues[replay->policy.queue].valid_bits;
    const uint64_t *tick = &replay->ticks[(size_t)at * 4]; /* value, there, value, there */
    if (tick[1] == 0 || tick[3] == 0) {
        const struct fault lost = {&pass->lost_timestamps, &pass->lost_frame, &pass->lost_event};
        fault_count(reading, &replay->stamps[at], &lost);
        return;
    }
    const uint64_t begin = (tick[0] - replay->ticks[0]) & bits, length = (tick[2] - tick[0]) & bits;
    if (!stamp_right(reading, &replay->stamps[at], tick, length)) {
        const struct fault wrong = {&pass->wrong_timestamps, &pass->wrong_frame,
                                    &pass->wrong_event};
        fault_count(reading, &replay->stamps[at], &wrong);
        return;
    }
    reading->spans[reading->count++] = (struct span){begin, begin + length};
}

static uint64_t ns_place(double ns)
{
    return ns > 0.0 ? (uint64_t)ns : 0;
}

/* The submits of one frame, from `first` on; gives the first one behind. */
static uint32_t stamps_frame(struct reading *reading, uint32_t first)
{
    const struct trk_replay *replay = reading->replay;
    struct trk_replay_pass *pass = reading->pass;
    const uint32_t frame = replay->stamps[first].frame;
    uint32_t at = first;
    reading->count = 0;
    for (; at < replay->stamp_count && replay->stamps[at].frame == frame; at++) {
        stamp_take(reading, at);
    }
    const uint64_t busy = spans_busy(reading->spans, reading->count);
    const uint64_t ns = (uint64_t)((double)busy * replay->gpu->info.tick_ns);
    pass->all.device_ns += ns;
    if (pass->frames != NULL) {
        pass->frames[frame].device_ns = ns;
    }
    if (pass->places != NULL && reading->count > 0 &&
        pass->calibration.state == TRK_CALIBRATION_GOOD) {
        pass->places[frame].device_begin_ns = ns_place(reading->first_ns);
        pass->places[frame].device_end_ns = ns_place(reading->last_ns);
    }
    return at;
}

/* What is known without any stamp. */
static void stamps_none(const struct trk_replay *replay, struct trk_replay_pass *pass)
{
    for (size_t i = 0; i < replay->plan->frame_count; i++) {
        const struct replay_bracket *bracket = &replay->brackets[i];
        if (pass->frames != NULL) {
            pass->frames[i].device_ns = pass->all.device_ns;
        }
        if (pass->places != NULL) {
            pass->places[i] = (struct trk_replay_place){
                .host_begin_ns = bracket->begin_ns - replay->begin_ns,
                .host_end_ns = bracket->end_ns - replay->begin_ns,
                .device_begin_ns = TRK_NOT_KNOWN,
                .device_end_ns = TRK_NOT_KNOWN,
            };
        }
    }
}

enum trk_status replay_stamps_read(struct trk_replay *replay, struct trk_replay_pass *pass,
                                   struct trk_error *error)
{
    const bool none = replay->queries == VK_NULL_HANDLE;
    pass->all.device_ns = none ? TRK_NOT_KNOWN : 0; /* none: also where nothing is copied */
    stamps_none(replay, pass);
    if (none || replay->stamp_count == 0) {
        return TRK_OK;
    }
    VkResult result = replay->gpu->api.GetQueryPoolResults(
        replay->gpu->device, replay->queries, 0, 2 * replay->stamp_count,
        (size_t)replay->stamp_count * 4 * sizeof *replay->ticks, replay->ticks,
        2 * sizeof *replay->ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    if (result != VK_SUCCESS && result != VK_NOT_READY) {
        return trk_vk_result(error, "vkGetQueryPoolResults", result);
    }
    struct reading reading = {.replay = replay, .pass = pass};
    reading.spans = malloc(((size_t)replay->stamp_count + 1) * sizeof *reading.spans);
    if (reading.spans == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the times");
    }
    for (uint32_t at = 0; at < replay->stamp_count;) {
        at = stamps_frame(&reading, at);
    }
    free(reading.spans);
    return TRK_OK;
}
