/*
 * The core that runs go against: libtrack's own, or a plug-in's.
 *
 * All calls of a core go through one of two tables, for scenarios and for traces. Which core is in
 * them is settled once a process, before the first run: a plug-in has its process to itself.
 */
#ifndef SIMULATOR_CORE_H
#define SIMULATOR_CORE_H

#include "track/generations.h"
#include "track/hle.h"
#include "track/pages.h"
#include "track/sim_build.h"
#include "track/thread.h"
#include "track/tracker.h"

/* What a core keeps of a thread: libtrack's own, and what a plug-in wants. */
struct core_thread {
    struct trk_thread thread; /* first: libtrack knows this part */
    uint64_t memory[16];
};

typedef enum trk_status core_range_fn(struct trk_tracker *tracker, uint64_t guest_addr,
                                      uint64_t size_bytes);
typedef enum trk_status core_ask_fn(struct trk_tracker *tracker, uint64_t guest_addr,
                                    uint64_t size_bytes, bool *out);
typedef enum trk_status core_transfer_fn(struct trk_tracker *tracker,
                                         const struct trk_transfer *transfer);
typedef enum trk_status core_mask_fn(struct trk_tracker *tracker, uint64_t base,
                                     const uint64_t *mask, bool read);
typedef enum trk_status core_sum_fn(struct trk_tracker *tracker, uint64_t guest_addr,
                                    uint64_t size_bytes, uint64_t *out);

/* Functions of track/tracker.h, pages.h, hle.h, generations.h, thread.h. */
struct core_calls {
    enum trk_status (*create)(struct trk_tracker **out, const struct trk_tracker_options *options,
                              struct trk_error *error);
    void (*destroy)(struct trk_tracker *tracker);
    core_ask_fn *is_cpu, *is_gpu;
    core_range_fn *mark_cpu, *mark_gpu, *unmark_gpu, *untrack;
    core_transfer_fn *upload, *download, *drain;
    enum trk_status (*invalidate)(struct trk_tracker *tracker, uint64_t guest_addr,
                                  uint64_t size_bytes, trk_flush_fn *flush, void *context);
    core_range_fn *register_bytes, *unregister_bytes;
    enum trk_status (*guest_rights)(struct trk_tracker *tracker, uint64_t guest_addr,
                                    uint64_t size_bytes, unsigned rights);
    enum trk_status (*resource_layer)(struct trk_tracker *tracker,
                                      const struct trk_resource_layer *layer);
    enum trk_fault_outcome (*fault)(struct trk_tracker *tracker, uint64_t guest_addr,
                                    enum trk_access access);
    enum trk_status (*lock)(struct trk_tracker *tracker, uint64_t guest_addr);
    enum trk_status (*unlock)(struct trk_tracker *tracker, uint64_t guest_addr);
    enum trk_status (*join_views)(struct trk_tracker *tracker, uint64_t guest_addr,
                                  uint64_t other_addr, uint64_t size_bytes);
    core_range_fn *leave_view;
    enum trk_status (*hle_write)(struct trk_tracker *tracker, const struct trk_hle_write *write,
                                 bool *written);
    core_range_fn *watch, *unwatch;
    core_mask_fn *watch_mask, *unwatch_mask;
    struct trk_page_view (*page)(struct trk_tracker *tracker, uint64_t guest_addr);
    uint64_t (*live_watches)(const struct trk_tracker *tracker);
    bool (*met)(const struct trk_tracker *tracker, uint64_t guest_addr);
    void (*set_met)(struct trk_tracker *tracker, uint64_t guest_addr, bool met);
    core_sum_fn *gen_track, *gen_query;
    core_range_fn *gen_notify;
    enum trk_status (*gen_map)(struct trk_tracker *tracker, const struct trk_generations_view *view,
                               bool *kept);
    struct trk_thread *(*thread_swap)(struct trk_thread *thread);
};

/* Functions of track/sim_build.h. */
struct core_insides {
    enum trk_sim_lock (*lock_kind)(const struct trk_tracker *tracker, const uint32_t *word,
                                   uint32_t *region);
    bool (*pages_held)(const struct trk_tracker *tracker, uint32_t region);
    bool (*watches_over)(const struct trk_tracker *tracker, uint32_t region, uint32_t word);
    uint64_t (*word_name)(const struct trk_tracker *tracker, const void *word);
    bool (*word_held)(const struct trk_tracker *tracker, const void *word, uint32_t thread_id);
    bool (*pages_owned)(const struct trk_tracker *tracker, const struct region *region,
                        uint32_t thread_id);
    uint64_t (*lock_digest)(const struct trk_tracker *tracker, const uint32_t *word,
                            const uint32_t *regions, size_t count);
    uint64_t (*live_digest)(const struct trk_tracker *tracker, const uint32_t *regions,
                            size_t count);
    /* Of all that a plug-in's tracker knows, where it gives that instead of pieces; else 0. */
    uint64_t (*digest)(const struct trk_tracker *tracker);
    bool (*ready)(struct trk_tracker *tracker);
    void (*pieces)(struct trk_tracker *tracker, const uint32_t *regions, size_t count,
                   trk_sim_piece_fn *piece, void *context);
    void (*forget)(struct trk_tracker *tracker, const uint32_t *regions, size_t count);
    void *(*restore_begin)(struct trk_tracker *tracker);
    void (*restore_end)(struct trk_tracker *tracker, void *begun);
};

/* Libtrack's own, the two builds of it. */
extern const struct core_calls core_own_simulated, core_own_live;
extern const struct core_insides core_own_insides;
extern const char core_own_build[];

/* What is in force, for scenarios and for traces. */
extern const struct core_calls *core_sim, *core_live;
extern const struct core_insides *core_insides;
/* What tells builds of the core apart, in schedules: 8 characters. */
extern const char *core_build;

/* What can be done with the core in force; the first three are true of libtrack's own. */
struct core_ways {
    bool inside;     /* operations are tried inside; else nobody enters while another is in one */
    bool returns;    /* its state is pieces of memory; else all is done again on a new one */
    bool knows;      /* a known state can be told: by pieces or by a digest */
    bool open_loads; /* pages of the GPU's stay open to loads */
};

extern struct core_ways core_ways;

/* A plug-in that tells no events runs traces: those of libtrack cannot be followed with it, and
 * those of other trackers are compared with it operation by operation. */
bool core_is_trackers_own(void);
/* Scenarios run against a plug-in. */
bool core_is_plugin(void);
/* Put the plug-in aside: libtrack's own core is in force until it comes back. Between runs only. */
void core_put_aside(bool aside);
/* Why a trace that begins with a snapshot, or one that does not, cannot be run again against the
 * core in force, whatever its trackers are; NULL: it can. */
const char *core_cannot_follow(bool snapshot);

/* Say what is wrong with the plug-in, of which nothing can be judged any more; the first stays. */
void core_complain(const char *format, ...) TRK_PRINTF(1, 2);
/* Likewise of a call against the interface: stands before any other complaint. */
void core_misuse(const char *format, ...) TRK_PRINTF(1, 2);
/* Forget a complaint that was none: a policy that it has not. */
void core_pardon(void);
/* The core in force has come to the end of something. */
void core_progress(void);
/* Whether the core that runs traces has what an operation needs. */
bool core_has(enum trk_op op);

/* A new tracker in the place of one that cannot be put back; abandon: threads stand inside it. */
enum trk_status core_renew(struct trk_tracker *tracker, bool abandon);
/* No destroy will come for it: threads stand inside it. */
void core_abandon(struct trk_tracker *tracker);

#endif
