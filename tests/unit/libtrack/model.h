/*
 * A second tracker, plain and slow: what the specification says, page by page.
 *
 * It has no locks, no bit sets and no shared code with the core. Ranges, callbacks and results go
 * to a log of numbers, host calls to a list; the random test compares both with the core's.
 * It is written from tracker-spec 2, 3, 4, 6 and 7.
 */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fixture.h"

#define MODEL_PAGE       4096u
#define MODEL_LOG_MAX    8192u
#define MODEL_BYTES      ((uint64_t)FIXTURE_PAGES * MODEL_PAGE)
#define MODEL_LOG_RANGE  1000u /* then first page, pages */
#define MODEL_LOG_DONE   1001u /* a completion callback */
#define MODEL_LOG_FLUSH  1002u /* a flush or read-back; then first page, pages */
#define MODEL_LOG_STATUS 1003u /* then the status */
#define MODEL_LOG_RESULT 1004u /* then the result */

struct model_log {
    uint64_t values[MODEL_LOG_MAX];
    size_t count;
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
    uint8_t *registered; /* one a byte */
    uint32_t fail_in;    /* the nth next host call is refused; 0: none */
    bool refused;
    struct fixture_call calls[FIXTURE_CALLS_MAX];
    uint32_t call_count;
    struct model_log log;
    void (*flush)(void *context, uint64_t first_byte, uint64_t size_bytes);
    void *flush_context;
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
    MODEL_VERB_COUNT,
};

struct model_step {
    enum model_verb verb;
    uint64_t first, size; /* bytes */
    unsigned rights;      /* guest */
    bool read;            /* masks: read watches */
    uint64_t mask[TRK_REGION_WORDS];
    enum trk_access access;
};

void model_init(struct model *model, const struct trk_policy *policy);
void model_step(struct model *model, const struct model_step *step);
void model_log_add(struct model_log *log, uint64_t value);

/* What the core's view of a page must be. */
struct trk_page_view model_view(const struct model *model, uint32_t page);

#endif
