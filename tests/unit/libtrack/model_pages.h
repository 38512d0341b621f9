/* Inside the plain second tracker: pages and their changes, which its operations are made of. */
#ifndef TESTS_MODEL_PAGES_H
#define TESTS_MODEL_PAGES_H

#include "model.h"

/* Pages [first, end). */
struct pages {
    uint32_t first, end;
};

enum change {
    CLEAN_TO_CPU,
    CPU_TO_CLEAN,
    CLEAN_TO_GPU,
    GPU_TO_CLEAN,
    GPU_TO_CPU,
    WATCH_MORE,
    WATCH_LESS,
    READ_MORE,
    READ_LESS,
    RIGHTS,
};

struct wanted {
    enum change change;
    const bool *only; /* pages of the model that are meant; NULL: all in the window */
    unsigned rights;
};

#define FOR_REGIONS(region, pages)                                                                 \
    for (uint32_t region = (pages).first / TRK_REGION_PAGES;                                       \
         region <= ((pages).end - 1) / TRK_REGION_PAGES; region++)

#define FOR_PAGES(page, pages) for (uint32_t page = (pages).first; page < (pages).end; page++)

struct pages pages_rounded(uint64_t first, uint64_t size, uint64_t unit);
struct pages pages_in_region(struct pages pages, uint32_t region);
bool pages_any(const bool *set, struct pages pages);

/* Host protection that a page's guest rights, state and watches ask for. */
unsigned model_effective(const struct model *model, uint32_t page);
/* Whether a change would keep the page's counts in their bounds. */
bool model_in_bounds(const struct model *model, enum change change, uint32_t page);
/* Change the pages of one region, all or none. */
enum trk_status model_change(struct model *model, struct pages pages, const struct wanted *wanted);
/* The same in all regions of a range, ascending; those before a failure stay done. */
enum trk_status model_change_all(struct model *model, struct pages pages,
                                 const struct wanted *wanted, bool live_only);

#endif
