#define _GNU_SOURCE /* O_TMPFILE */
#include "record_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record_internal.h"
#include "recorder/place.h"

#define FILE_MODE   0666
#define ACCESS_BITS 0777
#define CLAIM_TRIES 16 /* others may put files there at the same time, but not for long */
#define NAME_TRIES  64 /* likewise; more that take each name first are no accident */
#define PART_BYTES  (PATH_MAX + 32)

/* A dump's file while it is written. */
struct part {
    char name[PART_BYTES]; /* "": it has none */
    int fd;
};

static void fail(struct trk_record_dump *dump)
{
    int reason = errno;
    dump->status = trk_error_set_errno(&dump->error, reason == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM,
                                       reason, "%.80s", dump->path);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void name_part(char name[PART_BYTES], const char *target)
{
    snprintf(name, PART_BYTES, "%s.part-%d", target, (int)getpid());
}

static void find_folder(char folder[PATH_MAX], const char *target)
{
    const char *slash = strrchr(target, '/');
    int length = slash == NULL || slash == target ? 1 : (int)(slash - target);
    snprintf(folder, PATH_MAX, "%.*s", length, slash == NULL ? "." : target);
}

/* The way to a file that has no name. */
static void find_nameless(char path[40], int fd)
{
    snprintf(path, 40, "/proc/self/fd/%d", fd);
}

/*
 * A file in the folder of a path. Without a name, so that nothing is left of it when this process
 * is killed; where a file system cannot do that, with one that nobody takes for a dump's.
 */
static bool open_part(struct part *part, const char *target)
{
    char folder[PATH_MAX];
    char way[40];
    find_folder(folder, target);
    part->name[0] = '\0';
    part->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, FILE_MODE);
    find_nameless(way, part->fd);
    if (part->fd >= 0 && access(way, F_OK) == 0)
        return true;
    if (part->fd >= 0)
        close(part->fd);
    name_part(part->name, target);
    part->fd = open(part->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (part->fd < 0)
        part->name[0] = '\0';
    return part->fd >= 0;
}

/* A further name, where nothing has that one. */
static bool link_part(const struct part *part, const char *name)
{
    char way[40];
    find_nameless(way, part->fd);
    return part->name[0] != '\0' ? link(part->name, name) == 0
                                 : linkat(AT_FDCWD, way, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool is_same_file(int fd, const char *path)
{
    struct stat held;
    struct stat there;
    return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_dev == there.st_dev &&
           held.st_ino == there.st_ino;
}

/*
 * The lock of what stands there, as a recording has it that writes as events come; -1: nothing
 * does, or nothing that can be locked. false: another recording writes it.
 */
static bool claim(const char *target, int *lock)
{
    for (int tries = 0; tries < CLAIM_TRIES; ++tries) {
        *lock = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (*lock < 0 && errno == EACCES)
            *lock = open(target, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (*lock < 0)
            return true;
        bool taken = flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        bool is_there = is_same_file(*lock, target);
        if (!taken && is_there)
            return true;
        close(*lock);
        *lock = -1;
        if (taken && is_there)
            return false;
    }
    return false;
}

static enum trk_status refuse(const char *path, struct trk_error *error)
{
    return trk_error_set(error, TRK_E_ARGUMENT, "%.80s: another recording writes it", path);
}

/* Who may read what was there may read what comes in its place, and nobody else. */
static void keep_mode(const struct part *part, const char *target)
{
    struct stat there;
    if (stat(target, &there) == 0)
        (void)fchmod(part->fd, there.st_mode & ACCESS_BITS);
}

/* In the place of what stands there, if nobody writes that. */
static bool replace(struct trk_record_dump *dump, const struct part *part, const char *target)
{
    char name[PART_BYTES];
    int lock = -1;
    bool own = dump->lock >= 0 && is_same_file(dump->lock, target);
    if (!own && !claim(target, &lock)) {
        dump->status = refuse(dump->path, &dump->error);
        return false;
    }
    keep_mode(part, target);
    name_part(name, target);
    bool named = part->name[0] != '\0' || link_part(part, name);
    bool done = named && rename(name, target) == 0;
    if (!done)
        fail(dump);
    if (named && !done)
        (void)unlink(name);
    if (lock >= 0)
        close(lock);
    return done;
}

static void sync_folder(const char *target)
{
    char folder[PATH_MAX];
    find_folder(folder, target);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

/* ---- before the first one -------------------------------------------------------------------- */

static enum trk_status try_folder(const struct recording *recording, const char *target)
{
    struct part part;
    if (!open_part(&part, target))
        return trk_record_output_error(recording, TRK_E_SYSTEM, errno);
    close(part.fd);
    if (part.name[0] != '\0')
        (void)unlink(part.name);
    return TRK_OK;
}

enum trk_status trk_record_dump_init(struct trk_record_dump *dump,
                                     const struct recording *recording)
{
    const struct trk_record_options *options = recording->options;
    enum trk_place place;
    char target[TRK_PLACE_BYTES];
    *dump = (struct trk_record_dump){.overwrite = options->overwrite,
                                     .sync = options->sync,
                                     .lock = -1,
                                     .another = options->name};
    if (strcmp(options->path, "-") == 0 || strlen(options->path) > sizeof dump->path - 40)
        return trk_error_set(recording->error, TRK_E_ARGUMENT,
                             "a flight recording needs a file's name that is not too long");
    snprintf(dump->base, sizeof dump->base, "%s", options->path);
    if (!options->overwrite && access(options->path, F_OK) == 0)
        return trk_error_set(recording->error, TRK_E_EXISTS, "%.80s: File exists", options->path);
    enum trk_status status = trk_record_output_place(recording, &place, target);
    if (status != TRK_OK)
        return status;
    dump->to_stream = place == TRK_PLACE_STREAM;
    if (place == TRK_PLACE_FILE && !claim(target, &dump->lock))
        return refuse(options->path, recording->error);
    return dump->to_stream ? TRK_OK : try_folder(recording, target);
}

void trk_record_dump_deinit(struct trk_record_dump *dump)
{
    trk_record_dump_join(dump);
    if (dump->lock >= 0)
        close(dump->lock);
    dump->lock = -1;
}

void trk_record_dump_name(struct trk_record_dump *dump, uint32_t number)
{
    const char *path = dump->base;
    size_t length = strlen(path);
    size_t stem = length > 4 && strcmp(path + length - 4, ".trk") == 0 ? length - 4 : length;
    dump->is_first = number == 1;
    if (dump->is_first || dump->to_stream)
        snprintf(dump->path, sizeof dump->path, "%s", path);
    else
        snprintf(dump->path, sizeof dump->path, "%.*s-%u%s", (int)stem, path, number, path + stem);
}

/* ---- on the thread --------------------------------------------------------------------------- */

static void write_file(struct trk_record_dump *dump, int fd)
{
    struct trk_writer *writer = NULL;
    struct trk_writer_options options = trk_writer_options_default();
    options.clock_shift = trk_flight_view_clock_shift(dump->view);
    trk_record_output_marker(options.sync_marker);
    dump->status = trk_writer_create(&writer, fd, &options, dump->header_json, &dump->error);
    if (dump->status == TRK_OK)
        dump->status = trk_flight_view_write(dump->view, writer, &dump->error);
    if (dump->status == TRK_OK)
        dump->status = trk_writer_flush(writer, &dump->error);
    if (dump->status != TRK_OK) {
        trk_writer_destroy(writer);
        return;
    }
    dump->events = trk_writer_events(writer);
    dump->missing = trk_writer_dropped(writer);
    if (dump->is_cut)
        trk_writer_destroy(writer);
    else
        dump->status = trk_writer_end(writer, dump->child_status, &dump->error);
    off_t end = lseek(fd, 0, SEEK_CUR);
    dump->bytes = end >= 0 ? (uint64_t)end : 0;
    if (dump->status == TRK_OK && dump->sync && fsync(fd) != 0 && errno != EINVAL) /* a pipe */
        fail(dump);
}

/* What a file system tells no sooner than when a file is closed. The lock stays. */
static void tell_delayed(struct trk_record_dump *dump, int fd)
{
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (again >= 0 && close(again) != 0 && dump->status == TRK_OK)
        fail(dump);
}

/*
 * Another name, where the dump's is taken: recordings beside this one that were not given a name,
 * either, take the next one that is free. false: there is none.
 */
static bool link_another(struct trk_record_dump *dump, const struct part *part,
                         char target[TRK_PLACE_BYTES])
{
    for (int tries = 0; errno == EEXIST && dump->another && tries < NAME_TRIES; ++tries) {
        dump->status = dump->another(target, TRK_PLACE_BYTES, &dump->error);
        if (dump->status != TRK_OK)
            return false;
        snprintf(dump->path, sizeof dump->path, "%s", target);
        if (link_part(part, target))
            return true;
    }
    fail(dump);
    return false;
}

/* Nobody finds half a dump. The first one has the recording's name, which stays its own. */
static void write_whole(struct trk_record_dump *dump, char target[TRK_PLACE_BYTES])
{
    struct part part;
    if (!open_part(&part, target)) {
        fail(dump);
        return;
    }
    (void)flock(part.fd, LOCK_EX | LOCK_NB); /* nobody else has it open */
    if (dump->overwrite)
        keep_mode(&part, target);
    write_file(dump, part.fd);
    tell_delayed(dump, part.fd);
    bool renamed = false;
    if (dump->status == TRK_OK && !link_part(&part, target)) {
        if (dump->overwrite)
            renamed = replace(dump, &part, target);
        else if (link_another(dump, &part, target) && dump->is_first)
            snprintf(dump->base, sizeof dump->base, "%s", target);
    }
    if (part.name[0] != '\0' && !renamed)
        (void)unlink(part.name);
    if (dump->status == TRK_OK && dump->sync)
        sync_folder(target);
    int done = part.fd;
    if (dump->status == TRK_OK && dump->is_first) {
        done = dump->lock;
        dump->lock = part.fd;
    }
    if (done >= 0)
        close(done);
}

/* To a pipe or a device. */
static void write_through(struct trk_record_dump *dump)
{
    int fd = open(dump->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        fail(dump);
        return;
    }
    write_file(dump, fd);
    if (close(fd) != 0 && dump->status == TRK_OK)
        fail(dump);
}

static void *run(void *argument)
{
    struct trk_record_dump *dump = argument;
    enum trk_place place = TRK_PLACE_NEW;
    struct trk_error reason = {0};
    char target[TRK_PLACE_BYTES];
    snprintf(target, sizeof target, "%s", dump->path);
    if (dump->overwrite)
        dump->status = trk_place_find(dump->path, &place, target, &reason);
    if (dump->status != TRK_OK) {
        (void)trk_error_set(&dump->error, dump->status, "%.80s: %s", dump->path, reason.text);
        dump->error.os_errno = reason.os_errno;
    } else if (place == TRK_PLACE_STREAM) {
        write_through(dump);
    } else {
        write_whole(dump, target);
    }
    dump->error.status = dump->status;
    trk_flight_view_destroy(dump->view);
    free(dump->header_json);
    atomic_store(&dump->done, true);
    return NULL;
}

void trk_record_dump_start(struct trk_record_dump *dump)
{
    sigset_t all;
    sigset_t former;
    dump->status = TRK_OK;
    dump->error = (struct trk_error){.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    dump->events = dump->missing = dump->bytes = 0;
    atomic_store(&dump->done, false);
    sigfillset(&all); /* signals are the main thread's */
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    dump->running = pthread_create(&dump->thread, NULL, run, dump) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (!dump->running)
        run(dump);
}

void trk_record_dump_join(struct trk_record_dump *dump)
{
    if (dump->running)
        (void)pthread_join(dump->thread, NULL);
    dump->running = false;
}

/* Of a path in an answer, with what is said around it. */
#define PATH_ANSWERED (TRK_CONTROL_LINE - 16u)
#define PATH_TAIL     100u

void trk_record_dump_answer(const struct trk_record_dump *dump, struct trk_record_control *control)
{
    char answer[TRK_CONTROL_LINE];
    size_t length = strlen(dump->path);
    if (dump->status != TRK_OK)
        snprintf(answer, sizeof answer, "error %.240s", dump->error.text);
    else if (length <= PATH_ANSWERED)
        snprintf(answer, sizeof answer, "ok %.*s", (int)PATH_ANSWERED, dump->path);
    else
        snprintf(answer, sizeof answer,
                 "ok, but its path of %zu bytes is too long for an answer: trk record says it; it "
                 "ends in %.100s",
                 length, dump->path + length - PATH_TAIL);
    trk_record_control_answer(control, answer);
}
