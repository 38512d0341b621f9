/*
 * Ticks of a trace's time stamps as microseconds.
 */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct trk_clock {
    double ticks_a_microsecond; /* 0: the header does not say */
};

/* Now, from some moment on that stays. */
uint64_t trk_clock_ns(void);
/* So many seconds from now, by the same clock. */
uint64_t trk_clock_ns_in(uint64_t seconds);

/* Take the frequency from a trace's header ("tsc_hz"). */
struct trk_clock trk_clock_from_header(const char *header_json);

/* Print the time from `from` to `ticks`, which may be negative: microseconds with three decimals,
 * or plain ticks when the frequency is not known. */
void trk_clock_print(const struct trk_clock *clock, uint64_t ticks, uint64_t from, char *out,
                     size_t size);

#endif
