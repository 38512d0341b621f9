/*
 * Goal: stamps of a device lie where they should on the host's clock, whatever their bits and tick,
 * drift is told with what the pairs leave open of it, and clocks that cannot be are told as such.
 * Method: tables of pairs of a device whose clock is known.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "replayer/calibration.h"

#define BITS_36 ((UINT64_C(1) << 36) - 1)
#define SECOND  UINT64_C(1000000000)

struct pair_case {
    const char *name;
    double tick_ns;
    uint64_t bits;
    struct trk_clock_pair begin, end;
    enum trk_calibration_state state;
    double drift, drift_error;
};

static const struct pair_case pair_cases[] = {
    {"as fast as it says",
     1.0,
     UINT64_MAX,
     {7, 70, 500},
     {7 + SECOND, 70 + SECOND, 300},
     TRK_CALIBRATION_GOOD,
     0.0,
     800e-9},
    {"50 ppm fast",
     1.0,
     UINT64_MAX,
     {0, 0, 100},
     {SECOND + 50000, SECOND, 100},
     TRK_CALIBRATION_GOOD,
     50e-6,
     200e-9},
    {"ticks of 40 ns, 20 ppm slow",
     40.0,
     UINT64_MAX,
     {9, 5, 0},
     {9 + SECOND / 40 - 500, 5 + SECOND, 0},
     TRK_CALIBRATION_GOOD,
     -20e-6,
     0.0},
    {"its bits turn over",
     1.0,
     BITS_36,
     {BITS_36 - 9, 0, 0},
     {SECOND - 10, SECOND, 0},
     TRK_CALIBRATION_GOOD,
     0.0,
     0.0},
    {"all 64 bits turn over",
     1.0,
     UINT64_MAX,
     {UINT64_MAX - 9, 0, 0},
     {SECOND - 10, SECOND, 0},
     TRK_CALIBRATION_GOOD,
     0.0,
     0.0},
    {"they turn over three times",
     1.0,
     BITS_36,
     {5, 0, 0},
     {5, 3 * (BITS_36 + 1), 0},
     TRK_CALIBRATION_GOOD,
     0.0,
     0.0},
    {"backwards",
     1.0,
     UINT64_MAX,
     {SECOND, 0, 0},
     {SECOND - 1, SECOND, 0},
     TRK_CALIBRATION_BACKWARDS,
     0.0,
     0.0},
    {"backwards, few bits",
     1.0,
     BITS_36,
     {SECOND, 0, 0},
     {SECOND - 1, SECOND, 0},
     TRK_CALIBRATION_BACKWARDS,
     0.0,
     0.0},
    {"it stands",
     1.0,
     UINT64_MAX,
     {SECOND, 0, 0},
     {SECOND, SECOND, 0},
     TRK_CALIBRATION_BACKWARDS,
     0.0,
     0.0},
    {"the host's stands",
     1.0,
     UINT64_MAX,
     {0, SECOND, 0},
     {SECOND, SECOND, 0},
     TRK_CALIBRATION_BACKWARDS,
     0.0,
     0.0},
    {"the host's runs backwards",
     1.0,
     UINT64_MAX,
     {0, SECOND, 0},
     {SECOND, 0, 0},
     TRK_CALIBRATION_BACKWARDS,
     0.0,
     0.0},
    {"2 % fast",
     1.0,
     UINT64_MAX,
     {0, 0, 0},
     {SECOND + SECOND / 50, SECOND, 0},
     TRK_CALIBRATION_RATE,
     0.02,
     0.0},
    {"2 % slow",
     1.0,
     UINT64_MAX,
     {0, 0, 0},
     {SECOND - SECOND / 50, SECOND, 0},
     TRK_CALIBRATION_RATE,
     -0.02,
     0.0},
    {"2 % of a time that is too short to tell",
     1.0,
     UINT64_MAX,
     {0, 0, 0},
     {1020000, 1000000, 0},
     TRK_CALIBRATION_GOOD,
     0.02,
     0.0},
    {"2 % that the pairs leave open",
     1.0,
     UINT64_MAX,
     {0, 0, SECOND / 50},
     {SECOND + SECOND / 50, SECOND, 0},
     TRK_CALIBRATION_GOOD,
     0.02,
     0.02},
};

Test(calibration, pairs)
{
    for (size_t i = 0; i < sizeof pair_cases / sizeof *pair_cases; i++) {
        const struct pair_case *given = &pair_cases[i];
        struct trk_calibration calibration = {.begin = given->begin,
                                              .end = given->end,
                                              .tick_ns = given->tick_ns,
                                              .valid_bits = given->bits};
        trk_calibration_judge(&calibration);
        cr_expect_eq(calibration.state, given->state, "%s: %d", given->name, calibration.state);
        cr_expect(fabs(calibration.drift - given->drift) < 1e-12, "%s: %g", given->name,
                  calibration.drift);
        cr_expect(fabs(calibration.drift_error - given->drift_error) < 1e-12, "%s: %g", given->name,
                  calibration.drift_error);
        cr_expect_eq(trk_calibration_fault(&calibration) == NULL,
                     given->state == TRK_CALIBRATION_GOOD, "%s", given->name);
        const uint64_t wider = given->begin.deviation_ns > given->end.deviation_ns
                                   ? given->begin.deviation_ns
                                   : given->end.deviation_ns;
        cr_expect_eq(calibration.deviation_ns, wider, "%s", given->name);
    }
}

struct place_case {
    const char *name;
    double tick_ns;
    uint64_t bits, begin, end; /* ticks, a second apart */
    uint64_t ticks;
    double near_ns, place_ns;
};

static const struct place_case place_cases[] = {
    {"at the beginning", 1.0, UINT64_MAX, 100, 100 + SECOND, 100, 0, 0},
    {"in the middle", 1.0, UINT64_MAX, 100, 100 + SECOND, 100 + SECOND / 2, 0, 5e8},
    {"before it", 1.0, UINT64_MAX, 1000, 1000 + SECOND, 400, 0, -600},
    {"before it, and before ticks began", 1.0, UINT64_MAX, 10, 10 + SECOND, UINT64_MAX - 89, 0,
     -100},
    {"behind the end", 1.0, UINT64_MAX, 0, SECOND, 2 * SECOND, 0, 2e9},
    {"by the pairs, not by the tick", 1.0, UINT64_MAX, 0, SECOND + SECOND / 200,
     SECOND / 2 + SECOND / 400, 0, 5e8},
    {"ticks of 40 ns", 40.0, UINT64_MAX, 0, SECOND / 40, 1000, 0, 40000},
    {"bits that turned over", 1.0, BITS_36, BITS_36 - 99, SECOND - 100, 50, 0, 150},
    {"a turn later", 1.0, BITS_36, 0, SECOND, 50, 68.7e9, 50.0 + (double)(BITS_36 + 1)},
};

Test(calibration, places)
{
    for (size_t i = 0; i < sizeof place_cases / sizeof *place_cases; i++) {
        const struct place_case *given = &place_cases[i];
        struct trk_calibration calibration = {.begin = {given->begin, 77, 0},
                                              .end = {given->end, 77 + SECOND, 0},
                                              .tick_ns = given->tick_ns,
                                              .valid_bits = given->bits};
        trk_calibration_judge(&calibration);
        cr_expect_eq(calibration.state, TRK_CALIBRATION_GOOD, "%s", given->name);
        const double place = trk_calibration_place(&calibration, given->ticks, given->near_ns);
        cr_expect(fabs(place - given->place_ns) < 0.5, "%s: %f", given->name, place);
    }
}

/* Over many passes: the first beginning, the last end, the widest deviation of all. */
Test(calibration, passes)
{
    struct trk_calibration whole = {.state = TRK_CALIBRATION_NONE};
    const struct trk_calibration none = {.state = TRK_CALIBRATION_NONE};
    trk_calibration_extend(&whole, &none);
    cr_expect_eq(whole.state, TRK_CALIBRATION_NONE);
    for (uint64_t i = 0; i < 3; i++) {
        struct trk_calibration pass = {
            .begin = {i * SECOND, i * SECOND, i == 1 ? 900 : 100},
            .end = {(i + 1) * SECOND + i * 1000, (i + 1) * SECOND, 200},
            .tick_ns = 1.0,
            .valid_bits = UINT64_MAX,
        };
        trk_calibration_judge(&pass);
        trk_calibration_extend(&whole, &pass);
        trk_calibration_extend(&whole, &none);
    }
    cr_expect_eq(whole.state, TRK_CALIBRATION_GOOD);
    cr_expect_eq(whole.deviation_ns, 900);
    cr_expect(fabs(whole.drift - 2000e-9 / 3) < 1e-12, "%g", whole.drift);
    cr_expect(fabs(whole.drift_error - 100e-9) < 1e-12, "%g", whole.drift_error);
}
