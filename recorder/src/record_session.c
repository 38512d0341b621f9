/*
 * Making the session object.
 *
 * It is sealed against changes of size, so that neither side can take pages from under the other's
 * mapping.
 */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "record_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    int saved = errno;
    enum trk_status status =
        trk_error_set(error, TRK_E_SYSTEM, "session: %s: %s", what, strerror(saved));
    if (error)
        error->os_errno = saved;
    return status;
}

static void fill_control(const struct trk_record_session *session)
{
    struct trk_session_control *control = session->control;
    control->magic = TRK_SESSION_MAGIC;
    control->version = TRK_SESSION_VERSION;
    control->ring_count = session->ring_count;
    control->ring_records = session->ring_records;
    control->size_bytes = session->size_bytes;
}

enum trk_status trk_record_session_init(struct trk_record_session *out, uint32_t ring_records,
                                        struct trk_error *error)
{
    uint32_t records = ring_records ? ring_records : TRK_SESSION_RING_RECORDS;
    if (records < TRK_SESSION_RING_RECORDS_MIN || records > TRK_SESSION_RING_RECORDS_MAX ||
        (records & (records - 1)) != 0)
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "ring of %u records: a power of two from %u to %u is needed", records,
                             TRK_SESSION_RING_RECORDS_MIN, TRK_SESSION_RING_RECORDS_MAX);
    uint64_t size_bytes = trk_session_bytes(TRK_SESSION_RINGS, records);
    int fd = memfd_create("trk-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return system_error(error, "memfd_create");
    if (ftruncate(fd, (off_t)size_bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        enum trk_status status = system_error(error, "memory object");
        close(fd);
        return status;
    }
    unsigned char *map = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        enum trk_status status = system_error(error, "mmap");
        close(fd);
        return status;
    }
    *out = (struct trk_record_session){
        .fd = fd,
        .map = map,
        .size_bytes = size_bytes,
        .control = (struct trk_session_control *)(void *)map,
        .rings = (struct trk_session_ring *)(void *)(map + trk_session_rings_offset()),
        .records =
            (struct trk_record *)(void *)(map + trk_session_records_offset(TRK_SESSION_RINGS)),
        .ring_count = TRK_SESSION_RINGS,
        .ring_records = records,
    };
    fill_control(out);
    return TRK_OK;
}

void trk_record_session_deinit(struct trk_record_session *session)
{
    munmap(session->map, session->size_bytes);
    if (session->fd >= 0)
        close(session->fd);
}
