/*
 * What the replay_*.c and path_*.c files share: a plan and a policy, on a device.
 *
 * slot     a part of each staging ring and the command buffer that goes with it; chunks use the
 *          slots in turn.
 * landing  on the device: where a shader finds what came in one linear copy, or leaves what goes.
 */
#ifndef REPLAY_INTERNAL_H
#define REPLAY_INTERNAL_H

#include "copy_pool.h"
#include "fill_shader.h"
#include "gpu_internal.h"
#include "replayer/replay.h"
#include "schedule.h"

#define REPLAY_SLOTS_MAX 64u

/* The bytes of a slot's table of entries. */
#define REPLAY_TABLE_BYTES ((uint64_t)SCHEDULE_ENTRIES_MAX * sizeof(struct schedule_entry))

struct replay_slot {
    struct gpu_commands commands;
    uint64_t offset; /* in the rings */
    uint64_t table;  /* in the ring of tables */
};

/* A submit whose time is taken: queries 2 * i and 2 * i + 1. */
struct replay_stamp {
    uint32_t frame;     /* index in the plan */
    uint64_t event;     /* of the first of the copies that it is among */
    uint64_t submit_ns; /* it is submitted later than this, by the host's clock */
};

/* When the host began a frame and had waited for all of it. */
struct replay_bracket {
    uint64_t begin_ns, end_ns;
};

/*
 * What all replays of one plan on one device share: the mirror on both sides. Each pass begins by
 * restoring it.
 */
struct replay_ground {
    struct gpu_image *images, *host_images; /* by the plan's; host_images: the host copies those */
    struct replay_ground *next;
    const struct trk_plan *plan;
    uint32_t users;
    uint8_t *guest; /* guest memory: the mirror on the host */
    uint64_t guest_bytes;
    struct copy_pool pool; /* of all processors: for what is not measured */
    bool pool_made;
    struct gpu_buffer imported;       /* the same, as the device sees it; made when it is needed */
    struct gpu_buffer mirror, mapped; /* the device's; mapped: in memory that the host can write */
};

struct scatter; /* path_scatter.c */
struct model;   /* replay_check.c */

struct trk_replay {
    struct trk_gpu *gpu;
    const struct trk_plan *plan;
    struct trk_transfer_policy policy;
    const struct replay_path *path;
    struct schedule schedule;
    struct copy_pool pool;
    bool pool_made;
    struct replay_ground *ground;
    uint8_t *guest;                  /* the ground's */
    const struct gpu_buffer *mirror; /* likewise */
    const struct gpu_image *images;  /* likewise */
    uint64_t settled;                /* value of the submission that host copies are behind */
    struct gpu_buffer upload, readback, landing, tables, scratch;
    uint32_t slot_count, next_slot;
    struct replay_slot slots[REPLAY_SLOTS_MAX];
    struct gpu_commands writes; /* the GPU's own, on the universal queue */
    VkBufferCopy *copies;       /* room for the regions of one chunk */
    size_t copy_capacity;
    struct scatter *scatter;
    struct fill_shader dispatches; /* api NULL: the plan has none */
    VkQueryPool queries;
    struct replay_stamp *stamps;
    uint32_t stamp_count, stamp_capacity;
    uint64_t *ticks;
    struct replay_bracket *brackets; /* a frame */
    uint64_t begin_ns;               /* of the pass, by the host's clock */
    struct model *model;             /* of a check; NULL: a measured pass */
    uint64_t host_ns;                /* of this frame, so far */
    uint64_t clock_begin;            /* 0: the clock stands */
    uint64_t submits;
};

/* How regions travel. */
struct replay_path {
    const char *name;
    bool staged; /* the host copies into slots, and a slot is what a command reads */
    bool up_in_place, down_in_place; /* see schedule_options */
    bool entries;                    /* a shader moves the pieces */
    bool fetches;                    /* up: out of the slot itself */
    bool imported;                   /* guest memory is the device's to read */
    bool host_images;                /* the host copies images itself */
    enum gpu_memory mirror;
    /* What the path needs of the device; TRK_E_UNSUPPORTED says what it lacks. */
    enum trk_status (*able)(const struct trk_gpu *gpu, enum trk_policy_queue queue,
                            struct trk_error *error);
    /* Record the copies of a chunk; NULL: there is nothing to submit. */
    void (*up)(struct trk_replay *replay, const struct schedule_chunk *chunk,
               const struct replay_slot *slot);
    void (*down)(struct trk_replay *replay, const struct schedule_chunk *chunk,
                 const struct replay_slot *slot);
};

extern const struct replay_path replay_path_copy, replay_path_scatter, replay_path_import,
    replay_path_import_scatter, replay_path_direct, replay_path_host_copy, replay_path_fetch;

/* path_copy.c: one region a piece, between a ring and the mirror; other paths use them, too. */
void replay_copy_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                    const struct replay_slot *slot);
void replay_copy_down(struct trk_replay *replay, const struct schedule_chunk *chunk,
                      const struct replay_slot *slot);
/* Only the pieces that no shader can move. */
void replay_copy_loose(struct trk_replay *replay, const struct schedule_chunk *chunk,
                       const struct replay_slot *slot, bool up);

/* path_scatter.c */
enum trk_status replay_scatter_open(struct trk_replay *replay, struct trk_error *error);
void replay_scatter_close(struct trk_replay *replay);
/* The bytes of the mirror that a shader sees at once. */
uint64_t replay_scatter_window(const struct trk_gpu *gpu);

/* replay_write.c: what the GPU writes by itself, and what both sides hold at first. */
enum trk_status replay_writes(struct trk_replay *replay, const struct trk_plan_group *group,
                              struct trk_error *error);
enum trk_status replay_restore(struct trk_replay *replay, struct trk_error *error);
void replay_stores(struct trk_replay *replay, const struct trk_plan_group *group);

/* replay_images.c */
enum trk_status replay_images_open(struct trk_replay *replay, struct trk_error *error);
void replay_images_close(struct trk_gpu *gpu, struct replay_ground *ground);
/* The copies of a chunk of images, whatever the path. */
void replay_images_up(struct trk_replay *replay, const struct schedule_chunk *chunk,
                      const struct replay_slot *slot);
void replay_images_down(struct trk_replay *replay, const struct schedule_chunk *chunk,
                        const struct replay_slot *slot);
/* The copies of a chunk of images by the host, done when this returns. */
enum trk_status replay_images_host(struct trk_replay *replay, const struct schedule_chunk *chunk,
                                   bool up, struct trk_error *error);
/* The bytes of the scratch buffer that writes of the plan need. */
uint64_t replay_images_scratch(const struct trk_plan *plan);
void replay_images_write(struct trk_replay *replay, const struct trk_plan_item *item);
void replay_images_restore(struct trk_replay *replay);

/* Bytes of the mirror, brought to the beginning of a buffer. */
struct replay_look {
    uint64_t offset, size_bytes;
    VkBuffer target;
};

/* Record the copies of what of them is in images. */
void replay_images_look(struct trk_replay *replay, const struct gpu_commands *commands,
                        const struct replay_look *look);

/* replay_ground.c */
enum trk_status replay_ground_take(struct trk_replay *replay, struct trk_error *error);
void replay_ground_give(struct trk_replay *replay);

/* replay_run.c: all frames once. pass: NULL in a check. */
enum trk_status replay_run(struct trk_replay *replay, struct trk_replay_pass *pass,
                           struct trk_error *error);

/* replay_times.c */
enum trk_status replay_times_init(struct trk_replay *replay, struct trk_error *error);
void replay_times_deinit(struct trk_replay *replay);
enum trk_status replay_times_reset(struct trk_replay *replay, struct trk_error *error);
/* The pair of both clocks at the beginning of a pass, or at its end. */
enum trk_status replay_times_pair(const struct trk_replay *replay, struct trk_clock_pair *pair,
                                  struct trk_error *error);
/* Around the copies of a submit. */
void replay_times_begin(struct trk_replay *replay, const struct gpu_commands *commands,
                        const struct trk_plan_group *group);
void replay_times_end(struct trk_replay *replay, const struct gpu_commands *commands);
void replay_clock_start(struct trk_replay *replay);
void replay_clock_stop(struct trk_replay *replay);

/* replay_stamps.c: what the stamps of a pass say. */
enum trk_status replay_stamps_read(struct trk_replay *replay, struct trk_replay_pass *pass,
                                   struct trk_error *error);

/* replay_check.c: told of each group when it has run. */
enum trk_status replay_check_group(struct trk_replay *replay, const struct trk_plan_group *group,
                                   struct trk_error *error);

#endif
