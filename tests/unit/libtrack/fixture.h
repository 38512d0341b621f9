/*
 * A tracker under test: a host that remembers, an observer that checks, a handler that counts.
 *
 * The host is the simulated backend with a memory: which page has which rights, and which calls
 * were made. `fixture_check` compares every page of the test's regions with what the page states,
 * watch counts and guest rights ask for.
 */
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "stream.h"
#include "track/pages.h"
#include "track/tracker.h"

#define FIXTURE_BASE UINT64_C(0x200000000) /* a region's first address */
#ifndef FIXTURE_REGIONS
#define FIXTURE_REGIONS 3u
#endif
#define FIXTURE_PAGES     (FIXTURE_REGIONS * TRK_REGION_PAGES)
#define FIXTURE_CALLS_MAX 256u

struct fixture_call {
    uint32_t first, pages; /* from FIXTURE_BASE */
    unsigned rights;
};

struct fixture {
    struct trk_backend backend; /* first */
    struct trk_backend *simulated;
    struct trk_tracker *tracker;
    bool observed; /* not with TRK_TEST_UNOBSERVED in the environment: the core's short ways */
    struct stream stream;
    struct trk_event last_end; /* the last OP_END */
    uint32_t failures;
    struct trk_failure failure;                   /* the last one */
    uint8_t host[FIXTURE_PAGES];                  /* rights that the host has */
    struct fixture_call calls[FIXTURE_CALLS_MAX]; /* accepted ones */
    uint32_t call_count, refused;
    bool real;        /* there is a real host below: real_host.h */
    char broken[200]; /* the first thing found wrong, or empty */
};

void fixture_open(struct fixture *fixture, const struct trk_policy *policy, uint32_t id);
/* The same, with nobody listening: the stream stays empty. */
void fixture_open_unobserved(struct fixture *fixture, const struct trk_policy *policy, uint32_t id);
/* Also checks that the stream is closed. Destroys whatever watches are left. */
void fixture_close(struct fixture *fixture);

/* The rights that pages [first, end) have, if all have the same; else 255. */
static inline uint8_t fixture_host_of(const uint8_t *host, uint32_t first, uint32_t end)
{
    for (uint32_t page = first + 1; page < end; page++) {
        if (host[page] != host[first])
            return UINT8_MAX;
    }
    return host[first];
}

/* Compare all pages; fills `broken`. watches_explained: no watches but the tracker's own. */
void fixture_check(struct fixture *fixture, bool watches_explained);

#endif
