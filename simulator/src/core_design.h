/*
 * Notes of what a case asks of a tracker's design, while it runs on libtrack's own core for that.
 */
#ifndef SIMULATOR_CORE_DESIGN_H
#define SIMULATOR_CORE_DESIGN_H

#include <stdbool.h>

enum core_design {
    CORE_DESIGN_LOADS = 1,  /* a load, or the kernel's, meets a page that is closed to it */
    CORE_DESIGN_LOCKS = 2,  /* threads wait for each other's locks for ever */
    CORE_DESIGN_COUNTS = 4, /* the tracker's own watch goes into a client's count */
};

/* Whether anybody wants to know. */
bool core_design_asked(void);
void core_design_needs(enum core_design need);

#endif
