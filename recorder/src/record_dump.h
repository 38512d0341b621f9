/* One dump of the flight ring, written by a thread of its own while the recording goes on. */
#ifndef RECORDER_RECORD_DUMP_H
#define RECORDER_RECORD_DUMP_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "flight.h"
#include "recorder/record.h"

struct recording;
struct trk_record_control;

struct trk_record_dump {
    bool overwrite;
    bool sync;
    bool to_stream;              /* a pipe or a device, which gets one after the other */
    int lock;                    /* of the file that has the recording's name; -1: there is none */
    trk_record_name_fn *another; /* for a name that is taken; NULL: there is none */
    char base[PATH_MAX];         /* the name that the first dump got, or the recording's */
    char path[PATH_MAX];
    bool is_first; /* and has the recording's name */
    char *header_json;
    struct trk_flight_view *view;
    int32_t child_status; /* -1: it still runs */
    bool is_cut;          /* more came than the view has: the file gets no END */
    bool running;         /* the thread was started and not joined */
    pthread_t thread;
    _Atomic bool done;
    /* Valid once done. */
    enum trk_status status;
    struct trk_error error;
    uint64_t events;
    uint64_t missing;
    uint64_t bytes;
};

/*
 * See whether dumps can be made where the recording wants them. TRK_E_ARGUMENT: not there, or
 * another recording writes the file, which nobody does from now on; TRK_E_EXISTS; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_record_dump_init(struct trk_record_dump *dump,
                                                  const struct recording *recording);
/* Waits for the end. */
void trk_record_dump_deinit(struct trk_record_dump *dump);

/* Set path to that of the dump of a number, from 1: F.trk, F-2.trk, F-3.trk; a stream's is F. */
void trk_record_dump_name(struct trk_record_dump *dump, uint32_t number);

/*
 * Start writing: path, header_json, view, child_status and is_cut are set; header_json
 * and view are the dump's from now on. The file appears under its name when it is whole; path is
 * then another where that was taken and there are others. Without a thread it is written before
 * this returns.
 */
void trk_record_dump_start(struct trk_record_dump *dump);

/* Wait for the end. */
void trk_record_dump_join(struct trk_record_dump *dump);

/* Answer who asked for it, once it is done: its path, or of one that is too long that, and its end.
 */
void trk_record_dump_answer(const struct trk_record_dump *dump, struct trk_record_control *control);

#endif
