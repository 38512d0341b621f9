/*
 * Joining a session.
 *
 * The descriptor's number comes from the environment, so it is anybody's word: each property that
 * later code relies on is checked here, and a descriptor that was not meant for us is refused and
 * left alone. The seal against shrinking matters most: without it the mapping could raise SIGBUS.
 */
#define _GNU_SOURCE /* F_GET_SEALS */
#include "capture_session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "track/address.h"
#include "track/backend.h"

static struct trk_capture_gate *forked_gate;

static enum trk_status system_error(struct trk_error *error, const char *what)
{
    return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "session: %s", what);
}

/* The variable's value: a plain decimal number that can be a descriptor. */
static enum trk_status session_descriptor(int *out, struct trk_error *error)
{
    const char *value = getenv(TRK_SESSION_VARIABLE);
    if (!value)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "no session: %s is not set",
                             TRK_SESSION_VARIABLE);
    int fd = 0;
    size_t length = strlen(value);
    bool usable = length > 0 && length <= 7;
    for (size_t i = 0; usable && i < length; ++i) {
        usable = value[i] >= '0' && value[i] <= '9';
        fd = fd * 10 + (value[i] - '0');
    }
    if (!usable)
        return trk_error_set(error, TRK_E_ARGUMENT, "session: %s=%.32s is no descriptor",
                             TRK_SESSION_VARIABLE, value);
    *out = fd;
    return TRK_OK;
}

/* A sealed memory object that is large enough for a control page. */
static enum trk_status session_object(int fd, uint64_t *size_bytes, struct trk_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return system_error(error, TRK_SESSION_VARIABLE);
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return trk_error_set(error, TRK_E_ARGUMENT, "session: descriptor %d is no session object",
                             fd);
    if (status.st_size < (off_t)TRK_SESSION_CONTROL_BYTES)
        return trk_error_set(error, TRK_E_ARGUMENT, "session: object of %lld bytes is too small",
                             (long long)status.st_size);
    *size_bytes = (uint64_t)status.st_size;
    return TRK_OK;
}

/* Whether what the control page says agrees with itself and with the object. */
static enum trk_status session_check(const struct trk_session_control *control, uint64_t size_bytes,
                                     struct trk_error *error)
{
    if (control->magic != TRK_SESSION_MAGIC)
        return trk_error_set(error, TRK_E_ARGUMENT, "session: wrong magic");
    if (control->version != TRK_SESSION_VERSION)
        return trk_error_set(error, TRK_E_VERSION, "session: version %u, this program speaks %u",
                             control->version, TRK_SESSION_VERSION);
    uint32_t records = control->ring_records;
    bool good = control->block_ms <= TRK_SESSION_BLOCK_MS_MAX && control->ring_count >= 1 &&
                control->ring_count <= TRK_SESSION_RINGS &&
                records >= TRK_SESSION_RING_RECORDS_MIN &&
                records <= TRK_SESSION_RING_RECORDS_MAX && (records & (records - 1)) == 0 &&
                control->size_bytes == size_bytes && control->payload <= TRK_PAYLOAD_PAGES &&
                trk_session_bytes(control->ring_count, records, control->payload) == size_bytes;
    if (!good)
        return trk_error_set(error, TRK_E_ARGUMENT, "session: sizes do not fit together");
    return TRK_OK;
}

static bool overlaps(uint64_t first, uint64_t size, uint64_t other_first, uint64_t other_end)
{
    return first < other_end && other_first < first + size;
}

/* Whether a mapping would lie where guest memory is, or where a biased backend puts it. */
static bool lies_in_band(const void *address, uint64_t size_bytes)
{
    const uint64_t biases[] = {0, (uint64_t)trk_host_bias_default()};
    uint64_t first = (uint64_t)(uintptr_t)address;
    for (size_t i = 0; i < 2; ++i) {
        if (overlaps(first, size_bytes, TRK_LOW_FIRST + biases[i], TRK_LOW_END + biases[i]) ||
            overlaps(first, size_bytes, TRK_ARENA_FIRST + biases[i], TRK_ARENA_END + biases[i]))
            return true;
    }
    return false;
}

/* Map the object outside every band: a page of ours that a tracker closes would be the end. */
static void *map_outside_bands(int fd, uint64_t size_bytes)
{
    static const uint64_t hints[] = {0, UINT64_C(0x7e0000000000), UINT64_C(0x700000000000),
                                     UINT64_C(0x600000000000), UINT64_C(0x300000000000)};
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); ++i) {
        void *map = mmap((void *)(uintptr_t)hints[i], size_bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            return NULL;
        if (!lies_in_band(map, size_bytes))
            return map;
        munmap(map, size_bytes);
    }
    errno = ENOMEM;
    return NULL;
}

static void close_gate_in_child(void)
{
    if (forked_gate)
        atomic_store_explicit(&forked_gate->open, 0, memory_order_relaxed);
}

/* The page that a fork clears; where the kernel cannot, fork(3) does it. */
static struct trk_capture_gate *create_gate(void)
{
    void *page =
        mmap(NULL, TRK_HOST_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    forked_gate = page;
    if (madvise(page, TRK_HOST_PAGE_BYTES, MADV_WIPEONFORK) != 0)
        (void)pthread_atfork(NULL, NULL, close_gate_in_child);
    return page;
}

void trk_capture_session_build(struct trk_session_control *control)
{
    uint8_t id[TRK_BUILD_ID_BYTES] = {0};
    uint32_t size = (uint32_t)trk_capture_build(TRK_OWN_PROGRAM, id);
    for (size_t i = 0; i < TRK_BUILD_ID_BYTES / 8; ++i) {
        uint64_t word;
        memcpy(&word, id + 8 * i, sizeof word);
        atomic_store_explicit(&control->build_id[i], word, memory_order_relaxed);
    }
    atomic_store_explicit(&control->build_id_bytes, size, memory_order_relaxed);
}

static enum trk_status session_claim(struct trk_session_control *control, struct trk_error *error)
{
    uint32_t nobody = 0;
    if (!atomic_compare_exchange_strong(&control->attached, &nobody, 1)) {
        atomic_fetch_add_explicit(&control->refused_joins, 1, memory_order_relaxed);
        return trk_error_set(error, TRK_E_EXISTS,
                             "session: another program (process %u) was recorded first; this one "
                             "runs unrecorded",
                             atomic_load_explicit(&control->pid, memory_order_relaxed));
    }
    struct stat names;
    if (stat(TRK_SESSION_PID_NAMESPACE, &names) == 0)
        atomic_store_explicit(&control->pid_namespace, (uint64_t)names.st_ino,
                              memory_order_relaxed);
    trk_capture_session_build(control);
    atomic_store_explicit(&control->pid, (uint32_t)getpid(), memory_order_release);
    return TRK_OK;
}

static enum trk_status session_map(struct trk_capture_session *session, int fd, uint64_t size_bytes,
                                   struct trk_error *error)
{
    unsigned char *map = map_outside_bands(fd, size_bytes);
    if (!map)
        return system_error(error, "mmap");
    struct trk_session_control *control = (struct trk_session_control *)(void *)map;
    enum trk_status status = session_check(control, size_bytes, error);
    if (status != TRK_OK)
        goto refused;
    session->ring_count = control->ring_count;
    session->ring_records = control->ring_records;
    session->block_ms = control->block_ms;
    session->payload = control->payload;
    /* A second look at what was copied: the checked values are the used ones. */
    if (trk_session_bytes(session->ring_count, session->ring_records, session->payload) !=
        size_bytes) {
        status = trk_error_set(error, TRK_E_ARGUMENT, "session: sizes change while being read");
        goto refused;
    }
    session->gate = create_gate();
    if (!session->gate) {
        status = system_error(error, "mmap");
        goto refused;
    }
    status = session_claim(control, error);
    if (status != TRK_OK) {
        munmap(session->gate, TRK_HOST_PAGE_BYTES);
        forked_gate = NULL;
        goto refused;
    }
    session->control = control;
    session->rings = (struct trk_session_ring *)(void *)(map + trk_session_rings_offset());
    session->losses =
        (struct trk_session_losses *)(void *)(map + trk_session_losses_offset(session->ring_count));
    session->records =
        (struct trk_record *)(void *)(map + trk_session_records_offset(session->ring_count));
    session->pages =
        (struct trk_session_pages *)(void *)(map + trk_session_pages_offset(session->ring_count,
                                                                            session->ring_records));
    return TRK_OK;
refused:
    munmap(map, size_bytes);
    return status;
}

enum trk_status trk_capture_session_join(struct trk_capture_session *out, struct trk_error *error)
{
    int fd = -1;
    uint64_t size_bytes = 0;
    struct trk_capture_session session = {0};
    enum trk_status status = session_descriptor(&fd, error);
    if (status == TRK_OK)
        status = session_object(fd, &size_bytes, error);
    if (status == TRK_OK)
        status = session_map(&session, fd, size_bytes, error);
    if (status != TRK_OK)
        return status;
    (void)close(fd);
    (void)unsetenv(TRK_SESSION_VARIABLE);
    *out = session;
    return TRK_OK;
}
