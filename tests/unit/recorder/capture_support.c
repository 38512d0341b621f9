#include "capture_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "recorder/capture.h"

void capture_support_offer(struct trk_record_session *session, uint32_t ring_records)
{
    struct trk_error error;
    enum trk_status status =
        trk_record_session_init(session, ring_records, TRK_PAYLOAD_NONE, &error);
    cr_assert_eq(status, TRK_OK, "no session: %s", error.text);
    char number[16];
    snprintf(number, sizeof(number), "%d", dup(session->fd));
    setenv(TRK_SESSION_VARIABLE, number, 1);
}

void capture_support_join(struct trk_record_session *session, uint32_t ring_records)
{
    struct trk_error error;
    capture_support_offer(session, ring_records);
    enum trk_status status = trk_capture_open(&error);
    cr_assert_eq(status, TRK_OK, "not joined: %s", error.text);
}

size_t capture_support_take(const struct trk_record_session *session, uint32_t index,
                            struct trk_record *out, size_t capacity)
{
    struct trk_session_ring *ring = &session->rings[index];
    const struct trk_record *records = session->records + (size_t)index * session->ring_records;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t count = 0;
    for (; tail + count < head && count < capacity; ++count)
        out[count] = records[(tail + count) & (session->ring_records - 1)];
    atomic_store_explicit(&ring->tail, tail + count, memory_order_release);
    return count;
}

uint32_t capture_support_ring_of(const struct trk_record_session *session, uint32_t thread_id)
{
    uint32_t index = 0;
    while (index < session->ring_count &&
           (atomic_load(&session->rings[index].state) != TRK_RING_LIVE ||
            session->rings[index].thread_id != thread_id))
        ++index;
    return index;
}
