/*
 * Recording a command: the parent's side of a session.
 *
 * Creates the session, starts the command with it, drains its rings into a file until nobody can
 * write any more, and writes END. The first process that joins is the recorded one, whether it is
 * the command or something that the command started; others are refused and counted. The recording
 * ends when the command has ended and so has the process that joined; while none has, when no
 * process holds the session any more. If this process dies the program runs on unrecorded.
 *
 * Signals: SIGINT, SIGTERM, SIGQUIT and SIGHUP that a process sends to this one go to the command;
 * those of the terminal reach it by themselves. After the command's end any of them ends the
 * waiting for others: the trace then has no END.
 */
#ifndef RECORDER_RECORD_H
#define RECORDER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/packing.h"
#include "recorder/payload.h"
#include "recorder/trace.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

/* The trackers' state at a place in a trace; all of it is to be freed. */
struct trk_record_state {
    struct trk_packing snapshot;      /* as a SNAPSHOT chunk has it */
    uint64_t ticks;                   /* of the events before the place, the latest */
    uint64_t *ordinals;               /* a stream of the trace: its events before the place */
    struct trk_trace_event *prologue; /* of these, what is still needed */
    size_t prologue_count;
};

/*
 * Find the last place in a trace, before any event that is later than `ticks`, where the state can
 * be kept, and give it. The trace was scanned. TRK_OK; TRK_E_UNSUPPORTED: there is none so far;
 * TRK_E_INCOMPLETE: nor will there be one behind it; else what reading gives.
 */
typedef enum trk_status trk_record_state_fn(struct trk_trace *trace, uint64_t ticks,
                                            struct trk_record_state *out, struct trk_error *error);

/*
 * Find another name for a file, in the folder of the first one, that nothing has. What it returns
 * besides TRK_OK is why there is none.
 */
typedef enum trk_status trk_record_name_fn(char *path, size_t size, struct trk_error *error);

struct trk_record_options {
    size_t size;           /* sizeof(struct trk_record_options) */
    const char *path;      /* output; "-" is stdout */
    bool overwrite;        /* replace an existing file */
    char *const *argv;     /* command, NULL-terminated; looked up in PATH */
    uint32_t ring_records; /* records a thread, a power of two; 0: the default */
    /*
     * Milliseconds that an event outside of handlers waits for room in its ring, or a thread for a
     * ring, before it is dropped, at most TRK_RECORD_BLOCK_MOST; 0: it does not.
     */
    uint32_t block_ms;
    enum trk_record_payload payload; /* what is kept of uploaded bytes */
    const unsigned *
        clock_shift; /* time stamps lose so many low bits, at most TRK_RECORD_SHIFT_MOST; NULL: 5 */
    void (*waiting)(void); /* called once if others outlive the command; NULL: not */
    /*
     * Not 0: nothing is written as it comes. The newest events are kept in so many bytes of memory,
     * compressed, and a trigger writes them to path; later dumps get -2, -3 and so on before .trk.
     */
    uint64_t flight_bytes;
    /*
     * With flight_bytes: asked, on a thread of the recorder's, where a dump's name is taken by the
     * time that it is written. The dumps behind the first one are numbered after the name that it
     * got. NULL: a dump whose name is taken is none.
     */
    trk_record_name_fn *name;
    const char *triggers; /* as record_trigger.h says, with commas; NULL: the default */
    uint32_t before_ms;   /* a dump goes back so far before its trigger; 0: to the oldest */
    uint32_t after_ms;    /* and is made so long after it */
    uint32_t cooldown_ms; /* triggers do nothing for so long after a dump */
    uint32_t dumps_most;  /* and after so many; 0: no limit */
    /*
     * With flight_bytes: called on a thread of the recorder's, one call at a time, so that a dump
     * begins with a state when the ring has forgotten events; NULL: it does not.
     */
    trk_record_state_fn *state;
    bool count_only; /* count events by type and write nothing; path may be NULL */
    bool control;    /* obey recorder/control.h */
    /*
     * Another process stands by: when this one is killed, it makes the file whole with what the
     * rings still hold, and goes on recording. Not with flight_bytes, count_only or standard
     * output.
     */
    bool guard;
    bool sync;                 /* each flush waits until the file is on the disk */
    const char *settings_json; /* how all this came about, for the header; NULL: nothing there */
    void (*say)(const char *text); /* lines about dumps and triggers; NULL: nobody hears them */
};

/* Bounds of ring_records, both included. */
#define TRK_RECORD_RING_LEAST 128u
#define TRK_RECORD_RING_MOST  (4u << 20)
#define TRK_RECORD_BYTES      32u /* of one record in a ring */
#define TRK_RECORD_BLOCK_MOST 60000u
#define TRK_RECORD_SHIFT_MOST 31u

#define TRK_RECORD_PATH_BYTES 4096u /* of a path with its end, as PATH_MAX */

struct trk_record_result {
    bool attached;        /* the program joined the session */
    bool complete;        /* END is in the file and no event is missing */
    int32_t child_status; /* wait status of the command */
    uint64_t events;      /* in the file, without the DROP events that tell of losses */
    uint64_t dropped;     /* lost, the next ones included */
    uint64_t thrown_away; /* lost because the file could not be written */
    uint64_t waits;       /* events that waited for room (block_ms) */
    uint64_t bytes;
    uint32_t threads;
    uint32_t refused_joins; /* programs that wanted to be recorded too */
    uint64_t pages;         /* contents in the file, TRK_PAYLOAD_PAGES */
    uint64_t pages_missed;  /* contents that found no room on their way */
    /* Files that a flight ring wrote, with events and bytes of all together; 0: path is as it was.
     */
    uint32_t dumps;
    char path[TRK_RECORD_PATH_BYTES]; /* of the first of them, where it has another; else "" */
    /* Lost events of all dumps together, and those from before that they have no state for. */
    uint64_t missing;
    uint64_t discarded;       /* the part of dropped that came while recording was disabled */
    uint64_t duration_ns;     /* of the command */
    uint64_t events_of[256];  /* taken, by type */
    uint64_t dropped_of[256]; /* lost, by type; 0: not known */
};

/**
 * Record a command from its start to its end.
 *
 * @return TRK_OK when the command ran and the file is whole; TRK_E_EXISTS; TRK_E_SYSTEM (the
 *         command could not be started, or the file not written: then no part of it is left
 *         unless events were already in it); TRK_E_INCOMPLETE (a signal ended the waiting);
 *         TRK_E_ARGUMENT (also: another recording writes the file); TRK_E_MEMORY. result is filled
 *         as far as known: when child_status is set the command has run, whatever is returned.
 *
 * Allocates: yes. Blocks: until the recording has ended. Signal-safe: no. Threads: one at a time
 * (signal actions of the process are changed meanwhile).
 */
TRK_MUST_USE enum trk_status trk_record_command(const struct trk_record_options *options,
                                                struct trk_record_result *result,
                                                struct trk_error *error);

TRK_EXTERN_C_END

#endif
