/*
 * Control FIFOs, both ends.
 *
 * The recording opens both ends of each FIFO, so that neither an opener nor a writer ever waits,
 * and a command without a reader of its answer hurts nobody. Answers that nobody took are read away
 * by the next who asks; one that comes later still has the number of its command, which is another.
 */
#define _GNU_SOURCE /* O_CLOEXEC and friends */
#include "record_control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What stands before it in a line is void: the rest of somebody who never ended his. */
#define CANCEL '\030'
/* Together as much as a FIFO holds: nobody keeps the recorder here. */
#define READS_MOST (65536u / TRK_RECORD_CONTROL_LINE + 1)
/* Between two looks whether the folder is free, and whether who should answer still does. */
#define LOCK_WAIT_MS   5
#define ANSWER_WAIT_MS 50

static enum trk_status system_error(struct trk_error *error, const char *path)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "control: %.80s", path);
}

/* The folder of all recordings of this user. */
static int base_folder(char *out, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime)
        return snprintf(out, size, "%s/trk", runtime);
    return snprintf(out, size, "/tmp/trk-%u", (unsigned)getuid());
}

/* The folder of a recording. TRK_E_ARGUMENT: the path does not fit. */
static enum trk_status control_folder(uint32_t pid, char *out, size_t size, struct trk_error *error)
{
    int length = base_folder(out, size);
    if (length > 0 && (size_t)length < size) {
        int more = snprintf(out + length, size - (size_t)length, "/%u", pid);
        if (more > 0 && (size_t)length + (size_t)more < size)
            return TRK_OK;
    }
    return trk_error_set(error, TRK_E_ARGUMENT, "control: the folder's path is too long");
}

/* A folder of ours that nobody else can write to; in /tmp the name may be anybody's. */
static bool is_own_folder(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid() &&
           (status.st_mode & 022) == 0;
}

static enum trk_status foreign_folder(struct trk_error *error, const char *path)
{
    return trk_error_set(error, TRK_E_SYSTEM,
                         "control: %.80s: not a folder that this user alone can write to", path);
}

static enum trk_status make_folder(const char *folder, struct trk_error *error)
{
    char base[128];
    base_folder(base, sizeof base);
    if (mkdir(base, 0700) != 0 && errno != EEXIST)
        return system_error(error, base);
    if (!is_own_folder(base))
        return foreign_folder(error, base);
    return mkdir(folder, 0700) == 0 || errno == EEXIST ? TRK_OK : system_error(error, folder);
}

static int open_fifo(const char *folder, const char *name, bool make)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (make) {
        (void)unlink(path); /* of a process that was killed and had the same number */
        if (mkfifo(path, 0600) != 0)
            return -1;
    }
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

enum trk_status trk_record_control_init(struct trk_record_control *out, struct trk_error *error)
{
    *out = (struct trk_record_control){.commands = -1, .answers = -1};
    enum trk_status status =
        control_folder((uint32_t)getpid(), out->folder, sizeof out->folder, error);
    if (status == TRK_OK)
        status = make_folder(out->folder, error);
    if (status != TRK_OK) {
        out->folder[0] = '\0';
        return status;
    }
    out->answers = open_fifo(out->folder, "answers", true);
    /* Locked as long as this process is there, however it ends. */
    bool locked = out->answers >= 0 && flock(out->answers, LOCK_EX | LOCK_NB) == 0;
    out->commands = locked ? open_fifo(out->folder, "commands", true) : -1;
    if (out->commands < 0) {
        status = system_error(error, out->folder);
        trk_record_control_deinit(out);
    }
    return status;
}

void trk_record_control_deinit(struct trk_record_control *control)
{
    static const char *const fifos[] = {"commands", "answers"};
    if (control->folder[0] == '\0')
        return;
    for (size_t i = 0; i < 2; ++i) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", control->folder, fifos[i]);
        (void)unlink(path);
    }
    (void)rmdir(control->folder);
    if (control->commands >= 0)
        close(control->commands);
    if (control->answers >= 0)
        close(control->answers);
    *control = (struct trk_record_control){.commands = -1, .answers = -1};
}

/* Behind the last CANCEL: what somebody began before it was never ended. */
static size_t begin_of(const char *line, size_t length)
{
    size_t begin = length;
    while (begin > 0 && line[begin - 1] != CANCEL)
        --begin;
    return begin;
}

/* Take a whole line out of what has been read; a NUL in it ends no command. anew: it had a CANCEL.
 */
static bool take_line(char *line, size_t *used, char *out, bool *anew)
{
    char *end = memchr(line, '\n', *used);
    if (!end)
        return false;
    size_t length = (size_t)(end - line);
    size_t begin = begin_of(line, length);
    *anew = begin > 0;
    for (size_t i = begin; i < length; ++i)
        out[i - begin] = line[i] != '\0' ? line[i] : '?';
    out[length - begin] = '\0';
    *used -= length + 1;
    memmove(line, end + 1, *used);
    return true;
}

/* No command is so long as what there is: only what was begun anew in it counts. */
static void throw_away(struct trk_record_control *control)
{
    size_t begin = begin_of(control->line, control->used);
    control->long_one = begin == 0;
    control->used = begin == 0 ? 0 : control->used - begin;
    memmove(control->line, control->line + begin, control->used);
}

/* Keep the number that stands before a command; what is behind it. */
static const char *take_who(struct trk_record_control *control, const char *command)
{
    const char *end = command[0] == '#' ? strchr(command, ' ') : NULL;
    size_t length = end ? (size_t)(end - command) + 1 : 0;
    if (length >= sizeof control->who)
        length = 0;
    memcpy(control->who, command, length);
    control->who[length] = '\0';
    control->asked = true;
    return command + length;
}

/* The answer to the last command comes later. */
static void put_off(struct trk_record_control *control)
{
    if (!control->asked)
        return;
    control->asked = false;
    if (control->later_count < TRK_RECORD_CONTROL_LATER)
        memcpy(control->later[control->later_count++], control->who, sizeof control->who);
}

const char *trk_record_control_next(struct trk_record_control *control)
{
    static char command[TRK_RECORD_CONTROL_LINE]; /* one recording a process at a time */
    if (control->commands < 0)
        return NULL;
    put_off(control);
    for (unsigned i = 0; i < READS_MOST; ++i) {
        bool anew = false;
        if (take_line(control->line, &control->used, command, &anew)) {
            if (control->long_one && !anew)
                command[0] = '\0'; /* its end is no command */
            control->long_one = false;
            return take_who(control, command);
        }
        if (control->used == sizeof control->line)
            throw_away(control);
        ssize_t got = read(control->commands, control->line + control->used,
                           sizeof control->line - control->used);
        if (got <= 0)
            return NULL;
        control->used += (size_t)got;
    }
    return NULL;
}

/* Whose answer comes next. */
static void find_who(struct trk_record_control *control, char who[TRK_RECORD_CONTROL_WHO])
{
    memcpy(who, control->who, TRK_RECORD_CONTROL_WHO);
    if (!control->asked && control->later_count > 0) {
        memcpy(who, control->later[0], TRK_RECORD_CONTROL_WHO);
        control->later_count -= 1;
        memmove(control->later[0], control->later[1],
                control->later_count * sizeof control->later[0]);
    }
    control->asked = false;
}

void trk_record_control_answer(struct trk_record_control *control, const char *text)
{
    char line[TRK_RECORD_CONTROL_LINE];
    char who[TRK_RECORD_CONTROL_WHO];
    find_who(control, who);
    int length = snprintf(line, sizeof line, "%s%.250s\n", who, text);
    if (control->answers >= 0 && length > 0)
        (void)!write(control->answers, line, (size_t)length); /* whole: a FIFO takes 4096 at once */
}

static uint64_t now_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What one side asks and waits for. */
struct question {
    uint32_t pid;
    const char *command;
    char *answer;
    uint64_t end_ms;
    uint32_t timeout_ms;
    char who[TRK_RECORD_CONTROL_WHO];
    int commands;
    int answers;
};

/* Whether a recording still has its end: it takes the FIFOs away, and its lock goes with it. */
static bool is_there(const struct question *question)
{
    struct stat fifo;
    return fstat(question->answers, &fifo) == 0 && fifo.st_nlink > 0 &&
           flock(question->answers, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* What is read away from behind a question, until a time or the end of who should answer. */
static size_t await_bytes(const struct question *question, char *to, size_t room, bool *gone)
{
    uint64_t now = now_ms();
    uint64_t left = now < question->end_ms ? question->end_ms - now : 0;
    struct pollfd ready = {.fd = question->answers, .events = POLLIN};
    *gone = !is_there(question); /* first: what it had said by then is there */
    (void)poll(&ready, 1, *gone ? 0 : (int)(left < ANSWER_WAIT_MS ? left : ANSWER_WAIT_MS));
    ssize_t got = read(question->answers, to, room);
    return got > 0 ? (size_t)got : 0;
}

static enum trk_status await_answer(const struct question *question, struct trk_error *error)
{
    char line[TRK_RECORD_CONTROL_LINE] = "";
    char taken[TRK_RECORD_CONTROL_LINE] = "";
    size_t used = 0;
    size_t who = strlen(question->who);
    bool anew = false;
    for (;;) {
        if (take_line(line, &used, taken, &anew)) {
            if (strncmp(taken, question->who, who) != 0)
                continue; /* of somebody who gave up */
            snprintf(question->answer, TRK_CONTROL_LINE, "%.*s", (int)TRK_CONTROL_LINE - 1,
                     taken + who);
            return TRK_OK;
        }
        bool late = now_ms() >= question->end_ms;
        bool gone = false;
        size_t got =
            used < sizeof line ? await_bytes(question, line + used, sizeof line - used, &gone) : 0;
        used += got;
        if (got == 0 && gone)
            return trk_error_set(error, TRK_E_ARGUMENT,
                                 "no recording of process %u any more: it has ended without an "
                                 "answer",
                                 question->pid);
        if (got == 0 && (late || used == sizeof line))
            return trk_error_set(error, TRK_E_SYSTEM, "control: no answer within %u ms",
                                 question->timeout_ms);
    }
}

/* Ask through open FIFOs. */
static enum trk_status ask(struct question *question, struct trk_error *error)
{
    char line[TRK_RECORD_CONTROL_LINE];
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* one asks at a time: another number each */
    snprintf(question->who, sizeof question->who, "#%lld.%09ld ", (long long)now.tv_sec,
             now.tv_nsec);
    int length = snprintf(line, sizeof line, "%c%s%s\n", CANCEL, question->who, question->command);
    if (length <= 0 || strlen(question->command) >= TRK_CONTROL_LINE - 2)
        return trk_error_set(error, TRK_E_ARGUMENT, "control: the command is too long");
    while (read(question->answers, question->answer, TRK_CONTROL_LINE) > 0) {
    }
    if (write(question->commands, line, (size_t)length) != length)
        return system_error(error, "commands");
    return await_answer(question, error);
}

/* Until nobody else asks, or the time is over. */
static enum trk_status lock_folder(const struct question *question, int folder,
                                   struct trk_error *error)
{
    while (flock(folder, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return system_error(error, "lock");
        if (now_ms() >= question->end_ms)
            return trk_error_set(error, TRK_E_SYSTEM,
                                 "control: another waits for an answer of process %u, and still "
                                 "did after %u ms",
                                 question->pid, question->timeout_ms);
        (void)poll(NULL, 0, LOCK_WAIT_MS);
    }
    return TRK_OK;
}

/* Ask in a folder that is there. */
static enum trk_status ask_there(struct question *question, const char *folder, int lock,
                                 struct trk_error *error)
{
    if (!is_own_folder(folder))
        return foreign_folder(error, folder);
    enum trk_status status = lock_folder(question, lock, error);
    if (status != TRK_OK)
        return status;
    question->commands = open_fifo(folder, "commands", false);
    if (question->commands < 0)
        return system_error(error, folder);
    question->answers = open_fifo(folder, "answers", false);
    if (question->answers < 0)
        return system_error(error, folder);
    return ask(question, error);
}

enum trk_status trk_control_send(uint32_t pid, const char *command, char *answer,
                                 uint32_t timeout_ms, struct trk_error *error)
{
    char folder[128];
    struct question question = {.pid = pid,
                                .command = command,
                                .answer = answer,
                                .end_ms = now_ms() + timeout_ms,
                                .timeout_ms = timeout_ms,
                                .commands = -1,
                                .answers = -1};
    enum trk_status status = control_folder(pid, folder, sizeof folder, error);
    if (status != TRK_OK)
        return status;
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 && errno == ENOENT)
        return trk_error_set(error, TRK_E_ARGUMENT, "no recording of process %u (%.60s is absent)",
                             pid, folder);
    if (lock < 0)
        return system_error(error, folder);
    status = ask_there(&question, folder, lock, error);
    if (question.commands >= 0)
        close(question.commands);
    if (question.answers >= 0)
        close(question.answers);
    close(lock);
    return status;
}
