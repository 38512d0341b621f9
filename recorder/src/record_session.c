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
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record_text.h"
#include "recorder/record.h"
#include "session_populate.h"

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "session: %s", what);
}

/* The limit counts for memory objects too. */
static enum trk_status limit_error(struct trk_error *error, uint64_t size_bytes)
{
    (void)trk_error_set(error, TRK_E_SYSTEM,
                        "session: the limit on file sizes is below the %llu bytes of all rings",
                        (unsigned long long)size_bytes);
    if (error)
        error->os_errno = EFBIG;
    return TRK_E_SYSTEM;
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

/* Equal today, which is what this holds them to. NOLINTBEGIN(misc-redundant-expression) */
_Static_assert(TRK_RECORD_RING_LEAST == TRK_SESSION_RING_RECORDS_MIN, "one bound");
_Static_assert(TRK_RECORD_RING_MOST == TRK_SESSION_RING_RECORDS_MAX, "one bound");
_Static_assert(TRK_RECORD_BLOCK_MOST == TRK_SESSION_BLOCK_MS_MAX, "one bound");
/* NOLINTEND(misc-redundant-expression) */
_Static_assert(TRK_RECORD_BYTES == sizeof(struct trk_record), "one size");

enum trk_status trk_record_session_init(struct trk_record_session *out, uint32_t ring_records,
                                        enum trk_record_payload payload, struct trk_error *error)
{
    uint32_t records = ring_records ? ring_records : TRK_SESSION_RING_RECORDS;
    if (records < TRK_SESSION_RING_RECORDS_MIN || records > TRK_SESSION_RING_RECORDS_MAX ||
        (records & (records - 1)) != 0)
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "ring of %u records: a power of two from %u to %u is needed", records,
                             TRK_SESSION_RING_RECORDS_MIN, TRK_SESSION_RING_RECORDS_MAX);
    uint64_t size_bytes = trk_session_bytes(TRK_SESSION_RINGS, records, payload);
    int fd = memfd_create(TRK_SESSION_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return system_error(error, "memfd_create");
    if (ftruncate(fd, (off_t)size_bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        enum trk_status status =
            errno == EFBIG ? limit_error(error, size_bytes) : system_error(error, "memory object");
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
        .losses = (struct trk_session_losses *)(void *)(map + trk_session_losses_offset(
                                                                  TRK_SESSION_RINGS)),
        .records =
            (struct trk_record *)(void *)(map + trk_session_records_offset(TRK_SESSION_RINGS)),
        .ring_count = TRK_SESSION_RINGS,
        .ring_records = records,
    };
    if (payload == TRK_PAYLOAD_PAGES)
        out->pages = (struct trk_session_pages *)(void *)(map + trk_session_pages_offset(
                                                                    TRK_SESSION_RINGS, records));
    trk_session_populate_beginnings(map, TRK_SESSION_RINGS, records);
    fill_control(out);
    out->control->payload = payload;
    return TRK_OK;
}

void trk_record_session_deinit(struct trk_record_session *session)
{
    munmap(session->map, session->size_bytes);
    if (session->fd >= 0)
        close(session->fd);
}

int trk_record_session_share(struct trk_record_session *session)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", session->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0) {
        session->watched = true;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return fcntl(session->fd, F_DUPFD_CLOEXEC, 3);
}

bool trk_record_session_held(const struct trk_record_session *session)
{
    if (!session->watched)
        return false;
    if (flock(session->fd, LOCK_EX | LOCK_NB) != 0)
        return true;
    (void)flock(session->fd, LOCK_UN);
    return false;
}

bool trk_record_session_name(const struct trk_session_ring *shared, struct trk_trace_stream *stream,
                             uint32_t *version)
{
    uint64_t words[TRK_SESSION_NAME_WORDS];
    uint32_t before = atomic_load_explicit(&shared->name_version, memory_order_acquire);
    for (size_t i = 0; i < TRK_SESSION_NAME_WORDS; ++i)
        words[i] = atomic_load_explicit(&shared->name[i], memory_order_acquire);
    uint32_t role = atomic_load_explicit(&shared->role, memory_order_acquire);
    if ((before & 1u) ||
        before != atomic_load_explicit(&shared->name_version, memory_order_relaxed))
        return false;
    _Static_assert(sizeof(words) == sizeof(stream->name), "one size of names");
    memcpy(stream->name, words, sizeof(words));
    stream->name[sizeof(stream->name) - 1] = '\0';
    trk_record_text_clean(stream->name);
    stream->role = role;
    *version = before;
    return true;
}
