/*
 * The pages of foreign trackers, as far as their operations were about them.
 */
#ifndef SIMULATOR_FOREIGN_PAGES_H
#define SIMULATOR_FOREIGN_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

#define FOREIGN_PAGES_MAX (1u << 20) /* 80 bytes each */

/* The states that a page may be in, a bit each. */
#define FOREIGN_CPU   1u
#define FOREIGN_CLEAN 2u
#define FOREIGN_GPU   4u
#define FOREIGN_ANY   7u

struct foreign_page {
    uint64_t key;     /* 0: free */
    uint64_t touched; /* 1 + the newest event that ended an operation on it */
    uint64_t taken;   /* 1 + the newest event that ended an upload of it, or a mark_gpu */
    uint64_t handed;  /* 1 + the newest event that handed it over */
    uint64_t event;   /* that left it in its states; TRK_NOT_KNOWN: none has */
    uint64_t protect; /* the newest protection call; TRK_NOT_KNOWN: none */
    uint32_t touched_stream, stream, protect_stream;
    uint8_t states;
    uint8_t rights; /* of the host, where rights_known */
    uint8_t op;     /* that left it so */
    bool rights_known;
    bool registered; /* with the core beside the tracker */
    bool unsettled;  /* the core beside the tracker may have it in another state */
};

/* Zero-initialised is empty. */
struct foreign_pages {
    struct foreign_page *slots; /* open addressing, a power of two */
    size_t slot_count, count;
};

void foreign_pages_deinit(struct foreign_pages *pages);

/* NULL: nobody has met it. */
struct foreign_page *foreign_pages_find(const struct foreign_pages *pages, uint32_t tracker,
                                        uint64_t number);
/* Find or make, in the states of `fresh`. *out is NULL with TRK_OK where there are too many. */
TRK_MUST_USE enum trk_status foreign_pages_touch(struct foreign_pages *pages, uint32_t tracker,
                                                 uint64_t number, uint8_t fresh,
                                                 struct foreign_page **out);
/* Forget a tracker's. */
void foreign_pages_forget(struct foreign_pages *pages, uint32_t tracker);

#endif
