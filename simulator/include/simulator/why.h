/*
 * Who has the current bytes of an address at one moment of a trace.
 *
 * Nothing is run again: stores, copies, GPU work and what the tracker's operations say of its pages
 * are followed up to the event, for all pages, and the address's byte is looked at there.
 */
#ifndef SIMULATOR_WHY_H
#define SIMULATOR_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/trace.h"

TRK_EXTERN_C_BEGIN

#define TRK_WHY_TEXT_BYTES 288
#define TRK_WHY_STORES     4u

/* What one side's copy of the byte is. */
enum trk_why_copy {
    TRK_WHY_UNKNOWN = 0, /* no store to it is known */
    TRK_WHY_CURRENT,
    TRK_WHY_OLDER,
    TRK_WHY_UNCLEAR, /* a copy was under way beside the store, or has brought bytes unknown */
};

struct trk_why_store {
    uint64_t event;
    uint32_t stamp; /* 0: not known */
    char thread[32];
    char by[40]; /* "by a guest's access" */
};

/* A fault on the byte's page. */
struct trk_why_fault {
    uint64_t event; /* TRK_NOT_KNOWN: there was none */
    uint64_t guest_addr;
    uint64_t pc; /* of the access; 0: not known */
    enum trk_access access;
    char thread[32];
};

struct trk_why_report {
    uint64_t event;      /* the last that was looked at; TRK_NOT_KNOWN: the trace has none */
    bool complete;       /* no event before it is missing */
    bool all_threads;    /* as trk_why_all_threads */
    uint64_t guest_addr; /* the byte */
    uint64_t first_addr, size_bytes; /* bytes beside it with the same past, in its page */
    bool untracked;                  /* the view of the address is one that nobody watches */
    uint64_t unregistered; /* the event since which no tracker has the byte registered that had;
                              TRK_NOT_KNOWN: one has, or none had */
    struct trk_why_fault fault; /* the newest */
    const char *state_word;     /* "cpu", "clean", "gpu"; "none": no operation has met it; NULL: not
                                   known */
    enum trk_why_copy guest, gpu;
    uint32_t store_count;
    struct trk_why_store stores[TRK_WHY_STORES]; /* newest first */
    /* A sentence each. */
    char state[TRK_WHY_TEXT_BYTES];      /* of the page, and what made it */
    char under_way[TRK_WHY_TEXT_BYTES];  /* an operation on it that is not over; "" none */
    char writer[TRK_WHY_TEXT_BYTES];     /* who wrote the byte last */
    char guest_text[TRK_WHY_TEXT_BYTES]; /* what guest memory has, and since when */
    char gpu_text[TRK_WHY_TEXT_BYTES];   /* what the GPU's copy has */
    char for_gpu[TRK_WHY_TEXT_BYTES];    /* what must happen before the GPU sees it */
    char for_cpu[TRK_WHY_TEXT_BYTES];    /* before the CPU does */
};

/* "current", "older", "unclear", "unknown". */
const char *trk_why_copy_name(enum trk_why_copy copy);

/**
 * Whether a file tells of all threads that there were. One without an end may lack a thread of
 * which nothing had been written, that may have done anything at any time.
 *
 * Allocates: no. Blocks: no. Signal-safe: no. Threads: any.
 */
bool trk_why_all_threads(const struct trk_trace *trace);

/**
 * Look at a byte of guest memory behind an event.
 *
 * @param event  The state is that after this event; UINT64_MAX: after the last.
 * @return TRK_OK; TRK_E_ARGUMENT: the trace has no such event. TRK_E_DAMAGED, TRK_E_VERSION,
 *         TRK_E_MEMORY, TRK_E_SYSTEM, TRK_E_UNSUPPORTED as trk_sim_trace. The trace is read from
 * its start.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: one call at a time a trace.
 */
TRK_MUST_USE enum trk_status trk_why_trace(struct trk_trace *trace, uint64_t guest_addr,
                                           uint64_t event, struct trk_why_report *report,
                                           struct trk_error *error);

TRK_EXTERN_C_END

#endif
