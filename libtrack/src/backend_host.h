/*
 * What the backends share of the host: addresses, rights, and the calls that change them.
 *
 * Each call gives 0 or an errno value and leaves errno as it likes: the backends keep it. All of
 * them but the opening of descriptors may run in the fault handler.
 */
#ifndef TRACK_BACKEND_HOST_H
#define TRACK_BACKEND_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/backend.h"
#include "track/event.h"

/* Host memory, page-aligned. */
struct host_range {
    uintptr_t first;
    size_t size_bytes;
};

static inline struct host_range host_range(const struct trk_backend *backend, uint64_t guest_addr,
                                           uint64_t size_bytes)
{
    return (struct host_range){
        .first = (uintptr_t)(guest_addr + (uint64_t)backend->host_bias_bytes),
        .size_bytes = (size_t)size_bytes,
    };
}

/* mprotect(2) with TRK_RIGHT_* bits. */
int trk_host_mprotect(struct host_range range, unsigned rights);

/*
 * A userfaultfd with the wanted features, for faults of user mode only: any user may have that.
 * -1 and errno if there is none.
 */
int trk_host_uffd_open(uint64_t features);
int trk_host_uffd_register(int uffd, struct host_range range);
int trk_host_uffd_unregister(int uffd, struct host_range range);
/* Arm or un-protect; the range is registered. */
int trk_host_uffd_protect(int uffd, struct host_range range, bool armed);

/* Install or remove guard pages. Never over armed pages: Linux 6.18 does not return from that. */
int trk_host_guard(struct host_range range, bool install);

/* How many mappings a pattern of protections may take: what vm.max_map_count leaves, less a part.
 */
int64_t trk_host_mapping_budget(void);

/*
 * A reserve of mappings: pages of no use, of which every other one has other rights; a piece of it
 * is let go, or taken again, by changing one page's. False: the host refused. It lives as long as
 * the backend, which may have none.
 */
#define TRK_RESERVE_PIECES 64 /* of two mappings each */
#define TRK_LIMIT_NOT_MET  (INT64_MAX)
void trk_host_reserve_make(struct trk_mappings *mappings);
void trk_host_reserve_end(struct trk_mappings *mappings);
bool trk_host_reserve_set(const struct trk_mappings *mappings, uint32_t piece, bool held);

/* Whether all of the range is mapped, shared; false where the kernel cannot say. */
bool trk_host_is_shared(struct host_range range);

#endif
