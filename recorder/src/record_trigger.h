/*
 * What makes a flight recording write down what it holds.
 *
 * A list of words: signal, api, control, fail, fatal, exit, frame:A-B, frame:A-, mark:N; the
 * last three as often as wanted. Events pass by and may fire; the others are told by name. Frames
 * whose events were lost are over when a later one comes. What never fired says what came closest,
 * and how many events that may have been it were lost.
 */
#ifndef RECORDER_RECORD_TRIGGER_H
#define RECORDER_RECORD_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/record_entry.h"
#include "track/status.h"

enum trk_trigger_kind {
    TRK_TRIGGER_SIGNAL,  /* SIGUSR2 to the recorder */
    TRK_TRIGGER_API,     /* trk_capture_trigger */
    TRK_TRIGGER_CONTROL, /* trk ctl snapshot */
    TRK_TRIGGER_FAIL,    /* an operation failed fast, or the host refused a protection */
    TRK_TRIGGER_FATAL,   /* a signal ended the command */
    TRK_TRIGGER_EXIT,    /* the recording ends */
    TRK_TRIGGER_FRAME,   /* frames A to B are over */
    TRK_TRIGGER_MARK,    /* this mark was made */
    TRK_TRIGGER_KINDS,
};

#define TRK_RECORD_TRIGGER_PLACES 32u
#define TRK_RECORD_TRIGGER_NOTE   160u

/* frame:A-B or mark:N. */
struct trk_record_trigger_place {
    enum trk_trigger_kind kind;
    uint64_t first, last; /* of a mark both are it */
    uint64_t times;       /* fired */
    bool earlier;         /* frames: one of before, or one of them, has come */
    bool begun;           /* frames: one of them has come, and none behind them */
    uint64_t since;       /* that one's time; the last one's of before while none has come */
    bool any;             /* a mark came; the nearest was */
    uint64_t nearest;
};

struct trk_record_firing {
    enum trk_trigger_kind kind;
    uint64_t ticks;       /* when */
    uint64_t since_ticks; /* what is wanted starts here at the latest; UINT64_MAX: not said */
    char note[TRK_RECORD_TRIGGER_NOTE]; /* what is to be said of it; "": nothing */
    bool by_event; /* whoever sees the events has said which one it was: a stream's record */
    uint32_t stream_id;
    uint64_t record;
};

struct trk_record_trigger {
    bool wanted[TRK_TRIGGER_KINDS];
    uint64_t times[TRK_TRIGGER_KINDS]; /* fired */
    struct trk_record_trigger_place places[TRK_RECORD_TRIGGER_PLACES];
    size_t place_count;
    bool fired; /* and nobody has taken it */
    struct trk_record_firing firing;
    bool others[TRK_TRIGGER_KINDS]; /* these fired as well before it was taken */
    /* What came closest. */
    bool any_frame;
    uint64_t first_frame, last_frame;
    uint64_t lost[TRK_TRIGGER_KINDS]; /* events that may have fired it */
};

/* TRK_E_ARGUMENT names the word that cannot be meant, or is one too many. text NULL: the default.
 */
TRK_MUST_USE enum trk_status trk_record_trigger_parse(struct trk_record_trigger *out,
                                                      const char *text, struct trk_error *error);

/* The list that counts when none is given. */
#define TRK_RECORD_TRIGGER_DEFAULT "signal,api,control,fail,fatal"

/* An event passes by. */
void trk_record_trigger_event(struct trk_record_trigger *trigger, const struct trk_record *record);

/* Events of a type were lost; TRK_EVENT_NONE: of one that is not known. */
void trk_record_trigger_lost(struct trk_record_trigger *trigger, uint32_t type, uint64_t count);

/* Fire, if this kind is wanted. An earlier firing that was not taken stays. */
void trk_record_trigger_fire(struct trk_record_trigger *trigger, enum trk_trigger_kind kind,
                             uint64_t ticks);

/* The recording ends: frames that have begun are over. */
void trk_record_trigger_end(struct trk_record_trigger *trigger, bool by_signal, uint64_t ticks);

const char *trk_record_trigger_name(enum trk_trigger_kind kind);

/*
 * Of what can fire, the kinds without a place and then the places, the ith: if it is wanted and
 * never fired, its word and what came closest, as a sentence; else false.
 */
#define TRK_RECORD_TRIGGER_ALL (TRK_TRIGGER_KINDS + TRK_RECORD_TRIGGER_PLACES)
bool trk_record_trigger_unmet(const struct trk_record_trigger *trigger, size_t i, char *out,
                              size_t size);

#endif
