/* Times of passes that nobody ran: a machine's noise, of several kinds, from a seed. */
#ifndef NOISE_H
#define NOISE_H

#include <stdint.h>

enum noise_kind {
    NOISE_NONE = 0,
    NOISE_GAUSS,  /* each pass by itself */
    NOISE_WAVES,  /* what disturbs a pass disturbs the next ones too */
    NOISE_BURSTS, /* and now and then something takes up to 40 % for up to 20 passes */
    NOISE_WAVES_BURSTS,
    NOISE_KINDS,
};

struct noise {
    enum noise_kind kind;
    double deviation; /* as a share of the time */
    double drift;     /* from each pass to the next, likewise */
    uint64_t chance;
    double wave, drifted;
    unsigned burst_passes;
};

/* What the next pass takes in place of 1. Above 0. */
double noise_next(struct noise *noise);

#endif
