/*
 * Whether anybody may still write into a session.
 *
 * The command need not be the recorded program: launchers start it and end, daemons leave their
 * parents. So the recording follows the session instead: who has joined it, and who holds it and
 * may join yet.
 */
#ifndef RECORDER_RECORD_PROGRAM_H
#define RECORDER_RECORD_PROGRAM_H

#include "record_session.h"

enum trk_record_program_state {
    TRK_PROGRAM_UNKNOWN = 0, /* nobody has joined yet */
    TRK_PROGRAM_FOLLOWED,    /* pidfd tells when it has ended */
    TRK_PROGRAM_GONE,
    TRK_PROGRAM_UNREACHABLE, /* in another pid namespace, or the kernel has no pidfd */
};

struct trk_record_program {
    const struct trk_record_session *session;
    enum trk_record_program_state state;
    int pidfd; /* -1: none */
};

/* The process that joined; 0: nobody has, or it has no id here. */
pid_t trk_record_program_pid(const struct trk_record_session *session);

void trk_record_program_init(struct trk_record_program *out,
                             const struct trk_record_session *session);
void trk_record_program_deinit(struct trk_record_program *program);

/* Look for a process that has joined. Cheap once it is known; call it every turn. */
void trk_record_program_look(struct trk_record_program *program);

/*
 * Whether nobody can write any more, given that the command has ended: the process that joined has
 * ended, or no process holds the session.
 */
bool trk_record_program_ended(struct trk_record_program *program);

#endif
