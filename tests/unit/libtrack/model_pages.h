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
    ARM,
    DISARM,
    SEE,
    UNSEE,
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

/* Host protection that a page's guest rights, state, watches and views ask for. */
unsigned model_effective(const struct model *model, uint32_t page);
/* Whether a change would keep the page's counts in their bounds. */
bool model_in_bounds(const struct model *model, enum change change, uint32_t page);
/* Bring the host of some pages of one region in line; false when a call is refused. */
bool model_host_follow(struct model *model, struct pages pages);
/* Change the pages of one region, all or none. */
enum trk_status model_change(struct model *model, struct pages pages, const struct wanted *wanted);
/* The same in all regions of a range, ascending; those before a failure stay done. */
enum trk_status model_change_all(struct model *model, struct pages pages,
                                 const struct wanted *wanted, bool live_only);
void model_make_live(struct model *model, struct pages pages);

/* ---- model_views.c ---- */

/* Pages outside those that a change is about, ascending, each once. */
struct others {
    uint32_t count;
    uint16_t page[FIXTURE_PAGES];
};

/* The other views of the marked pages. */
void model_others(const struct model *model, struct pages pages, const bool *marked,
                  struct others *out);
/* Work out what other views ask for of a page. */
void model_views_update(struct model *model, uint32_t page);
/* Tell the host of the others, a region at a time; false when a call is refused. */
bool model_others_follow(struct model *model, const struct others *others);
/* After a refusal all is put back: what others ask for follows, and the host with it. */
void model_views_back(struct model *model, struct pages pages, const struct others *others);
enum trk_status model_join(struct model *model, const struct model_step *step);
enum trk_status model_leave(struct model *model, const struct model_step *step);

/* ---- model_faults.c ---- */

/* The checks that every operation starts with. */
enum trk_status model_check(const struct model *model, uint64_t first, uint64_t size,
                            uint32_t unit);
/* Say that a failure was reported; gives it back. */
enum trk_status model_fail(struct model *model, enum trk_status failure_class);
bool model_registered(const struct model *model, uint64_t first, uint64_t size);
enum trk_status model_invalidate(struct model *model, struct pages pages);
void model_fault(struct model *model, const struct model_step *step);
enum trk_status model_hle_write(struct model *model, const struct model_step *step);

/* ---- model_generations.c ---- */

enum trk_status model_generations_step(struct model *model, const struct model_step *step);
/* New rights of the guest: generations are forgotten. */
enum trk_status model_guest(struct model *model, struct pages pages, unsigned rights);
/* Release and move on the registered guest pages of a range of pages. */
enum trk_status model_advance(struct model *model, struct pages pages);

#endif
