/*
 * What the recorded program had mapped when it was looked at: its modules, so that a pc can be
 * named, and the guest's memory with the rights that it had.
 */
#ifndef RECORDER_RECORD_MAPPINGS_H
#define RECORDER_RECORD_MAPPINGS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Look at a process: *mappings is what the header says of it, the caller's to cJSON_Delete(). What
 * was there stays where the process cannot be looked at, or has ended; NULL: nothing was. The
 * addresses of guest memory in the host are the guest's; a backend with a bias (`about`) has them
 * there. False: the process has no session any more, as behind an exec, or never had one; then what
 * was there stays, and nothing else of it is the program's.
 */
bool trk_record_mappings_look(cJSON **mappings, pid_t pid);

#endif
