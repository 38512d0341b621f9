/*
 * What the recorded program had mapped when the header was made: its modules, so that a pc can be
 * named, and the guest's memory with the rights that it had.
 */
#ifndef RECORDER_RECORD_MAPPINGS_H
#define RECORDER_RECORD_MAPPINGS_H

#include <cjson/cJSON.h>
#include <sys/types.h>

/*
 * Add "mappings" to the header. Without it where the process cannot be looked at. The addresses of
 * guest memory in the host are the guest's; a backend with a bias (`about`) has them there.
 */
void trk_record_mappings_add(cJSON *root, pid_t pid);

#endif
