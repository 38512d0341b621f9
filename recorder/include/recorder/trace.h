/*
 * Reading a .trk file.
 *
 * A trace is opened from a path or from bytes in memory and read forward in canonical order: the
 * one linear order that respects each thread's own order, the numbers of holds and the signalled
 * edges, and among the ready events takes the smallest time stamp first, then the lowest stream.
 * The event number is the 0-based index in it. A trace that ends early or was damaged is read as
 * far as it goes; trk_trace_state says what is missing.
 *
 * Reading does not run anything and judges nothing. Format: docs/format.md.
 */
#ifndef RECORDER_TRACE_H
#define RECORDER_TRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/record_entry.h"
#include "track/event.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_trace_event {
    uint64_t number;
    uint64_t tsc;
    uint64_t file_offset; /* of the chunk it came from */
    uint32_t stream;      /* index of the thread, 0-based in order of first appearance */
    bool guessed;         /* what must come before it is missing: its number is a guess */
    struct trk_event event;
};

/* One moment on three clocks. ticks 0: there is none. */
struct trk_trace_anchor {
    uint64_t ticks; /* of events' time stamps */
    uint64_t monotonic_raw_ns;
    uint64_t realtime_ns;
};

/* The stream of what a flight dump has forgotten of threads of which it has nothing else. */
#define TRK_FORGOTTEN_STREAM (UINT32_MAX - 1)

struct trk_trace_stream {
    uint32_t stream_id; /* as in the file */
    uint32_t thread_id; /* the kernel's */
    uint32_t role;      /* enum trk_thread_role */
    char name[32];      /* "" if it gave none */
    char *more;         /* JSON of what a newer version says of it; NULL: nothing */
    uint64_t events;    /* in the file */
    uint64_t dropped;   /* lost: by the recorder, or with damaged chunks as far as known */
    struct trk_trace_anchor clocks; /* at the end of its recording */
};

/* "host", "guest", "gpu", "driver", "tool"; "?" if unknown. */
const char *trk_trace_role_name(uint32_t role);

/* Whether what was read is all there was. */
struct trk_trace_state {
    bool complete;    /* END seen, nothing lost, nothing damaged, and the header its own */
    bool whole;       /* likewise, whatever the header is */
    bool header_lost; /* before a repair: the trace does not say what it is of */
    bool ended;       /* END seen */
    bool cut;         /* END says that the recording was cut off: it was put there by a repair */
    bool counted;     /* END's totals were read: what streams lost at their ends is known */
    uint64_t dropped; /* events lost, by the recorder or with damaged chunks as far as known */
    bool quick;       /* known from the file's index; what was not read yet was not tried */
    uint64_t chunks;  /* with undamaged headers, behind HEADER */
    uint64_t unknown_chunks; /* of them: of kinds that this version does not know, passed over */
    uint8_t unknown_kind;    /* of the first of these */
    uint64_t damaged_chunks;
    uint64_t first_damage_offset; /* TRK_NOT_KNOWN when there is none */
    char damage[128];             /* one line; "" when there is none */
    int32_t child_status;         /* from END: wait status of the recorded program; -1 unknown */
    uint64_t last_events_offset;  /* of the last chunk with events, 0 when there is none */
    uint64_t order_gaps; /* events given so far whose predecessors in a hold or timeline are lost */
    /* Holds missing so far, and no gap: threads were ended before they had noted their last one. */
    uint64_t unwritten_holds;
};

struct trk_trace;

/**
 * Open a file, or bytes that stay the caller's and must outlive the trace.
 *
 * @return TRK_OK: readable at least in part. TRK_E_DAMAGED: not a trace, or its file header or
 *         HEADER chunk is bad; TRK_E_INCOMPLETE: too short even for these; TRK_E_VERSION;
 *         TRK_E_SYSTEM; TRK_E_MEMORY. error names the file offset.
 *
 * Allocates: yes. Signal-safe: no. Threads: one trace, one thread.
 */
TRK_MUST_USE enum trk_status trk_trace_open(struct trk_trace **out, const char *path,
                                            struct trk_error *error);
TRK_MUST_USE enum trk_status trk_trace_open_bytes(struct trk_trace **out, const void *bytes,
                                                  size_t size_bytes, struct trk_error *error);
void trk_trace_close(struct trk_trace *trace);

/* The HEADER chunk's JSON text, as written; the trace's. */
const char *trk_trace_header_json(const struct trk_trace *trace);

/* The least number of low bits that time stamps have lost; after the scan. 0: no events. */
unsigned trk_trace_clock_shift(const struct trk_trace *trace);

/*
 * What the trace begins with, if it does not begin with a program's start; after the scan. The
 * payload of its SNAPSHOT up to *end, the trace's; NULL: there is none.
 */
const uint8_t *trk_trace_snapshot(const struct trk_trace *trace, const uint8_t **end);

/* The file's sync marker, 16 bytes. */
void trk_trace_marker(const struct trk_trace *trace, uint8_t out[16]);

/* The streams known so far (after trk_trace_scan or a full read: all). */
size_t trk_trace_stream_count(const struct trk_trace *trace);
const struct trk_trace_stream *trk_trace_stream(const struct trk_trace *trace, size_t index);

/**
 * Read all chunk headers, no events: streams, counts and state are then final but for damage
 * inside payloads that decode despite right checksums.
 *
 * Reads the payloads too, for their checksums, but decodes none. The second call does nothing.
 *
 * @return TRK_OK; TRK_E_VERSION: a required chunk of a kind this reader does not know;
 * TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_trace_scan(struct trk_trace *trace, struct trk_error *error);

/**
 * Likewise, but from the file's own index where it has one: nothing is read of what is between, and
 * damage in there is found by trk_trace_next only. Takes the time of trk_trace_scan where the file
 * has no index, or has not ended.
 */
TRK_MUST_USE enum trk_status trk_trace_scan_quick(struct trk_trace *trace, struct trk_error *error);

/* A lock domain of which holds are missing in the file. */
struct trk_trace_gap {
    uint32_t domain;
    uint64_t holds; /* how many are missing, at least */
};

/**
 * The domains of which holds are missing, ascending, from the summaries of the chunks. After
 * trk_trace_scan.
 *
 * @param out  An array, the caller's to free; NULL when there are none.
 * @return TRK_OK; TRK_E_UNSUPPORTED: not every chunk has a summary; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_trace_gaps(const struct trk_trace *trace,
                                            struct trk_trace_gap **out, size_t *count);

/*
 * Events of a stream that the file should have and has not, in a row. What a recorder lost is not
 * among them: DROP events tell of that.
 */
struct trk_trace_missing {
    uint32_t stream;    /* UINT32_MAX: any, even one that nothing is left of */
    uint64_t events;    /* TRK_NOT_KNOWN: nothing says how many */
    uint64_t first_tsc; /* of the stream's last event before them; 0: there is none */
    uint64_t end_tsc;   /* of its first event behind them; UINT64_MAX: there is none */
};

/**
 * What is missing in a file that was damaged or cut off, stream by stream, in each in its order.
 * After trk_trace_scan; chunks that only show in trk_trace_next that they are not readable count
 * once it has met them. What a file that was cut off has nothing at all of is not named.
 *
 * @param out  An array, the caller's to free; NULL when there are none.
 * @return TRK_OK; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_trace_missing(const struct trk_trace *trace,
                                               struct trk_trace_missing **out, size_t *count);

/*
 * Whether the file has all events that were written to it, and the state that they begin with,
 * though parts of it may be damaged: its totals were read, no stream lacks any, and what is damaged
 * lies behind the first chunk of events. After trk_trace_scan; as of chunks that are not readable,
 * see trk_trace_missing.
 */
bool trk_trace_gapless(const struct trk_trace *trace);

/* A type of events, as this version or else the file describes it. */
struct trk_trace_type {
    const char *name; /* the trace's; as the file spells it, for types of newer versions */
    bool known;       /* to this version */
    bool required;    /* who re-executes or judges a trace must know it */
    bool open;        /* of each of its fields the role tells whether it is an address */
};

/* After the scan. False: neither this version nor the file knows the type. */
bool trk_trace_type(const struct trk_trace *trace, uint8_t id, struct trk_trace_type *out);

/**
 * Take in what another trace says of types that this version does not know, as if the file said it.
 * After both scans.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: they describe one of them in different ways; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status
trk_trace_add_types(struct trk_trace *trace, const struct trk_trace *from, struct trk_error *error);

/*
 * Whether who reads the events judges or re-executes them: then trk_trace_next gives TRK_E_VERSION
 * instead of an event of a type that is required and not known to this version. At first nobody
 * does.
 */
void trk_trace_judge(struct trk_trace *trace, bool judged);

/* Something is wrong with a file, at a place in it. */
struct trk_trace_damage {
    uint64_t file_offset;
    uint32_t chunk;   /* number in the file; where its header is damaged, the one expected there */
    const char *text; /* one line; valid during the call */
};

typedef void trk_trace_damage_fn(void *context, const struct trk_trace_damage *damage);

/* Be told of each damage that scan and next find from now on; before the scan: of all. */
void trk_trace_on_damage(struct trk_trace *trace, trk_trace_damage_fn *fn, void *context);

/* How far a pass over a file has come. */
struct trk_trace_progress {
    bool scanning; /* bytes of the file are counted; else events that were given */
    uint64_t done, total;
};

/* Who is told of it, once a chunk and at the pass's end. fn NULL: nobody. */
struct trk_trace_watch {
    void (*fn)(void *context, const struct trk_trace_progress *progress);
    void *context;
};

/* Tell from now on. */
void trk_trace_on_progress(struct trk_trace *trace, struct trk_trace_watch watch);

struct trk_trace_state trk_trace_state(const struct trk_trace *trace);

/**
 * Give the next event in canonical order.
 *
 * @return TRK_OK; TRK_E_END: no more, see trk_trace_state; TRK_E_MEMORY; TRK_E_SYSTEM. A damaged
 *         chunk costs the events in it, and shows in the state; TRK_E_VERSION as for scan, and see
 *         trk_trace_judge.
 *         A fault of the world is given again until the trace is rewound.
 */
TRK_MUST_USE enum trk_status trk_trace_next(struct trk_trace *trace, struct trk_trace_event *out,
                                            struct trk_error *error);

/*
 * From when *flag is not 0, trk_trace_next gives TRK_E_SYSTEM, os_errno EINTR: for a signal handler
 * that ends what takes long. The flag must outlive the trace.
 */
void trk_trace_stop_on(struct trk_trace *trace, const volatile sig_atomic_t *flag);

/**
 * Copy the file's bytes, as it was opened, to the beginning of another file. What has its name by
 * now is not looked at.
 *
 * @param fd  The other file, which is as long or shorter.
 * @return TRK_OK; TRK_E_INCOMPLETE: the file was cut short since; TRK_E_MEMORY; TRK_E_SYSTEM.
 *
 * Allocates: yes. Blocks: reads and writes files. Signal-safe: no. Threads: as the trace.
 */
TRK_MUST_USE enum trk_status trk_trace_copy(const struct trk_trace *trace, int fd,
                                            struct trk_error *error);

/* Start again at event 0. */
TRK_MUST_USE enum trk_status trk_trace_rewind(struct trk_trace *trace, struct trk_error *error);

TRK_EXTERN_C_END

#endif
