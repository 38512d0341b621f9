/*
 * The machine that something was measured on, as far as it says: what a figure cannot do without.
 */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <stdint.h>

#include <cjson/cJSON.h>

struct trk_machine {
    char kernel[160];    /* name and release; "" where it is not known, and so below */
    char processor[128]; /* model */
    char governor[32];   /* of processor 0's clock */
    uint32_t processors; /* that are there */
};

void trk_machine_read(struct trk_machine *out);

/* What processor 0's clock runs at, in MHz; 0: not known. */
uint32_t trk_machine_processor_mhz(void);

/* Add "machine" to an object. */
void trk_machine_json(cJSON *object, const struct trk_machine *machine);

#endif
