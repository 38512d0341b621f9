#define _GNU_SOURCE /* O_CLOEXEC */
#include "record_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_internal.h"
#include "recorder/place.h"

static void fail(struct trk_record_dump *dump)
{
    int reason = errno;
    dump->status = trk_error_set_errno(&dump->error, reason == EEXIST ? TRK_E_EXISTS : TRK_E_SYSTEM,
                                       reason, "%.80s", dump->path);
}

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
}

/* Under another name first: nobody finds half a dump. */
static void write_whole(struct trk_record_dump *dump, const char *target)
{
    char part[PATH_MAX + 16];
    snprintf(part, sizeof part, "%s.part-%d", target, (int)getpid());
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        fail(dump);
        return;
    }
    write_file(dump, fd);
    close(fd);
    bool named = dump->status == TRK_OK &&
                 (dump->overwrite ? rename(part, target) : link(part, target)) == 0;
    if (dump->status == TRK_OK && !named)
        fail(dump);
    if (!named || !dump->overwrite)
        (void)unlink(part);
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

void trk_record_dump_name(struct trk_record_dump *dump, const char *path, uint32_t number)
{
    size_t length = strlen(path);
    size_t stem = length > 4 && strcmp(path + length - 4, ".trk") == 0 ? length - 4 : length;
    if (number == 1)
        snprintf(dump->path, sizeof dump->path, "%s", path);
    else
        snprintf(dump->path, sizeof dump->path, "%.*s-%u%s", (int)stem, path, number, path + stem);
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
