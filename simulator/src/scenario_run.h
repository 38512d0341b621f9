/*
 * Inside a scenario's run: one schedule over one program, against a fresh tracker.
 *
 * Glossary
 *   doing    an operation under way; they nest through callbacks, the innermost is the thread's
 *   found    what an operation found, to be held against what stands behind its =>
 *   point    a place where a schedule may let another thread run
 *   change   of a page state, a watch count, a right or a mapping: what a thread that stands back
 *            waits for
 *   quiet    host calls that belong to a mapping being made; they are no calls of anybody's
 *
 * Each thread runs on a coroutine of its own, and gives way at points when the schedule is
 * stepping. All that a run changes lies in its pools, in the core's memory and on the coroutines'
 * stacks, so that a schedule can go back to where it was; what a thread takes comes from a pool of
 * its own, so that equal states look alike whatever order led to them. A rule that breaks ends the
 * run where it stands: no coroutine is resumed again, so nothing that a run takes may hang on a
 * stack.
 */
#ifndef SIMULATOR_SCENARIO_RUN_H
#define SIMULATOR_SCENARIO_RUN_H

#include "core.h"
#include "coroutine.h"
#include "scenario_found.h"
#include "scenario_oracle.h"
#include "scenario_program.h"
#include "scenario_world.h"

#define LIVELOCK_FAULTS 8u

struct doing {
    struct doing *outer;
    const struct scenario_op *op;
    struct run_thread *thread;
    struct found found;
    bool nested_done; /* a transfer's nested operations have run */
    bool late;        /* it takes effect, and is judged, later */
};

enum wait_kind {
    WAIT_NONE,
    WAIT_EVENT,
    WAIT_MUTEX,
    WAIT_LOCK,
    WAIT_CHANGE,
};

/* Where in an operation a thread stands at a point; how a line of a schedule calls it. */
enum point_kind {
    POINT_OPERATION, /* before one */
    POINT_LOCK,      /* before the lock of a region */
    POINT_MANAGER,   /* before the lock of a region's page manager */
    POINT_OTHER,     /* before another lock */
    POINT_PROTECT,   /* before or after a host protection call */
    POINT_FAULT,     /* before the handler of a fault */
    POINT_RETRY,     /* before the access that faulted */
    POINT_CALLBACK,  /* before a callback of an iterator */
};

/* What has changed anywhere, for a thread in an access that faults; all false outside. */
struct change_watch {
    bool on;
    bool since_fault;     /* since the fault before its handler, or since the thread stood back */
    bool since_count;     /* since the repeats were counted last */
    bool own_since_fault; /* the thread itself has: others' do not matter */
};

struct run_thread {
    struct scenario_run *run;
    uint32_t index;
    const struct scenario_thread_text *text;
    struct coroutine *coroutine;
    struct core_thread core;
    enum wait_kind wait;
    uint32_t wait_for; /* a name */
    const uint32_t *wait_lock;
    const struct scenario_op *before; /* stands before this operation; NULL: at another point */
    uint8_t point;                    /* enum point_kind; of a thread that gave way */
    uint8_t point_page;               /* of protect and fault: low bits of the page's number */
    struct change_watch changes;
    uint32_t next_op; /* of its list: under way, or stood before */
    /*
     * All that the operation under way has seen of what others change, and how many points it has
     * passed: with next_op, where it is and what its stack holds.
     */
    uint64_t digest;
    uint32_t core_depth; /* operations of a core that is looked at from outside */
    bool done;
    bool quiet;
    struct scenario_pool pool;    /* what it keeps */
    struct scenario_pool scratch; /* until its operation in the list has ended */
    struct doing *doing;
    struct span_list calls;   /* since the last `calls` */
    struct span_list asked;   /* ranges of the core's operations under way */
    struct span_list touched; /* pages that changed, not yet looked at */
    uint32_t injected[INJECT_COUNT];
    struct span_list protect_fails;  /* size_bytes: calls to go */
    const struct scenario_op **late; /* GPU operations that wait */
    size_t late_count, late_capacity;
};

struct run_event {
    bool set;
    uint32_t *clock;
};

/* A sum remembered under a name. */
struct run_generation {
    bool known;
    uint64_t sum;
};

struct run_mutex {
    uint32_t owner; /* thread, or SCENARIO_NONE */
    uint32_t *clock;
};

/* A region that some operation has met. */
struct run_region {
    uint32_t index;
    uint32_t owner;  /* thread that has its lock, or SCENARIO_NONE */
    uint32_t *clock; /* of its lock by hand */
};

struct scenario_run {
    struct trk_backend backend; /* first: the core knows this part */
    const struct trk_scenario *scenario;
    struct trk_scenario_report *report;
    struct scenario_pool pool, fixed; /* fixed: what never changes once the run has begun */
    struct scenario_pool pages;       /* of the world, as it begins: changes are announced */
    struct touched *touched;          /* what has changed of pages */
    struct world world;
    struct oracle oracle;
    struct trk_tracker *tracker;
    uint64_t core_digest; /* of a core that gives no pieces, where a state is kept */
    uint32_t core_busy;   /* the thread inside a core that one enters at a time; 0: none */
    struct run_thread *threads;
    uint32_t thread_count;
    struct run_thread *current; /* NULL: between threads */
    struct run_event *events;   /* by name */
    struct run_mutex *mutexes;
    struct run_generation *generations;
    uint32_t *reach; /* regions that anything can touch, ascending */
    size_t reach_count;
    struct run_region *regions;
    size_t region_count, region_capacity;
    bool quiet;
    bool stepping; /* points give way */
    bool no_memory;
    enum trk_status broken;     /* the core could not do what it was asked, and it is no verdict */
    bool stopped;               /* a verdict stands */
    bool at;                    /* it stands at the operation that the file names */
    struct scenario_tape *tape; /* NULL: nobody wants the story */
    struct states_looker *looker; /* told of operations that have ended; NULL: nobody */
};

/* ---- scenario_run.c -------------------------------------------------------------------------- */

/* Note the verdict, with the operation that `doing` stands in (NULL: none). The first one stays. */
void run_verdict(struct scenario_run *run, const struct doing *doing, const char *verdict,
                 uint64_t guest_addr, const char *text);
/* Whether an operation is the one that the file names. */
bool run_named(const struct scenario_run *run, const struct scenario_op *op);
/* Note the verdict of the current thread and never come back. */
_Noreturn void run_stop(struct doing *doing, const char *verdict, uint64_t guest_addr,
                        const char *format, ...) TRK_PRINTF(4, 5);
/*
 * The thread has seen something that others can change, and still goes by it behind its next point:
 * it goes into its digest. What is used up before that, or can be seen by where the thread stands
 * or by what lies in its pools, need not.
 */
static inline void run_saw(struct run_thread *thread, uint64_t value)
{
    /* Seeing nothing twice is another thing than seeing it once. */
    uint64_t digest = (thread->digest ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    thread->digest = digest ^ digest >> 31;
}

#ifdef TRK_SAW_AT_RUN
/* For a test that takes single calls away: whether this one is there. Given by its program. */
bool trk_saw(const char *value);
#define run_saw(thread, value) (trk_saw(#value) ? run_saw(thread, value) : (void)0)
#endif

/* Something has changed that threads which stand back wait for. */
void run_changed(struct scenario_run *run);

/* Run a list; in_range ones only, or all others. */
void run_nested(struct doing *doing, bool in_range);

/* Add to a list of the thread's; scratch lists live until its operation in the list has ended. */
void run_span_add(struct run_thread *thread, struct span_list *list, struct scenario_span span);
void run_span_scratch(struct run_thread *thread, struct span_list *list, struct scenario_span span);
void run_span_clear(struct span_list *list);
/* The record of a region; NULL without memory. */
struct run_region *run_region(struct scenario_run *run, uint32_t index);
/* The record of a region, if it has one. */
struct run_region *run_region_known(const struct scenario_run *run, uint32_t index);
/* What a call of the core gave: fail-fast has been seen by host_failure, the rest ends the run. */
void run_status(struct doing *doing, enum trk_status status);
/* Use one pending injection up, if there is one. */
bool run_inject(struct run_thread *thread, enum scenario_inject inject);

/* The body of a thread's coroutine. */
void run_thread_body(void *thread);
/* init, whole; finally, whole, with the checks at the end. */
enum trk_status run_first(struct scenario_run *run);
enum trk_status run_last(struct scenario_run *run);
/* Not TRK_OK: the run cannot go on, and it is no verdict. */
enum trk_status run_trouble(const struct scenario_run *run);

/* ---- scenario_setup.c ------------------------------------------------------------------------ */

/* Make everything up to the first operation of init. Deinit in any case. */
enum trk_status run_begin(struct scenario_run *run, const struct trk_scenario *scenario,
                          struct trk_scenario_report *report);
void run_end(struct scenario_run *run);
/* A run that was put back to where run_begin() left it gets a new tracker. */
enum trk_status run_renew(struct scenario_run *run, bool abandon);
/* Whether threads stand inside a tracker that would miss them. */
bool run_inside(const struct scenario_run *run);

/* ---- scenario_point.c ------------------------------------------------------------------------ */

/* Let others run. guest_addr: of protect and fault, else 0. */
void run_point(struct run_thread *thread, enum point_kind kind, uint64_t guest_addr);
/* Before an operation: the same, until what it waits for is there. */
void run_point_op(struct run_thread *thread, const struct scenario_op *op);
/* Before another try of an access: after a fault that changed nothing, until something has. */
void run_point_again(struct run_thread *thread, bool changed);
/* What a lock of the core is called among objects that steps touch. */
static inline uint64_t run_lock_name(uint32_t kind, uint32_t region)
{
    return (uint64_t)kind << 32 | region;
}

/* Around an operation of a core that is looked at from outside. */
void run_core_enter(void);
void run_core_leave(void);
/* Whether any thread is in such an operation. */
bool run_core_busy(void);
/* The core lets others run. */
void run_core_yield(void);
/* Whether the running thread's operations and those of a holder of locks are on different pages;
 * their innermost ranges then. */
bool run_unlike_pages(uint32_t holder, struct scenario_span *its, struct scenario_span *other);

/* Whether a thread can go on; one that stands back only when something has changed. */
bool run_can(const struct run_thread *thread);
/* Run a thread to its next point. */
void run_resume(struct run_thread *thread);
/* The operation that a thread is in, or stands before; NULL: none. */
const struct scenario_op *run_standing(const struct run_thread *thread);
/* Note that none of the threads [first, end) can run. */
void run_deadlock(struct scenario_run *run, uint32_t first, uint32_t end);

/* ---- scenario_judge.c ------------------------------------------------------------------------ */

/* Hold what an operation found against its =>; stops on a mismatch. */
void judge_results(struct doing *doing);

/* ---- scenario_check.c ------------------------------------------------------------------------ */

/* protection-loose: look at the pages that this thread has changed. NULL doing: at the end. */
void check_protection(struct run_thread *thread, struct doing *doing);
/* watch-leak, when all is over. */
void check_watches(struct scenario_run *run);

/* ---- scenario_host.c ------------------------------------------------------------------------- */

void host_init(struct scenario_run *run);
/* One host call of the current thread; the backend's, or one made by hand. 0 or an errno value. */
int host_call(struct scenario_run *run, uint64_t guest_addr, uint64_t size_bytes, unsigned rights);
void host_observe(void *context, const struct trk_event *event);
void host_failure(void *context, const struct trk_failure *failure);

/* ---- the verbs: scenario_access.c, _space.c, _tracker.c, _transfer.c, _sync.c -------- */

typedef void verb_fn(struct doing *doing);

verb_fn verb_store, verb_load, verb_hle_write, verb_raw_write, verb_sys_read, verb_sys_write,
    verb_sparse_read;
verb_fn verb_map, verb_unmap, verb_guest_protect, verb_commit, verb_reserve, verb_prot,
    verb_gen_remap;
verb_fn verb_query, verb_mark, verb_watch, verb_watch_mask, verb_calls, verb_lock, verb_unlock,
    verb_host_protect;
verb_fn verb_upload, verb_download, verb_drain, verb_invalidate, verb_copy;
verb_fn verb_gpu, verb_signal, verb_await, verb_acquire, verb_release, verb_frame, verb_repeat,
    verb_inject;
verb_fn verb_gen_track, verb_gen, verb_gen_hle;

/* Tell the tracker where the GPU reads, and what the guest may do; before any thread runs. */
enum trk_status space_init(struct scenario_run *run);

/* The usual flush, also the resource layer's; context is the run. */
void transfer_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);
void transfer_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes);

/* Read bytes of mapped pages from one copy into found; stops when they are not current. */
void access_read(struct doing *doing, uint64_t guest_addr, uint64_t size_bytes, enum side side);
/* Write bytes of mapped pages of one copy. */
void access_write(struct doing *doing, uint64_t guest_addr, uint64_t size_bytes, enum side side);

/* Whether a sum is new, the same or another; new ones are remembered. */
bool generation_met(struct doing *doing, const struct scenario_result *result);

/* Let the GPU operations that wait take effect. */
void gpu_settle(struct run_thread *thread);

static inline struct scenario_run *doing_run(const struct doing *doing)
{
    return doing->thread->run;
}

/* Whether the tracker's bands hold the range. */
static inline bool run_tracked(const struct scenario_run *run, uint64_t guest_addr,
                               uint64_t size_bytes)
{
    return trk_range_valid(run->scenario->policy.core.arena, guest_addr, size_bytes);
}

static inline uint64_t run_page_bytes(const struct scenario_run *run)
{
    return run->scenario->policy.core.page_size_bytes;
}

#endif
