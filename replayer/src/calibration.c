#include "replayer/calibration.h"

#include <stddef.h>

/* Ticks from one reading to another: the way round of those bits that ends nearest to `expected`.
 */
static double ticks_between(uint64_t from, uint64_t to, uint64_t bits, double expected)
{
    const double most = 9e18;
    const int64_t whole = (int64_t)(expected > most ? most : expected < -most ? -most : expected);
    const uint64_t apart = (to - from - (uint64_t)whole) & bits;
    const double off = apart > bits / 2 ? -((double)(bits - apart) + 1.0) : (double)apart;
    return (double)whole + off;
}

/* Of the host's clock, between two readings. */
static double ns_between(uint64_t from, uint64_t to)
{
    return to >= from ? (double)(to - from) : -(double)(from - to);
}

void trk_calibration_judge(struct trk_calibration *calibration)
{
    const struct trk_clock_pair *begin = &calibration->begin, *end = &calibration->end;
    const double host_ns = ns_between(begin->host_ns, end->host_ns);
    const double open_ns = (double)begin->deviation_ns + (double)end->deviation_ns;
    const double ticks = ticks_between(begin->ticks, end->ticks, calibration->valid_bits,
                                       host_ns / calibration->tick_ns);
    const uint64_t wider =
        begin->deviation_ns > end->deviation_ns ? begin->deviation_ns : end->deviation_ns;
    calibration->deviation_ns =
        wider > calibration->deviation_ns ? wider : calibration->deviation_ns;
    calibration->drift = calibration->drift_error = calibration->host_ns_a_tick = 0.0;
    if (host_ns <= 0.0 || ticks <= 0.0) {
        calibration->state = TRK_CALIBRATION_BACKWARDS;
        return;
    }
    const double most =
        TRK_CALIBRATION_DRIFT_MOST + (open_ns + (double)TRK_CALIBRATION_SLACK_NS) / host_ns;
    calibration->drift = ticks * calibration->tick_ns / host_ns - 1.0;
    calibration->drift_error = open_ns / host_ns;
    calibration->host_ns_a_tick = host_ns / ticks;
    calibration->state = calibration->drift > most || calibration->drift < -most
                             ? TRK_CALIBRATION_RATE
                             : TRK_CALIBRATION_GOOD;
}

void trk_calibration_extend(struct trk_calibration *whole, const struct trk_calibration *later)
{
    if (later->state == TRK_CALIBRATION_NONE) {
        return;
    }
    if (whole->state == TRK_CALIBRATION_NONE) {
        *whole = *later;
        return;
    }
    whole->end = later->end;
    whole->deviation_ns =
        later->deviation_ns > whole->deviation_ns ? later->deviation_ns : whole->deviation_ns;
    trk_calibration_judge(whole);
}

double trk_calibration_place(const struct trk_calibration *calibration, uint64_t ticks,
                             double near_ns)
{
    const double tick_ns = calibration->host_ns_a_tick;
    return tick_ns * ticks_between(calibration->begin.ticks, ticks, calibration->valid_bits,
                                   near_ns / tick_ns);
}

const char *trk_calibration_fault(const struct trk_calibration *calibration)
{
    switch (calibration->state) {
    case TRK_CALIBRATION_BACKWARDS:
        return "stood still or ran backwards";
    case TRK_CALIBRATION_RATE:
        return "does not tick as fast as the driver says";
    default:
        return NULL;
    }
}
