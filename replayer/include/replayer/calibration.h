/*
 * The device's clock and the host's, read together when a pass begins and when it ends.
 *
 * pair     what both said at one moment, as the driver reads them: no further apart than the
 *          deviation that it tells with them.
 * place    where a time stamp of the device lies on the host's clock: on the line through the
 * pairs. drift    what the device's clock gains on the host's, if a tick is as long as the driver
 * says.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: any.
 */
#ifndef REPLAYER_CALIBRATION_H
#define REPLAYER_CALIBRATION_H

#include <stdint.h>

#include "track/macros.h"

TRK_EXTERN_C_BEGIN

/* What a driver's pair may be wrong by beside the deviation that it tells. */
#define TRK_CALIBRATION_SLACK_NS UINT64_C(50000)
/* Clocks that drift by more, and more than the pairs leave open, are wrong: a share. */
#define TRK_CALIBRATION_DRIFT_MOST 0.01

enum trk_calibration_state {
    TRK_CALIBRATION_NONE = 0,      /* the two are not read together */
    TRK_CALIBRATION_GOOD = 1,      /* stamps have places */
    TRK_CALIBRATION_BACKWARDS = 2, /* a clock stood still or went backwards between the pairs */
    TRK_CALIBRATION_RATE = 3,      /* a tick is not as long as the driver says */
};

struct trk_clock_pair {
    uint64_t ticks;        /* of the device */
    uint64_t host_ns;      /* of the host */
    uint64_t deviation_ns; /* at most, between the two moments */
};

struct trk_calibration {
    struct trk_clock_pair begin, end;
    double tick_ns;      /* as the driver says */
    uint64_t valid_bits; /* mask of a time stamp */
    enum trk_calibration_state state;
    uint64_t deviation_ns; /* the greater one of all pairs so far */
    double drift;          /* a share; above 0: the device's clock gains */
    double drift_error;    /* what the deviations leave open of it, either way */
    double host_ns_a_tick; /* by the pairs */
};

/* From the pairs, the tick and the bits: all else. */
void trk_calibration_judge(struct trk_calibration *calibration);

/* One from the beginning of *whole to the end of a later one. *whole: zeros, or one before. */
void trk_calibration_extend(struct trk_calibration *whole, const struct trk_calibration *later);

/*
 * Of a good one: the place of a stamp, in ns of the host's clock since `begin`; negative: before.
 * near_ns: where on that clock it is about, which tells stamps of few bits from those a turn later.
 */
double trk_calibration_place(const struct trk_calibration *calibration, uint64_t ticks,
                             double near_ns);

/* "ran backwards", ...; NULL where nothing is wrong. */
const char *trk_calibration_fault(const struct trk_calibration *calibration);

TRK_EXTERN_C_END

#endif
