/*
 * What a trace did to each page, for trk report: faults, copies, whose it was, and its host rights.
 *
 * Glossary
 *   turn      a page goes from the CPU's side to the GPU's, or back: by a fault, a copy, a GPU
 * write mappings  runs of neighbouring pages with the same host rights, as protection calls leave
 * them
 */
#ifndef CLI_REPORT_PAGES_H
#define CLI_REPORT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/event.h"
#include "track/status.h"

/* The most pages that are followed: 16 GiB. */
#define TRK_REPORT_PAGES_MOST (UINT32_C(1) << 22)

struct trk_report_page {
    uint64_t key; /* number + 1; 0: free */
    uint32_t faults, up, down, turns;
    uint8_t side;   /* 0: none yet, 1: the CPU, 2: the GPU */
    uint8_t rights; /* TRK_RIGHT_*, 0x80 where a call has set them */
};

/* Zero-initialised is empty. */
struct trk_report_pages {
    struct trk_report_page *slots;
    size_t slot_count, count;
    uint64_t borders; /* between neighbours of other rights */
    bool silent;      /* sides and rights are noted, and nothing is counted */
};

/* TRK_OK; TRK_E_MEMORY; TRK_E_UNSUPPORTED: more pages than are followed. */
TRK_MUST_USE enum trk_status trk_report_pages_note(struct trk_report_pages *pages,
                                                   const struct trk_event *event,
                                                   struct trk_error *error);
/* Put those that are there first, ascending; nothing can be noted afterwards. */
void trk_report_pages_sort(struct trk_report_pages *pages);
void trk_report_pages_deinit(struct trk_report_pages *pages);

#endif
