/* The parts of the crash report. Internal to libtrack; all but preparing runs in the handler. */
#ifndef TRACK_CRASH_PARTS_H
#define TRACK_CRASH_PARTS_H

#include <stdbool.h>

#include "crash_text.h"
#include "fault_parts.h"
#include "track/crash.h"

/* The segment of a module that an address lies in. */
struct crash_place {
    char module[TRK_CRASH_NAME_BYTES];
    uint64_t offset_bytes; /* from the module's base */
};
bool trk_crash_module_find(uint64_t host_addr, struct crash_place *out);

/* The guest stack walk [M-61]: a line a frame. */
void trk_crash_walk(struct crash_text *text, uint64_t stack_addr, uint64_t frame_addr);

/* Report and trigger; `fatal`: the previous disposition is the default. Keeps errno. */
void trk_crash_tell(const struct fault *fault, bool fatal);

#endif
