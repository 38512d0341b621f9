/*
 * The flight ring: the newest events of a recording, compressed, in memory.
 *
 * Takes what a writer would take, and forgets the oldest chunks when more than its budget is held.
 * What is held can be taken as a view and written to a file by another thread meanwhile. Chunks are
 * encoded and compressed as in a file, so that minutes fit; the file's own headers are made when it
 * is written. What was last declared of each tracker is never forgotten: without it nothing is
 * judged.
 */
#ifndef RECORDER_FLIGHT_H
#define RECORDER_FLIGHT_H

#include "flight_state.h"
#include "recorder/writer.h"

struct trk_flight;
struct trk_flight_view;

/* budget_bytes counts compressed chunks; what one flush closes may go past it. TRK_E_MEMORY. */
TRK_MUST_USE enum trk_status trk_flight_create(struct trk_flight **out, uint64_t budget_bytes,
                                               struct trk_error *error);
void trk_flight_destroy(struct trk_flight *flight);

/*
 * Keep time stamps without so many of their low bits; as the writer's default until then. Before
 * the first event.
 */
void trk_flight_set_clock_shift(struct trk_flight *flight, unsigned clock_shift);

/*
 * What is kept goes to a file beside that path when memory does not suffice, as long as left_bytes
 * stay free there (flight_spill.h).
 */
TRK_MUST_USE enum trk_status trk_flight_spill(struct trk_flight *flight, const char *path,
                                              uint64_t most_bytes, uint64_t left_bytes,
                                              struct trk_error *error);

/* As trk_writer_stream and trk_writer_append. Allocate; not while another thread appends. */
TRK_MUST_USE enum trk_status trk_flight_stream(struct trk_flight *flight,
                                               const struct trk_trace_stream *stream,
                                               struct trk_error *error);
TRK_MUST_USE enum trk_status trk_flight_append(struct trk_flight *flight, uint32_t stream_id,
                                               const struct trk_record *records, size_t count,
                                               struct trk_error *error);

/* No more comes of a stream: what is open of it takes its place in the ring, and no room beside it.
 */
TRK_MUST_USE enum trk_status trk_flight_end(struct trk_flight *flight, uint32_t stream_id,
                                            struct trk_error *error);

/* Close the open chunk of every stream, so that a view has all; none of these is forgotten yet. */
TRK_MUST_USE enum trk_status trk_flight_flush(struct trk_flight *flight, struct trk_error *error);

/*
 * Chunks whose last event is not before since_ticks, and of no more streams than a file takes: the
 * newest. NULL without memory.
 */
struct trk_flight_view *trk_flight_view(const struct trk_flight *flight, uint64_t since_ticks);
/*
 * Chunks with what comes behind a state, and nothing of before; NULL: behind the beginning. The
 * ring has all of that (trk_flight_has_behind). Not those from end_number on. NULL without memory.
 */
struct trk_flight_view *trk_flight_view_behind(const struct trk_flight *flight,
                                               struct trk_flight_state *state, uint64_t end_number);
/*
 * Let a view end at a moment, in all its streams: what is later is not written. Whoever drained all
 * that was there at that moment has then left out nothing that something in the view rests on.
 */
void trk_flight_view_end_at(struct trk_flight_view *view, uint64_t ticks);
void trk_flight_view_destroy(struct trk_flight_view *view);

/* The ith stream of a view; how many of its events come before the view's state and are not in it.
 */
const struct trk_trace_stream *trk_flight_view_stream(const struct trk_flight_view *view, size_t i);
uint64_t trk_flight_view_before(const struct trk_flight_view *view, size_t i);
size_t trk_flight_view_streams(const struct trk_flight_view *view);
/*
 * How many events of each stream are missing of which nothing else is left, and which therefore
 * stand together with others in one; of other streams 0. False: no memory.
 */
bool trk_flight_view_gone(const struct trk_flight_view *view, uint64_t *events);
const struct trk_flight_state *trk_flight_view_state(const struct trk_flight_view *view);
/* A writer of it with the same loses nothing more. */
unsigned trk_flight_view_clock_shift(const struct trk_flight_view *view);

/*
 * Write a view as events of a writer that has its header, and behind the state that it has. What
 * the ring had forgotten of a stream, or the view leaves out, stands before its first event as a
 * loss of unknown types, and alone where nothing else is left of it; where there were many
 * streams, such ones stand together in one of their own. Statuses: the writer's. Threads:
 * any one.
 */
TRK_MUST_USE enum trk_status trk_flight_view_write(const struct trk_flight_view *view,
                                                   struct trk_writer *writer,
                                                   struct trk_error *error);

/* Whether the view has a stream's record of that number. */
bool trk_flight_view_has(const struct trk_flight_view *view, uint32_t stream_id, uint64_t record);

/* Events forgotten so far, without losses. */
uint64_t trk_flight_forgotten(const struct trk_flight *flight);

/* Bytes of all chunks so far, those that were forgotten too. */
uint64_t trk_flight_bytes_ever(const struct trk_flight *flight);

/* The number that the next chunk gets. */
uint64_t trk_flight_next_number(const struct trk_flight *flight);
#define TRK_FLIGHT_ALL UINT64_MAX /* as the end of a view: all of them */

/* Bytes of the chunks with what comes behind a state; NULL: of all that are held. */
uint64_t trk_flight_bytes_behind(const struct trk_flight *flight,
                                 const struct trk_flight_state *state);

/* Whether the ring goes back to that time, or has forgotten nothing. */
bool trk_flight_reaches(const struct trk_flight *flight, uint64_t ticks);

/* Whether a tracker was declared: without one there is no state. */
bool trk_flight_has_tracker(const struct trk_flight *flight);

/* Whether nothing is forgotten of what comes behind a state; NULL: of all. */
bool trk_flight_has_behind(const struct trk_flight *flight, const struct trk_flight_state *state);

/*
 * What comes behind this state (NULL: the beginning) is not forgotten from now on, as long as there
 * is room: twice the budget in memory, and what the file takes.
 */
void trk_flight_keep_behind(struct trk_flight *flight, const struct trk_flight_state *state);
void trk_flight_keep_nothing(struct trk_flight *flight);

/* From true to false: what is appended in between stays, however far the ring goes past its budget.
 */
void trk_flight_hold(struct trk_flight *flight, bool hold);

/* Records that a stream has got so far: the number of the next one. */
uint64_t trk_flight_records(struct trk_flight *flight, uint32_t stream_id);

#endif
