/*
 * A session whose parent is the program itself.
 *
 * The program joins it as it would join any other, through the variable, and has a mapping of its
 * own: nothing on the way of an event knows the difference. The session's memory is never given
 * back, because threads may emit until the process ends.
 */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC, setenv */
#include "recorder/record_here.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_session.h"
#include "record_append.h"
#include "record_ease.h"
#include "record_internal.h"
#include "recorder/capture.h"

struct trk_record_here {
    struct trk_record_options options;
    struct recording recording;
    struct trk_record_result result;
    struct trk_error error; /* the thread's */
    pthread_t thread;
    pid_t process;
    _Atomic bool stop;
};

struct watch {
    struct trk_record_here *here;
    struct trk_record_turns turns;
};

/* Turns, and the time between them, as long as they stay as urgent as the first. */
static void take_turns(void *context)
{
    struct watch *watch = context;
    const bool hurry = watch->turns.hurry;
    do {
        if (trk_record_turns_late(&watch->turns))
            return;
        trk_record_turn(&watch->turns);
        (void)poll(NULL, 0, watch->turns.next_ms);
    } while (watch->turns.hurry == hurry && !atomic_load(&watch->here->stop));
}

static void *drain_all(void *argument)
{
    struct trk_record_here *here = argument;
    struct recording *recording = &here->recording;
    struct watch watch = {.here = here, .turns = trk_record_turns_begin(recording, &here->error)};
    struct trk_record_ease ease;
    trk_record_ease_init(&ease);
    while (!atomic_load(&here->stop))
        trk_record_ease_do(&ease, watch.turns.hurry, take_turns, &watch);
    trk_record_ease_deinit(&ease);
    recording->drain.status = trk_record_drain_finish(&recording->drain, &here->error);
    return NULL;
}

static enum trk_status join(struct trk_record_here *here, struct trk_error *error)
{
    char number[16];
    int fd = fcntl(here->recording.session.fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return trk_record_output_error(&here->recording, TRK_E_SYSTEM, errno);
    snprintf(number, sizeof number, "%d", fd);
    setenv(TRK_SESSION_VARIABLE, number, 1);
    enum trk_status status = trk_capture_open(error);
    if (status != TRK_OK) {
        close(fd);
        unsetenv(TRK_SESSION_VARIABLE);
    }
    return status;
}

static enum trk_status start_thread(struct trk_record_here *here, struct trk_error *error)
{
    sigset_t all;
    sigset_t former;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    int reason = pthread_create(&here->thread, NULL, drain_all, here);
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (reason == 0)
        return TRK_OK;
    return trk_error_set(error, TRK_E_SYSTEM, "no thread to record with: %s", strerror(reason));
}

/* The file, its header, the drain. */
static enum trk_status prepare(struct trk_record_here *here, struct trk_error *error)
{
    struct recording *recording = &here->recording;
    enum trk_status status = trk_record_output_open(recording);
    if (status != TRK_OK)
        return status;
    trk_record_output_begin(recording);
    recording->append_ns = trk_record_append_ns();
    recording->start = trk_record_header_anchor();
    recording->child.pid = here->process;
    trk_capture_session_build(recording->session.control); /* for the header; it joins later */
    status = trk_record_output_header(recording);
    if (status == TRK_OK)
        status =
            trk_record_drain_init(&recording->drain, &recording->session, recording->writer, error);
    recording->drain.keeps_pages = recording->options->payload == TRK_PAYLOAD_PAGES;
    return status;
}

enum trk_status trk_record_here_start(struct trk_record_here **out,
                                      const struct trk_record_options *options,
                                      struct trk_error *error)
{
    static char *const no_command[] = {NULL};
    *out = NULL;
    if (!options || options->size != sizeof *options || !options->path ||
        strcmp(options->path, "-") == 0)
        return trk_error_set(error, TRK_E_ARGUMENT, "record: a file's path is needed");
    if (trk_capture_active())
        return trk_error_set(error, TRK_E_EXISTS, "record: this process records already");
    struct trk_record_here *here = calloc(1, sizeof *here);
    if (!here)
        return trk_error_set(error, TRK_E_MEMORY, "no memory to record");
    here->options = *options;
    here->options.argv = no_command;
    here->process = getpid();
    struct recording *recording = &here->recording;
    *recording = (struct recording){.options = &here->options,
                                    .result = &here->result,
                                    .error = error,
                                    .fd = -1,
                                    .farewell_fd = -1,
                                    .control = {.commands = -1, .answers = -1}};
    enum trk_status status = trk_record_session_init(&recording->session, options->ring_records,
                                                     options->payload, error);
    if (status != TRK_OK) {
        free(here);
        return status;
    }
    recording->session.control->block_ms = options->block_ms;
    status = prepare(here, error);
    if (status == TRK_OK)
        status = join(here, error);
    bool joined = status == TRK_OK;
    if (joined) {
        recording->error = &here->error;
        status = start_thread(here, error);
    }
    if (status == TRK_OK) {
        *out = here;
        return TRK_OK;
    }
    trk_writer_destroy(recording->writer);
    trk_record_drain_deinit(&recording->drain);
    trk_record_output_close(recording, false);
    cJSON_Delete(recording->mappings);
    if (!joined) /* else threads may emit already: the session stays, undrained */
        trk_record_session_deinit(&recording->session);
    free(here);
    return status;
}

enum trk_status trk_record_here_stop(struct trk_record_here *here, struct trk_record_result *result,
                                     struct trk_error *error)
{
    struct recording *recording = &here->recording;
    struct trk_record_result *own = &here->result;
    atomic_store(&here->stop, true);
    (void)pthread_join(here->thread, NULL);
    own->child_status = -1;
    trk_record_count(recording);
    enum trk_status status = recording->drain.status;
    trk_record_output_end(recording, &status);
    own->complete = status == TRK_OK && own->dropped == 0;
    trk_record_drain_deinit(&recording->drain);
    trk_record_output_close(recording, true);
    cJSON_Delete(recording->mappings);
    close(recording->session.fd);
    if (error)
        *error = here->error;
    if (result)
        *result = *own;
    free(here);
    return status;
}
