/*
 * Recording a command: the parent's side of a session.
 *
 * Creates the session, starts the command with it, drains its rings into a file until it has ended
 * and the rings are empty, and writes END. The recorded program is never waited for, stopped or
 * signalled by us; if this process dies it runs on unrecorded. The first process that joins is the
 * recorded one. The recording ends with the command: what a process that outlives it does is lost.
 */
#ifndef RECORDER_RECORD_H
#define RECORDER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_record_options {
    size_t size;           /* sizeof(struct trk_record_options) */
    const char *path;      /* output; "-" is stdout */
    bool overwrite;        /* replace an existing file */
    char *const *argv;     /* command, NULL-terminated; looked up in PATH */
    uint32_t ring_records; /* records a thread, a power of two; 0: the default */
};

struct trk_record_result {
    bool attached;        /* the program joined the session */
    int32_t child_status; /* wait status */
    uint64_t events;
    uint64_t dropped;
    uint64_t bytes;
    uint32_t threads;
};

/**
 * Record a command from its start to its end.
 *
 * @return TRK_OK when the command ran and the file is whole; TRK_E_EXISTS; TRK_E_SYSTEM (the
 *         command could not be started, or the file not written: then no part of it is left
 *         unless events were already in it); TRK_E_ARGUMENT; TRK_E_MEMORY. result is filled as far
 *         as known: when child_status is set the command has run, whatever is returned.
 *
 * Allocates: yes. Blocks: until the command has ended. Signal-safe: no. Threads: one at a time
 * (SIGINT and SIGTERM are left to the command meanwhile).
 */
TRK_MUST_USE enum trk_status trk_record_command(const struct trk_record_options *options,
                                                struct trk_record_result *result,
                                                struct trk_error *error);

TRK_EXTERN_C_END

#endif
