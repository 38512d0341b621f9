/* One dump of the flight ring, written by a thread of its own while the recording goes on. */
#ifndef RECORDER_RECORD_DUMP_H
#define RECORDER_RECORD_DUMP_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "flight.h"

struct trk_record_dump {
    char path[PATH_MAX];
    bool overwrite;
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

/* Set path to that of the dump of a number, from 1: F.trk, F-2.trk, F-3.trk. */
void trk_record_dump_name(struct trk_record_dump *dump, const char *path, uint32_t number);

/*
 * Start writing: path, overwrite, header_json, view, child_status and is_cut are set; header_json
 * and view are the dump's from now on. The file appears under its name when it is whole. Without a
 * thread it is written before this returns.
 */
void trk_record_dump_start(struct trk_record_dump *dump);

/* Wait for the end. */
void trk_record_dump_join(struct trk_record_dump *dump);

#endif
