/*
 * A second tracker, plain and slow: what the rules of docs/model.md say, page by page.
 *
 * It has no locks, no bit sets and no shared code with the core. Ranges, callbacks and results go
 * to a log of numbers, host calls to a list; the random test compares both with the core's.
 */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fixture.h"

#define MODEL_PAGE         4096u
#define MODEL_GUEST_PAGE   16384u
#define MODEL_GUEST_PAGES  (FIXTURE_PAGES * MODEL_PAGE / MODEL_GUEST_PAGE)
#define MODEL_LOG_MAX      8192u
#define MODEL_MAPPINGS_MAX 512u
#define MODEL_BYTES        ((uint64_t)FIXTURE_PAGES * MODEL_PAGE)
#define MODEL_LOG_RANGE    1000u /* then first page, pages, rights that the host has there */
#define MODEL_LOG_DONE     1001u /* a completion callback */
#define MODEL_LOG_FLUSH    1002u /* a flush or read-back; then first page, pages */
#define MODEL_LOG_STATUS   1003u /* then the status, failures so far, class of the last */
#define MODEL_LOG_RESULT   1004u /* then the result */
#define MODEL_LOG_WRITE    1005u /* the emulator's write; then first byte, bytes */
#define MODEL_LOG_SUM      1006u /* then a sum over generations */

struct model_log {
    uint64_t values[MODEL_LOG_MAX];
    size_t count;
};

/* Pages of one frame, ascending, each page's own list with itself in it; count 0: no others. */
struct model_views {
    uint32_t count;
    uint16_t page[TRK_VIEWS_MAX];
};

/* A mapping that generations were told of. */
struct model_mapping {
    uint64_t first, size, physical;
    unsigned rights;
};

struct model_hooks {
    void *context;
    void (*flush)(void *context, uint64_t first_byte, uint64_t size_bytes);
    void (*callback)(void *context); /* inside a range callback or a completion */
};

struct model {
    struct trk_policy policy;
    bool cpu[FIXTURE_PAGES], gpu[FIXTURE_PAGES];
    bool stayed[FIXTURE_PAGES]; /* GPU since the first look of the invalidate in flight */
    uint8_t foreign_writes[FIXTURE_PAGES];
    bool foreign_read[FIXTURE_PAGES];
    uint8_t guest[FIXTURE_PAGES];
    uint8_t host[FIXTURE_PAGES];
    bool live[FIXTURE_REGIONS];
    bool held[FIXTURE_REGIONS]; /* by the thread that acts */
    uint32_t uploading;         /* upload callbacks that it is in */
    bool silent;                /* the operation calls nobody back */
    uint8_t *registered;        /* one a byte */
    bool seen[FIXTURE_PAGES];   /* a byte of the page is registered */
    bool whole[FIXTURE_PAGES];  /* every byte is */
    struct model_views views[FIXTURE_PAGES];
    bool others_watch[FIXTURE_PAGES], others_read[FIXTURE_PAGES]; /* what other views ask for */
    bool armed[FIXTURE_PAGES];
    uint64_t generation[MODEL_GUEST_PAGES]; /* 0: not registered */
    uint64_t newest;
    struct model_mapping mappings[MODEL_MAPPINGS_MAX];
    uint32_t mapping_count;
    uint32_t fail_in; /* the nth next host call is refused; 0: none */
    bool refused;
    uint32_t changes[FIXTURE_REGIONS]; /* of what page managers hold, refused ones too */
    uint32_t failures, refusals;       /* refusals: those of class protect */
    enum trk_status last_failure;
    struct fixture_call calls[FIXTURE_CALLS_MAX];
    uint32_t call_count;
    struct model_log log;
    struct model_hooks hooks;
};

/* Places are bytes from FIXTURE_BASE. Each logs what it reports and gives its status. */
enum model_verb {
    MODEL_IS_CPU,
    MODEL_IS_GPU,
    MODEL_MARK_CPU,
    MODEL_MARK_GPU,
    MODEL_UNMARK_GPU,
    MODEL_UNTRACK,
    MODEL_UPLOAD,
    MODEL_UPLOAD_WRITTEN,
    MODEL_DOWNLOAD,
    MODEL_DOWNLOAD_CLEAR,
    MODEL_DRAIN,
    MODEL_INVALIDATE,
    MODEL_REGISTER,
    MODEL_UNREGISTER,
    MODEL_GUEST,
    MODEL_WATCH,
    MODEL_UNWATCH,
    MODEL_WATCH_MASK,
    MODEL_UNWATCH_MASK,
    MODEL_FAULT,
    MODEL_LOCK,
    MODEL_UNLOCK,
    MODEL_JOIN,
    MODEL_LEAVE,
    MODEL_TRACK,
    MODEL_QUERY,
    MODEL_NOTIFY,
    MODEL_MAP,
    MODEL_HLE_WRITE,
    MODEL_VERB_COUNT,
};

struct model_step {
    enum model_verb verb;
    uint64_t first, size; /* bytes */
    unsigned bad;         /* not 0: a range that is none (model_bad_range), not the above */
    uint64_t other;       /* join: first byte of the other range; map: physical offset */
    unsigned rights;      /* guest, map */
    bool read;            /* masks: read watches */
    bool silent;          /* the owner wants no callbacks */
    uint64_t mask[TRK_REGION_WORDS];
    enum trk_access access;
    uint32_t repeats; /* faults, watches by range: so often in a row; 0 is once */
};

#define MODEL_BAD_RANGES 11u

/* Ranges that no band holds, 1 to MODEL_BAD_RANGES; the arena's are good when the policy has it. */
void model_bad_range(unsigned bad, uint64_t *guest_addr, uint64_t *size_bytes);

void model_init(struct model *model, const struct trk_policy *policy);
void model_step(struct model *model, const struct model_step *step);
void model_log_add(struct model_log *log, uint64_t value);

/* What the core's view of a page must be. */
struct trk_page_view model_view(const struct model *model, uint32_t page);

#endif
