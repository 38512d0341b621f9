/*
 * The recorded program's side: its session, its threads' rings, the way of an event into them.
 *
 * A thread's end of its ring lives in thread-local storage of the initial-exec kind: reaching it
 * allocates nothing, so the first event of a thread may come from a signal handler. Nothing on the
 * way of an event calls libc, but for one gettid when a ring is claimed.
 */
#include "recorder/capture.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture_emit.h"
#include "capture_session.h"
#include "capture_trust.h"
#include "capture_wait.h"
#include "recorder/page_hash.h"
#include "recorder/payload.h"
#include "ring.h"
#include "session_populate.h"

/* How many events of a thread without a ring pass between two looks for one. */
#define REFUSED_EVENTS_A_LOOK 256u

enum thread_state {
    THREAD_NEW = 0,
    THREAD_CLAIMING = 1, /* a handler that comes now must not claim a second ring */
    THREAD_LIVE = 2,
    THREAD_ENDED = 3,
};

struct capture_thread {
    struct trk_ring ring;
    _Atomic uint32_t state;
    uint32_t refused;             /* events since the pool was found empty */
    int end_rounds;               /* see end_at_exit */
    struct trk_capture_wait wait; /* for room, where the session says so */
};

static _Thread_local struct capture_thread this_thread __attribute__((tls_model("initial-exec")));

uint32_t trk_capture_joined;

static struct trk_capture_gate closed_gate;
static struct trk_capture_session capture = {.gate = &closed_gate};
static _Atomic uint32_t next_ring;  /* where the next claim starts to look */
static _Atomic bool waited_in_vain; /* for a ring; nobody waits again before one is free */
static pthread_key_t end_key;
static bool end_key_made;

static inline bool gate_is_open(void)
{
    return atomic_load_explicit(&capture.gate->open, memory_order_relaxed) != 0;
}

/* Take a free ring of the pool; NULL when there is none. */
static struct trk_session_ring *claim_ring(void)
{
    uint32_t first = atomic_fetch_add_explicit(&next_ring, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < capture.ring_count; ++i) {
        struct trk_session_ring *shared = &capture.rings[(first + i) % capture.ring_count];
        uint32_t state = TRK_RING_FREE;
        if (atomic_compare_exchange_strong_explicit(&shared->state, &state, TRK_RING_SETUP,
                                                    memory_order_acquire, memory_order_relaxed))
            return shared;
    }
    return NULL;
}

static struct trk_ring_place place_of(struct trk_session_ring *shared)
{
    size_t index = (size_t)(shared - capture.rings);
    return (struct trk_ring_place){
        .shared = shared,
        .losses = &capture.losses[index],
        .records = capture.records + index * capture.ring_records,
        .capacity = capture.ring_records,
    };
}

/* Give the thread a ring. The swap of the state keeps a handler from doing it a second time. */
static bool claim_for(struct capture_thread *thread)
{
    uint32_t fresh = THREAD_NEW;
    if (!atomic_compare_exchange_strong(&thread->state, &fresh, THREAD_CLAIMING))
        return fresh == THREAD_LIVE;
    struct trk_session_ring *shared = claim_ring();
    if (!shared) {
        atomic_store(&thread->state, THREAD_NEW);
        return false;
    }
    int saved = errno;
    shared->thread_id = (uint32_t)syscall(SYS_gettid);
    errno = saved;
    struct trk_ring_place place = place_of(shared);
    trk_ring_init(&thread->ring, &place);
    atomic_store_explicit(&shared->role, TRK_ROLE_HOST, memory_order_relaxed);
    for (size_t i = 0; i < TRK_SESSION_NAME_WORDS; ++i)
        atomic_store_explicit(&shared->name[i], 0, memory_order_relaxed);
    atomic_store_explicit(&shared->state, TRK_RING_LIVE, memory_order_release);
    atomic_store(&thread->state, THREAD_LIVE);
    if (TRK_UNLIKELY(atomic_load_explicit(&waited_in_vain, memory_order_relaxed)))
        atomic_store_explicit(&waited_in_vain, false, memory_order_relaxed);
    return true;
}

static bool try_claim(void *thread)
{
    return claim_for(thread);
}

/*
 * Claim, and where the session lets events wait, wait for a ring that the drain gives back. Not in
 * a handler that came in the middle of a claim: it would wait for what it holds up.
 */
static bool claim_patiently(struct capture_thread *thread)
{
    if (claim_for(thread))
        return true;
    if (capture.block_ms == 0 || atomic_load(&thread->state) != THREAD_NEW ||
        atomic_load_explicit(&waited_in_vain, memory_order_relaxed))
        return false;
    if (trk_capture_wait_until(try_claim, thread, &capture))
        return true;
    atomic_store_explicit(&waited_in_vain, true, memory_order_relaxed);
    return false;
}

/* Count an event of a thread that has no ring. All such threads count here. */
static void lose_unplaced(uint8_t type)
{
    struct trk_session_loss *loss =
        &capture.losses[capture.ring_count].kinds[trk_session_loss_kind(type)];
    uint64_t ticks = trk_clock_ticks();
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong(&loss->first, &none, ticks);
    uint64_t last = atomic_load_explicit(&loss->last, memory_order_relaxed);
    while (last < ticks && !atomic_compare_exchange_weak(&loss->last, &last, ticks)) {
    }
    atomic_fetch_add_explicit(&loss->count, 1, memory_order_relaxed);
}

/* A thread without a ring has an event: try for one now and then, else count the event as lost. */
static __attribute__((noinline)) bool place_thread(struct capture_thread *thread, uint8_t type)
{
    bool look = thread->refused % REFUSED_EVENTS_A_LOOK == 0;
    /* Only the first one waits: a later one may be in the middle of a fault. */
    bool waits = thread->refused == 0 && type != TRK_EVENT_FAULT && type != TRK_EVENT_FAULT_AT;
    if (look && (waits ? claim_patiently(thread) : claim_for(thread))) {
        thread->refused = 0;
        return true;
    }
    thread->refused += 1;
    lose_unplaced(type);
    return false;
}

bool trk_capture_wants_hashes(void)
{
    return gate_is_open() && capture.payload != 0;
}

uint64_t trk_capture_page(const void *bytes)
{
    return capture.payload == TRK_PAYLOAD_PAGES
               ? trk_capture_keep_page(capture.control, capture.pages, bytes)
               : trk_page_hash(bytes, TRK_SESSION_PAGE_BYTES);
}

static inline void emit(const struct trk_event *event)
{
    if (!gate_is_open())
        return;
    struct capture_thread *thread = &this_thread;
    if (TRK_UNLIKELY(atomic_load_explicit(&thread->state, memory_order_relaxed) != THREAD_LIVE) &&
        !place_thread(thread, event->type))
        return;
    if (TRK_UNLIKELY(capture.block_ms != 0))
        trk_capture_wait_for_room(&thread->wait, &thread->ring, event, &capture);
    trk_ring_append(&thread->ring, event);
}

/* Not part of the cold function, which is compiled to be small. */
static __attribute__((noinline, hot)) void emit_event(const struct trk_event *event)
{
    emit(event);
}

void trk_capture_event(const struct trk_event *event)
{
    emit_event(event);
}

static void observe(void *context, const struct trk_event *event)
{
    (void)context;
    emit(event);
}

/*
 * Destructors of other keys may still emit. So the ring is kept until the last round of destructors
 * that the C library promises.
 */
static void end_at_exit(void *thread)
{
    if (++this_thread.end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        (void)pthread_setspecific(end_key, thread);
    else
        trk_capture_thread_end();
}

enum trk_status trk_capture_open(struct trk_error *error)
{
    if (gate_is_open())
        return TRK_OK;
    struct trk_capture_session session;
    enum trk_status status = trk_capture_trust_open(error);
    if (status == TRK_OK)
        status = trk_capture_session_join(&session, error);
    if (status != TRK_OK)
        return status;
    end_key_made = pthread_key_create(&end_key, end_at_exit) == 0;
    int saved = errno;
    (void)syscall(SYS_gettid); /* both resolved now: a lazy binding in a handler might lock */
    errno = saved;
    trk_session_populate_beginnings(session.control, session.ring_count, session.ring_records);
    capture = session;
    atomic_store_explicit(&capture.gate->open, 1, memory_order_release);
    trk_capture_trust_begin();
    TRK_STORE_RELAXED(&trk_capture_joined, 1);
    return TRK_OK;
}

bool trk_capture_active(void)
{
    return gate_is_open();
}

struct trk_observer trk_capture_observer(void)
{
    return (struct trk_observer){.emit = gate_is_open() ? observe : NULL};
}

static void write_name(struct trk_session_ring *shared, const char *name, uint32_t role)
{
    uint64_t words[TRK_SESSION_NAME_WORDS] = {0};
    memcpy(words, name, strnlen(name, sizeof(words) - 1));
    uint32_t version = atomic_load_explicit(&shared->name_version, memory_order_relaxed) | 1u;
    atomic_store_explicit(&shared->name_version, version, memory_order_relaxed);
    /* Release: nobody sees a new word together with the old, even version. */
    for (size_t i = 0; i < TRK_SESSION_NAME_WORDS; ++i)
        atomic_store_explicit(&shared->name[i], words[i], memory_order_release);
    atomic_store_explicit(&shared->role, role, memory_order_release);
    atomic_store_explicit(&shared->name_version, version + 1, memory_order_release);
}

void trk_capture_thread(const char *name, enum trk_thread_role role)
{
    if (!gate_is_open())
        return;
    struct capture_thread *thread = &this_thread;
    uint32_t ended = THREAD_ENDED;
    (void)atomic_compare_exchange_strong(&thread->state, &ended, THREAD_NEW);
    if (!claim_patiently(thread))
        return; /* its events will try again, and be counted */
    int saved = errno;
    thread->end_rounds = 0;
    if (end_key_made)
        (void)pthread_setspecific(end_key, thread);
    errno = saved;
    trk_session_populate(thread->ring.records, thread->ring.capacity * sizeof(struct trk_record));
    write_name(thread->ring.shared, name ? name : "", (uint32_t)role);
}

void trk_capture_thread_end(void)
{
    uint32_t live = THREAD_LIVE;
    if (gate_is_open() && atomic_compare_exchange_strong(&this_thread.state, &live, THREAD_ENDED))
        atomic_store_explicit(&this_thread.ring.shared->state, TRK_RING_ENDED,
                              memory_order_release);
}

/* Put a tracker where the recording parent looks for it. */
static void know_tracker(uint32_t tracker_id, uint64_t policy, enum trk_backend_kind backend,
                         enum trk_session_known known)
{
    struct trk_session_tracker *slot = &capture.control->trackers[tracker_id];
    atomic_store_explicit(&slot->policy, policy, memory_order_relaxed);
    atomic_store_explicit(&slot->backend, (uint32_t)backend, memory_order_relaxed);
    atomic_store_explicit(&slot->known, (uint32_t)known, memory_order_release);
}

void trk_capture_know_foreign(uint32_t tracker_id, uint64_t policy, enum trk_backend_kind backend)
{
    if (gate_is_open())
        know_tracker(tracker_id, policy, backend, TRK_SESSION_KNOWN_FOREIGN);
}

void trk_capture_tracker(uint32_t tracker_id, const struct trk_policy *policy,
                         enum trk_backend_kind backend)
{
    if (!gate_is_open() || tracker_id >= TRK_SESSION_TRACKERS)
        return;
    uint64_t word = trk_policy_pack(policy);
    know_tracker(tracker_id, word, backend, TRK_SESSION_KNOWN_CORE);
    struct trk_event event = {.argument = word,
                              .page = (uint16_t)tracker_id,
                              .type = TRK_EVENT_TRACKER,
                              .context = (uint16_t)backend};
    emit(&event);
}

struct trk_session_control *trk_capture_control(void)
{
    return gate_is_open() ? capture.control : NULL;
}

void trk_capture_trigger(void)
{
    if (gate_is_open())
        atomic_fetch_add_explicit(&capture.control->triggers, 1, memory_order_release);
}

uint64_t trk_capture_dropped(void)
{
    if (!gate_is_open())
        return 0;
    uint64_t sum = 0;
    for (uint32_t i = 0; i <= capture.ring_count; ++i) {
        for (uint32_t kind = 0; kind < TRK_SESSION_LOSS_KINDS; ++kind)
            sum += atomic_load_explicit(&capture.losses[i].kinds[kind].count, memory_order_relaxed);
    }
    return sum;
}
