#include "memory_left.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define KIBIBYTE 1024u
#define MEBIBYTE (1024u * KIBIBYTE)

/* What the machine can give without others losing theirs. */
static uint64_t memory_of_machine(void)
{
    char line[128];
    uint64_t left = UINT64_MAX, kibibytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kibibytes) == 1) {
            left = kibibytes * KIBIBYTE;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return left;
}

/* What a limit of the process's addresses leaves. */
static uint64_t memory_of_limit(void)
{
    struct rlimit limit;
    uint64_t pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        pages = fscanf(file, "%" SCNu64, &pages) == 1 ? pages : 0;
        fclose(file);
    }
    const uint64_t taken = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > taken ? limit.rlim_cur - taken : 0;
}

enum trk_status memory_left_for(uint64_t bytes, const char *what, struct trk_error *error)
{
    const uint64_t machine = memory_of_machine(), limit = memory_of_limit();
    const uint64_t left = machine < limit ? machine : limit;
    if (bytes <= left) {
        return TRK_OK;
    }
    return trk_error_set(error, TRK_E_MEMORY,
                         "%s takes %" PRIu64 " MiB of memory, and %" PRIu64 " are left", what,
                         bytes / MEBIBYTE, left / MEBIBYTE);
}
