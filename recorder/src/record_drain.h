/* Moving records from the session's rings into a trace. */
#ifndef RECORDER_RECORD_DRAIN_H
#define RECORDER_RECORD_DRAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "flight.h"
#include "record_session.h"
#include "record_trigger.h"

/* Events that were thrown away because recording was disabled, and that no loss tells of yet. */
struct trk_record_discards {
    bool any;
    uint64_t count[TRK_SESSION_LOSS_KINDS];
    uint64_t first[TRK_SESSION_LOSS_KINDS];
    uint64_t last[TRK_SESSION_LOSS_KINDS];
};

/* What the file has of a ring's use; whoever continues begins there. */
struct trk_record_book_entry {
    bool in_use;
    bool is_shared;
    uint32_t stream_id;
    uint32_t operations; /* that the use is in the middle of */
    uint32_t holds;
    uint64_t position; /* the first one that is not in the file */
    uint64_t ordinal;  /* events of the stream that are */
    uint64_t told[TRK_SESSION_LOSS_KINDS];
    struct trk_record_discards discards;
};

/* In memory that outlives this process. Of each pair the active one counts: it is always whole. */
struct trk_record_book {
    _Atomic int32_t command; /* its process, from just before it is executed; 0: it did not run */
    _Atomic bool begun;    /* what the file held before is gone: what it has is of this recording */
    _Atomic bool readable; /* the file's header is written */
    _Atomic bool disabled; /* what comes is thrown away, and counted */
    _Atomic uint32_t streams; /* ids given so far */
    _Atomic uint32_t active[TRK_SESSION_RINGS];
    struct trk_record_book_entry entries[TRK_SESSION_RINGS][2];
};

struct trk_record_drain_ring {
    bool in_use;    /* a use that has not been given back yet */
    bool announced; /* the trace knows its stream */
    bool is_shared; /* and is that of several threads, one after the other */
    bool reusable;  /* the last use ended in the middle of nothing: the stream may go on */
    bool broken;    /* its header makes no sense any more; nothing is read from it */
    uint32_t state; /* of the session's ring, when all were looked at last */
    uint64_t head;  /* what it held then, seen behind the state */
    uint32_t stream_id;
    uint32_t name_version;
    uint64_t tail;
    uint64_t safe;    /* with a book: up to here it is in the file, and the thread has its room */
    uint64_t ordinal; /* events given to the writer */
    uint64_t skip;    /* of the next ones, those that the file has already */
    uint64_t missing; /* before the next one: written once, and not in the file */
    bool ended;       /* with a book: to be given back with the next flush */
    /* What the use is in the middle of, as far as its stream tells. */
    uint32_t operations;
    uint32_t holds;
    uint64_t last_tsc; /* of the last record: a loss told later does not go before it */
    uint64_t told[TRK_SESSION_LOSS_KINDS]; /* of the counts of losses, what the trace knows */
    struct trk_record_discards *discards;  /* thrown away and not told yet; NULL: none ever */
};

struct trk_record_drain {
    const struct trk_record_session *session;
    struct trk_writer
        *writer; /* what takes the records: this, or else the flight ring, or nobody */
    struct trk_flight *flight;
    struct trk_record_trigger *trigger; /* NULL: nobody wants to see the events */
    /* With a trigger and a flight ring: called when an event has fired and is in the ring, before
     * anything later can make the ring forget it. It does not drain. */
    void (*fired)(void *context);
    void *fired_context;
    uint64_t until; /* what came later stays in the rings for now; UINT64_MAX: all is taken */
    struct trk_record_book *book; /* NULL: nobody continues when this process dies */
    bool behind;                  /* with a book: a flush should come soon */
    bool disabled;                /* what comes is thrown away, and counted */
    struct trk_record *batch;     /* for what is handed on, and behind it as much again */
    struct trk_record_drain_ring rings[TRK_SESSION_RINGS];
    struct trk_record_drain_ring unplaced; /* what threads lost that found no ring */
    pid_t program;    /* whose dead threads' rings may be taken back; 0: none's */
    int program_fd;   /* a pidfd that tells whether the id is still its own; -1: it is */
    bool keeps_pages; /* the contents of pages go into the file */
    bool page_taken[TRK_SESSION_PAGE_SLOTS]; /* with a book: given to the writer, not safe yet */
    bool scarce;                             /* rings are: the next pass should come soon */
    uint32_t streams;                        /* used so far: the next stream's id */
    uint32_t known;                          /* streams that the trace has */
    uint32_t shared_uses;                    /* uses of rings that had no stream of their own */
    uint32_t own_stream;                     /* + 1; 0: there is none yet */
    enum trk_status status; /* of the writer; once it is not TRK_OK the rest is only counted */
    uint64_t events;        /* taken out of the rings */
    uint64_t dropped;       /* lost before they were taken, or thrown away while disabled */
    uint64_t discarded;     /* the latter */
    uint64_t dropped_of[TRK_SESSION_LOSS_KINDS]; /* likewise, by type */
    uint64_t events_of[TRK_SESSION_LOSS_KINDS];  /* taken, by type */
};

/* Both stay the caller's. TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_record_drain_init(struct trk_record_drain *out,
                                                   const struct trk_record_session *session,
                                                   struct trk_writer *writer,
                                                   struct trk_error *error);
void trk_record_drain_deinit(struct trk_record_drain *drain);

/*
 * Take what every ring holds now, and give back the rings whose thread has ended.
 *
 * @param fullest  Set to the records that the fullest ring held.
 * @return The writer's status. After a failure, also one that the owner puts into `status`, the
 *         rings are emptied and counted, and the writer is left alone: it may be NULL then.
 */
TRK_MUST_USE enum trk_status trk_record_drain_pass(struct trk_record_drain *drain,
                                                   uint64_t *fullest, struct trk_error *error);

/* Append an event of the recorder's own, in a stream of its own. Does nothing while disabled. */
void trk_record_drain_own(struct trk_record_drain *drain, const struct trk_event *event,
                          struct trk_error *error);

/* Write out what is open; into a flight ring, of which a dump may be made now, also the losses that
 * are known so far. The writer's status. */
TRK_MUST_USE enum trk_status trk_record_drain_flush(struct trk_record_drain *drain,
                                                    struct trk_error *error);

/* After the program's end: take the rest, and write down every loss that is not in the trace yet.
 */
TRK_MUST_USE enum trk_status trk_record_drain_finish(struct trk_record_drain *drain,
                                                     struct trk_error *error);

#endif
