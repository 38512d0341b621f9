/* The device that the tests use: number 0, or none. */
#ifndef DEVICE_H
#define DEVICE_H

#include "replayer/vk.h"

/* Skip the running test, saying its name and why. */
void device_skip(const struct trk_error *error);

/* Open device 0, or skip the running test by name. */
struct trk_vk *device_or_skip(void);

#endif
