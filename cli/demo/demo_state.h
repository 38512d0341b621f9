/*
 * What the demo's own files share: the whole state of one run.
 *
 * guest    a thread that plays the console's program: native stores and loads, nothing else.
 * render   the thread that called trk_demo_run: the emulator's side.
 * frame F  starts with the guests' first part, which render awaits; then the guests' second part
 *          runs beside the render thread's uploads. In the middle of the chosen area's upload one
 *          guest and the render thread meet. After the uploads the same guest makes a visit: it
 *          stores to the HLE area, and the render thread waits for it.
 */
#ifndef DEMO_STATE_H
#define DEMO_STATE_H

#include <pthread.h>
#include <semaphore.h>

#include "demo.h"
#include "demo_gpu.h"
#include "demo_memory.h"
#include "demo_sync.h"
#include "track/fault.h"
#include "track/paranoid.h"
#include "track/tracker.h"

#define DEMO_TRACKER 0u /* its id */

/* The bug acts once, in one of these frames, so that its story has a past. */
#define DEMO_BUG_FRAME_FIRST 5u
#define DEMO_BUG_FRAME_LAST  15u

/* A texture is loaded in such a frame, too; the GPU reads a corner of it in each frame from then
 * on, and the rest so many frames later. */
#define DEMO_TEXTURE_FRAMES 200u

/* Slots that the guest of the meeting stores to, at most. */
#define DEMO_MID_SLOTS 4u

/* Slots that a frame's checks look at whatever the sample is, at most. */
#define DEMO_SURE_SLOTS 8u

/* Who does what in a frame; follows from the frame's number alone. */
struct demo_plan {
    uint32_t frame;
    uint32_t chosen;    /* the area whose upload has the meeting */
    uint32_t early;     /* the area uploaded beside the guests' first part */
    uint32_t mid_guest; /* the guest that comes to the meeting, and then for a visit */
    uint32_t late_slot; /* slot of a page that the second part stores to */
    bool bug;           /* the bug acts in this frame */
    bool acts;          /* a bug would act in this frame; the texture is loaded */
};

struct demo;

struct demo_guest {
    struct demo *demo;
    uint32_t number;
    bool started;
    pthread_t thread;
    struct demo_dice dice;
    uint64_t faults, stores, loads, mismatches;
    const uint64_t *work; /* what it reads in each frame; NULL: nothing */
    volatile uint64_t sum;
};

struct demo {
    struct trk_demo_options options;
    struct demo_memory memory;
    struct demo_gpu gpu;
    struct demo_sync sync;
    sem_t ready; /* one for each guest that could begin its first frame */
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    struct trk_paranoid *paranoid; /* NULL: not wanted */
    bool installed;                /* the fault handler */
    _Atomic bool stop;
    _Atomic uint64_t failures;
    enum trk_status status; /* first error that is no failure of the tracker */
    struct trk_error error;
    struct demo_dice dice;              /* the render thread's */
    uint32_t mid_slots[DEMO_MID_SLOTS]; /* of this frame; written by the meeting's guest */
    uint32_t mid_count;
    uint32_t sure_slots[DEMO_SURE_SLOTS]; /* of this frame; the render thread's */
    uint32_t sure_count;
    uint32_t result_pages[2]; /* that the service looked at last, of each half */
    uint32_t texture_frame;
    bool texture_there;
    uint32_t visit_slot; /* of this frame; written by the guest of the visit */
    struct demo_guest guests[TRK_DEMO_THREADS_MAX];
    struct demo_dice shuffle;
    uint32_t *scattered; /* pages, of this frame the first options.pages; the render thread's */
    struct trk_demo_result result;
};

struct demo_plan demo_plan_make(const struct trk_demo_options *options, uint32_t frame);

/* Whether a bug is on and acts in this frame. */
bool demo_plan_acts(const struct demo *demo, const struct demo_plan *plan,
                    enum trk_demo_bug_id bug);

/* Keep the first error that ends the run; what the tracker refuses is counted by its handler. */
void demo_note(struct demo *demo, enum trk_status status);

/* demo_guest.c */
void *demo_guest_main(void *guest);
/* The fault handler's owner, and the resource layer: they run on the guest that faulted. */
enum trk_fault_outcome demo_guest_fault(void *demo, uint64_t host_addr, enum trk_access access);
void demo_guest_flush(void *demo, uint64_t guest_addr, uint64_t size_bytes);
void demo_guest_read_back(void *demo, uint64_t guest_addr, uint64_t size_bytes);

/* demo_transfer.c: copies between the sides, by the tracker's word. */
void demo_transfer_up(struct demo *demo, uint32_t area);
/* The same, and the callback takes its range and copies nothing. */
void demo_transfer_up_nothing(struct demo *demo, uint32_t area);
/* A part of no area. */
void demo_transfer_up_part(struct demo *demo, const struct demo_area *part);
/* The upload in whose middle a guest stores to what was just taken, and the one after it. */
void demo_transfer_meeting(struct demo *demo, const struct demo_plan *plan);
/* Let the GPU fill the first `filled_bytes` of each page of a part of an area. */
void demo_transfer_gpu_write(struct demo *demo, const struct demo_area *part, uint32_t filled_bytes,
                             uint32_t frame);
/* How a download goes about its copies. */
enum demo_home {
    DEMO_HOME_RIGHT,
    DEMO_HOME_EARLY,   /* it takes the bytes unfinished */
    DEMO_HOME_NOTHING, /* it brings nothing home */
};

/* Bring a range home; the pages become CLEAN, or the CPU's. */
void demo_transfer_download(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes,
                            enum demo_home how);
void demo_transfer_drain(struct demo *demo, uint64_t guest_addr, uint64_t size_bytes);
void demo_transfer_serve(void *demo, const struct demo_request *request);

/* demo_service.c: what the emulator does to guest memory on the guest's behalf. */
void demo_service_write(struct demo *demo, const struct demo_plan *plan);
void demo_service_file_read(struct demo *demo, const struct demo_plan *plan);
/* A texture comes from a file, in two pieces. */
void demo_service_texture(struct demo *demo, const struct demo_plan *plan);
void demo_service_result_read(struct demo *demo, const struct demo_plan *plan);

/* demo_render.c */
void demo_render_frame(struct demo *demo, uint32_t frame);

/* demo_scattered.c: pages that are stored to and uploaded one by one. */
enum trk_status demo_scattered_open(struct demo *demo, struct trk_error *error);
void demo_scattered_close(struct demo *demo);
/* Choose those of the next frame, before its start. */
void demo_scattered_choose(struct demo *demo);
/* The slot of the guest's `i`-th store to them in a frame. */
uint32_t demo_scattered_slot(const struct demo *demo, uint32_t i, uint32_t frame);
void demo_scattered_upload(struct demo *demo);

/* demo_paranoid.c: all do nothing where it is not wanted. */
enum trk_status demo_paranoid_open(struct demo *demo, struct trk_observer *observer,
                                   struct trk_error *error);
/* Of the area that is about to be read, and of the whole frame. */
void demo_paranoid_draw(struct demo *demo, const struct demo_plan *plan);
void demo_paranoid_frame(struct demo *demo);
void demo_paranoid_close(struct demo *demo);

/* demo_check.c */
void demo_check_gpu(struct demo *demo, const struct demo_plan *plan);
/* Every slot of guest memory, after the last frame. */
void demo_check_memory(struct demo *demo);

#endif
