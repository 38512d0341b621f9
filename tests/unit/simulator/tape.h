/*
 * A tape: traces made in a test, by the real core, without a recorder.
 *
 * The test acts as one of a few threads at a time; what the core emits and what the test notes goes
 * into that thread's stream. Time advances with every event, so that the written order is the
 * trace's canonical order. Nothing is left behind: the file is in memory.
 */
#ifndef TAPE_H
#define TAPE_H

#include "recorder/trace.h"
#include "recorder/writer.h"
#include "simulator/sim.h"
#include "track/pages.h"
#include "track/thread.h"
#include "track/tracker.h"

#define TAPE_STREAMS 4u
#define TAPE_EVENTS  16384u

/* Where the tests act: one region, far from its borders. */
#define TAPE_A   UINT64_C(0x200010000)
#define TAPE_P   UINT64_C(4096)
#define TAPE_R   UINT64_C(0x400000)
#define TAPE_CPU TRK_AGENT_CPU
#define TAPE_GPU TRK_AGENT_GPU

struct tape_stream {
    size_t count;
    struct trk_record records[TAPE_EVENTS];
};

struct tape {
    struct tape_stream streams[TAPE_STREAMS];
    struct trk_thread threads[TAPE_STREAMS];
    uint32_t now;
    uint64_t tsc;
    uint32_t number;     /* of events */
    uint64_t after_look; /* 0, or where the next thread stores behind the next fault's look */
    struct trk_backend *backend;
    struct trk_tracker *tracker, *second;
    bool end;             /* write END; else the file just stops */
    int32_t child_status; /* in END */
    uint64_t dropped;     /* reported lost before the last stream's last event */
    struct trk_trace *trace;
    void *bytes;
    size_t size_bytes;
};

/* A tracker of a policy (a preset, or "generations": the default with them), declared, with all of
 * two regions registered. */
struct tape *tape_create(const char *policy);
void tape_destroy(struct tape *tape);

/* A further tracker with number 1. */
void tape_add_tracker(struct tape *tape);

/* Act as this thread from now on. */
void tape_as(struct tape *tape, uint32_t stream);
void tape_put(struct tape *tape, const struct trk_event *event);

/* For operations whose status is of no interest. */
static inline void ignore(enum trk_status status)
{
    (void)status;
}

/* Annotations. */
void tape_copy(struct tape *tape, enum trk_copy direction, uint64_t guest_addr,
               uint64_t size_bytes);
void tape_store(struct tape *tape, enum trk_agent agent, uint64_t guest_addr, uint32_t stamp);
void tape_check(struct tape *tape, enum trk_agent agent, uint64_t guest_addr, uint32_t stamp);
void tape_gpu_read(struct tape *tape, uint64_t guest_addr, uint32_t size_bytes);
void tape_signal(struct tape *tape, uint32_t timeline, uint64_t value);
void tape_await(struct tape *tape, uint32_t timeline, uint64_t value);
void tape_map(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes, uint32_t frame,
              unsigned flags);

/* Operations of tracker 0, whose status is of no interest here. */
void tape_upload(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes, bool written);
/* With a copy up in each range callback. */
void tape_upload_copying(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes);
/* A witnessed store to one byte's word: with the fault that it would raise. */
void tape_store_faulting(struct tape *tape, uint64_t guest_addr, uint32_t stamp);
void tape_drain(struct tape *tape, uint64_t guest_addr, uint64_t size_bytes);

/* The n-th event of a type, in order of all streams; aborts the test when there is none. */
struct trk_event *tape_find(struct tape *tape, uint8_t type, unsigned nth);
/* Take that event out. */
void tape_remove(struct tape *tape, uint8_t type, unsigned nth);

/* Write, read back, simulate; by the oracle alone. */
struct trk_sim_report tape_judge(struct tape *tape);
struct trk_sim_report tape_judge_alone(struct tape *tape, uint32_t granule_bytes);

/* Every field, every word. */
bool tape_reports_equal(const struct trk_sim_report *left, const struct trk_sim_report *right);

/* The type of the event with a number, after tape_judge; 0 for none. */
uint8_t tape_type_at(struct tape *tape, uint64_t number);

#endif
