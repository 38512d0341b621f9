/*
 * Where a flight ring puts chunks that it has no room for in memory and must not forget: a file
 * without a name, which ends with its last user.
 *
 * Put is the ring's thread's; all else any thread's.
 */
#ifndef RECORDER_FLIGHT_SPILL_H
#define RECORDER_FLIGHT_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trk_flight_spill;

/*
 * In the folder of that path; the file comes with the first put, and leaves left_bytes free where
 * it lies, for what is to be written beside it. NULL: no memory.
 */
struct trk_flight_spill *trk_flight_spill_create(const char *path, uint64_t most_bytes,
                                                 uint64_t left_bytes);
/* NULL is accepted. */
void trk_flight_spill_release(struct trk_flight_spill *spill);

/* Put bytes at *offset, which have a user of their own; false: there is no room. */
bool trk_flight_spill_put(struct trk_flight_spill *spill, const void *bytes, size_t size,
                          uint64_t *offset);
bool trk_flight_spill_get(const struct trk_flight_spill *spill, uint64_t offset, void *bytes,
                          size_t size);
/* Give them back, and with them their use of the file. */
void trk_flight_spill_take_back(struct trk_flight_spill *spill, uint64_t offset, size_t size);

#endif
