/* Which build a program is: the id that its linker gave it. */
#ifndef RECORDER_CAPTURE_BUILD_H
#define RECORDER_CAPTURE_BUILD_H

#include <stddef.h>
#include <stdint.h>

#define TRK_BUILD_ID_BYTES 32u
#define TRK_OWN_PROGRAM    "/proc/self/exe"

/* How many bytes the id has; 0: there is none, or the file cannot be read. */
size_t trk_capture_build(const char *path, uint8_t out[TRK_BUILD_ID_BYTES]);

#endif
