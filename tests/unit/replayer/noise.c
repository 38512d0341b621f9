#include "noise.h"

#include <math.h>
#include <stdbool.h>

#include "simulator/chance.h"

/* 0 to below 1. */
static double noise_uniform(struct noise *noise)
{
    return (double)(trk_chance_next(&noise->chance) >> 11) * 0x1p-53;
}

static double gauss(struct noise *noise)
{
    double sum = -6.0; /* of twelve: near enough */
    for (unsigned i = 0; i < 12; i++) {
        sum += noise_uniform(noise);
    }
    return sum;
}

static double burst(struct noise *noise)
{
    if (noise->burst_passes > 0) {
        noise->burst_passes--;
        return 0.4 * noise_uniform(noise);
    }
    if (noise_uniform(noise) < 0.04) {
        noise->burst_passes = (unsigned)(20.0 * noise_uniform(noise));
    }
    return 0.0;
}

double noise_next(struct noise *noise)
{
    const bool waves = noise->kind == NOISE_WAVES || noise->kind == NOISE_WAVES_BURSTS;
    const bool bursts = noise->kind == NOISE_BURSTS || noise->kind == NOISE_WAVES_BURSTS;
    double time = 1.0 + noise->drifted;
    noise->drifted += noise->drift;
    if (noise->kind != NOISE_NONE) {
        double alone = gauss(noise) * noise->deviation;
        if (waves) {
            noise->wave = 0.95 * noise->wave + 0.5 * alone;
            alone *= 0.3;
        }
        time += alone + noise->wave;
    }
    time += bursts ? burst(noise) : 0.0;
    return fmax(time, 0.1);
}
