/* A recording under way: what its parts share. */
#ifndef RECORDER_RECORD_INTERNAL_H
#define RECORDER_RECORD_INTERNAL_H

#include "record_child.h"
#include "record_control.h"
#include "record_drain.h"
#include "record_header.h"
#include "record_program.h"
#include "record_session.h"
#include "record_signals.h"
#include "recorder/place.h"
#include "recorder/record.h"

/* Turns of a drain that goes to a file. */
#define TRK_RECORD_TURN_MOST_MS  50 /* of rings as they are made, or larger ones */
#define TRK_RECORD_TURN_SMALL_MS 20 /* of smaller ones */
#define TRK_RECORD_TURN_BUSY_MS  1
#define TRK_RECORD_FLUSH_NS      UINT64_C(250000000)

struct trk_record_flight;

struct recording {
    const struct trk_record_options *options;
    struct trk_record_result *result;
    struct trk_error *error;
    struct trk_record_session session;
    struct trk_record_signals signals;
    struct trk_record_child child;
    struct trk_record_program program;
    /* Of the program, when that was looked at last. */
    struct trk_record_handlers handlers;
    cJSON *mappings; /* NULL: it could not be */
    uint64_t first_look_ns, next_look_ns;
    struct trk_record_drain drain;
    struct trk_writer *writer;
    struct trk_record_flight *flight; /* NULL: the recording goes to a file as it comes */
    struct trk_record_control control;
    struct trk_record_book *book; /* the guard's; NULL: there is none */
    pid_t guard;
    int farewell_fd; /* to the guard; -1: none */
    int fd;
    bool created; /* the file is new: ours to take away */
    bool is_stdout;
    bool interrupted; /* a signal ended the waiting for those who outlive the command */
    bool told_waiting;
    uint64_t child_ended_ns; /* 0: it has not */
    struct trk_trace_anchor start;
    double append_ns; /* record_append.h */
    uint32_t abouts;  /* that the program had said when the file's header was made */
};

/* record_output.c: the file of a recording that goes to one as it comes. */

/* Open the output without hurting what it may hold: the command may yet fail to start. */
TRK_MUST_USE enum trk_status trk_record_output_open(struct recording *recording);
/* The old content goes only now that there will be a new one. */
void trk_record_output_begin(const struct recording *recording);
void trk_record_output_close(struct recording *recording, bool keep);
/* TRK_OK or the status of a failed system call, with the path in the text. */
enum trk_status trk_record_output_error(const struct recording *recording, enum trk_status status,
                                        int os_errno);
/* What the recording's path leads to; likewise. */
enum trk_status trk_record_output_place(const struct recording *recording, enum trk_place *place,
                                        char target[TRK_PLACE_BYTES]);
TRK_MUST_USE enum trk_status trk_record_output_header(struct recording *recording);
/* Write out what is open, to the disk if that is wanted. */
void trk_record_output_flush(struct recording *recording);
/* END, if all went well; the writer is gone afterwards. What the file lacks counts as lost. */
void trk_record_output_end(struct recording *recording, enum trk_status *status);

/* See what the header says of the program, while there is one: a dump may be made behind its end.
 */
void trk_record_output_look(struct recording *recording);
/* Likewise if it is time again: sooner in the beginning than later on. */
void trk_record_output_look_again(struct recording *recording);
/* The HEADER's text as things stand, the caller's to free(); NULL without memory. */
char *trk_record_output_json(struct recording *recording,
                             const struct trk_record_header_dump *dump);

/* How the recording's files are written. */
struct trk_writer_options trk_record_output_options(const struct recording *recording);

/* 16 random bytes for a file. */
void trk_record_output_marker(uint8_t marker[16]);

uint64_t trk_record_now_ns(void);

/* Turns of a drain: one after the other, as often and as urgent as what the rings hold. */
struct trk_record_turns {
    struct recording *recording;
    struct trk_error *error;
    uint64_t fullest; /* events that the fullest ring held in the last turn */
    uint64_t flushed_ns;
    uint64_t ended_ns;      /* the last one */
    uint64_t hurried_to_ns; /* until then there is a hurry whatever the rings hold */
    int next_ms;            /* until the next one */
    bool hurry;             /* it cannot wait for who gives way */
};

struct trk_record_turns trk_record_turns_begin(struct recording *recording,
                                               struct trk_error *error);
/* Whether who waited for the next one has come so late that it is in a hurry from now on. */
bool trk_record_turns_late(struct trk_record_turns *turns);
/* A pass over the rings, and what is open into the file when its time has come. Of a turns. */
void trk_record_turn(void *turns);

/* What session and drain have counted goes into the result. */
void trk_record_count(struct recording *recording);

#endif
