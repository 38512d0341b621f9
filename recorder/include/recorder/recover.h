/*
 * Making a readable trace of a damaged one, or of one without an end.
 *
 * What is undamaged is copied, payloads as they are; what is missing of a stream becomes a loss at
 * its place, with its number as far as that is known. The result has an end, so it is a whole file;
 * whether the recording was whole is said by its losses and its cut.
 */
#ifndef RECORDER_RECOVER_H
#define RECORDER_RECOVER_H

#include "recorder/digest.h"

TRK_EXTERN_C_BEGIN

struct trk_recover_result {
    uint64_t bytes;       /* written */
    uint64_t chunks;      /* copied, HEADER among them */
    uint64_t chunks_lost; /* damaged or missing, as far as known */
    bool more_lost;   /* some of them were neither events nor an index: names, pages, checkpoints */
    uint64_t events;  /* in the file, without the marks of losses */
    uint64_t dropped; /* lost, now and before, as far as known */
    bool header_lost; /* HEADER was damaged: a short one stands in its place */
    bool state_lost; /* of a part: the state that it begins with was damaged; one loss stands for it
                      */
    bool cut;        /* the recording's end was not there: how much is missing is not known */
    uint64_t unknown_left_out; /* chunks of kinds that this version does not know [F-41] */
    uint8_t unknown_kind;      /* of the first of them */
    int32_t child_status;      /* -1: not known */
    struct trk_digest digest;  /* of all that was written, for trk_trace_verify */
};

/**
 * Read a trace, or what is left of one, and write what is good to a descriptor of an empty regular
 * file, forward only; from its beginning again where chunks move of which some are of unknown
 * kinds.
 *
 * @return TRK_OK, also when nothing but the marker of the file was found; TRK_E_DAMAGED: not a
 *         trace, nothing written; TRK_E_VERSION: needs a newer reader; TRK_E_ARGUMENT: not a
 *         regular file; TRK_E_MEMORY; TRK_E_SYSTEM. Only after TRK_OK the output is of use.
 *
 * Allocates: yes. Blocks: reads and writes. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status
trk_recover(const char *path, int fd, struct trk_recover_result *result, struct trk_error *error);
/* Likewise, and tell how far it has come. */
TRK_MUST_USE enum trk_status trk_recover_watched(const char *path, int fd,
                                                 const struct trk_trace_watch *watch,
                                                 struct trk_recover_result *result,
                                                 struct trk_error *error);
TRK_MUST_USE enum trk_status trk_recover_bytes(const void *bytes, size_t size_bytes, int fd,
                                               struct trk_recover_result *result,
                                               struct trk_error *error);

TRK_EXTERN_C_END

#endif
