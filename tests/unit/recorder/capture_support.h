/* What the capture tests share: a session made in the test's own process, and a look into it. */
#ifndef TESTS_CAPTURE_SUPPORT_H
#define TESTS_CAPTURE_SUPPORT_H

#include "record_session.h"

/* Make a session and name it in the environment, through a descriptor of its own. */
void capture_support_offer(struct trk_record_session *session, uint32_t ring_records);

/* The same, joined. The test fails if that does not work. */
void capture_support_join(struct trk_record_session *session, uint32_t ring_records);

/* Copy what ring `index` has published and not yet given back; returns the count. */
size_t capture_support_take(const struct trk_record_session *session, uint32_t index,
                            struct trk_record *out, size_t capacity);

/* The ring that is in use by a thread id; ring_count when there is none. */
uint32_t capture_support_ring_of(const struct trk_record_session *session, uint32_t thread_id);

#endif
