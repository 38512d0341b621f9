/*
 * The report of a fault that is nobody's, and what it knows of threads and modules.
 *
 * When neither the emulator nor the owner takes a fault, the fault handler writes one block of
 * text: the thread, the registers, the code around pc, the stack, a walk along frame pointers, and
 * a last line with what happened. Each part is there only if all of it can be read. Then the
 * trigger runs, then the previous disposition takes its course. A signal that a process sent is not
 * reported.
 *
 * Nothing here decides whether the process lives: a former handler still may let it go on.
 *
 * Rules: [M-60] [M-61]. Behaviour: tracker-spec 7.
 */
#ifndef TRACK_CRASH_H
#define TRACK_CRASH_H

#include <stdint.h>

#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

/* Longer names are cut; the ends count. */
#define TRK_CRASH_NAME_BYTES 64u
/* Segments of all modules together, the host's own among them. */
#define TRK_CRASH_SEGMENTS_MAX 1024u

/**
 * Name the calling thread as one of the guest's; NULL: it has no name. Until then, and after
 * trk_crash_thread_host, it counts as the host's.
 *
 * Allocates: no. Blocks: no. Signal-safe: yes. Threads: each for itself.
 */
void trk_crash_thread_guest(const char *name);
void trk_crash_thread_host(void);

/**
 * Tell of a segment of a guest module: return addresses in it are taken for such.
 *
 * @param name        Not NULL; copied.
 * @param base_addr   Offsets in the report count from here; also the module's name to remove it.
 * @param first_addr  Host address of the segment.
 * @param size_bytes  At least 1, without wrapping.
 * @return TRK_OK, TRK_E_ARGUMENT, TRK_E_MEMORY (the table is full).
 *
 * Allocates: no. Blocks: on others that change the table. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_crash_module_add(const char *name, uint64_t base_addr,
                                                  uint64_t first_addr, uint64_t size_bytes);
void trk_crash_module_remove(uint64_t base_addr);

/**
 * Take the host's own modules as they are loaded now in the place of those noted before. Installing
 * the fault handler does this once; call it again after loading or unloading libraries.
 *
 * Allocates: no. Blocks: on the dynamic linker's lock. Signal-safe: no. Threads: any.
 */
void trk_crash_modules_refresh(void);

/* Which faults are reported. */
enum trk_crash_reports {
    TRK_CRASH_REPORT_ALL = 0, /* each that is nobody's; the default */
    TRK_CRASH_REPORT_FATAL,   /* only where the previous disposition is the default */
    TRK_CRASH_REPORT_NONE,
};

/* Also where the report goes: a file descriptor, 2 at first. Signal-safe: yes. Threads: any. */
void trk_crash_reports_set(enum trk_crash_reports which, int fd);

/* What happened; it is the last line of the report. */
struct trk_crash {
    int signal_number;
    int code; /* si_code */
    uint32_t thread_id;
    uint32_t access; /* enum trk_access, or TRK_CRASH_NO_ACCESS */
    uint64_t pc;
    uint64_t host_addr; /* si_addr */
};
#define TRK_CRASH_NO_ACCESS UINT32_MAX

/* Runs on the crashing thread, in the handler: signal-safe calls only. */
typedef void trk_crash_fn(void *context, const struct trk_crash *crash);

/**
 * Have a function called for every fault that is nobody's, reported or not, before the previous
 * disposition: a recorder keeps its last events then. NULL takes it away. A fault inside it is not
 * told to it again.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: any, one at a time.
 */
void trk_crash_trigger_set(trk_crash_fn *trigger, void *context);

TRK_EXTERN_C_END

#endif
