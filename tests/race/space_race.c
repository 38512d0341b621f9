/*
 * Goal: whoever reads the address space while it changes sees each change whole or not at all, and
 * never memory that has gone to somebody else. [M-79] [M-80]
 * Method: one thread maps, commits, protects and unmaps a stretch and fills it; others query, read
 * and read sparsely. TRK_STEPS makes it longer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "track/address.h"
#include "track/space.h"

#define PAGE    TRK_HOST_PAGE_BYTES
#define BASE    UINT64_C(0x2003fc000) /* over a region's edge */
#define PAGES   8u
#define READERS 2u

static struct trk_space *space;
static unsigned stop;
/* The order of the bytes themselves is their owners' business: here it is this lock. */
static pthread_mutex_t bytes_lock = PTHREAD_MUTEX_INITIALIZER;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "space_race: %s\n", what);
    exit(1);
}

static void must(enum trk_status status)
{
    if (status != TRK_OK)
        fail(trk_status_name(status));
}

/* The whole stretch is of one kind, and bytes are zeros or what the writer wrote. */
static void look(unsigned char *bytes)
{
    struct trk_space_stretch stretch;
    must(trk_space_query(space, BASE + 2 * PAGE, &stretch));
    if (stretch.kind != TRK_SPACE_HOLE &&
        (stretch.guest_addr != BASE || stretch.size_bytes != PAGES * PAGE))
        fail("a part of a change");
    pthread_mutex_lock(&bytes_lock);
    if (trk_space_read(space, BASE, bytes, PAGES * PAGE) != TRK_OK)
        must(trk_space_sparse_read(space, BASE, bytes, PAGES * PAGE));
    pthread_mutex_unlock(&bytes_lock);
    for (size_t i = 0; i < PAGES * PAGE; i += PAGE / 2) {
        if (bytes[i] != 0 && bytes[i] != 7)
            fail("bytes of somebody else");
    }
}

static void *reader(void *unused)
{
    unsigned char *bytes = malloc(PAGES * PAGE);
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        look(bytes);
    free(bytes);
    return NULL;
}

/* What the stretch had is somebody else's in between. */
static void change(const unsigned char *ours, const unsigned char *others)
{
    struct trk_space_map other = {.size = sizeof other,
                                  .kind = TRK_SPACE_FLEXIBLE,
                                  .guest_addr = BASE + 32 * PAGE,
                                  .size_bytes = 12 * PAGE,
                                  .rights = TRK_RIGHTS_RW};
    must(trk_space_reserve(space, BASE, PAGES * PAGE, NULL));
    must(trk_space_commit(space, BASE, PAGES * PAGE, TRK_RIGHTS_RW, NULL));
    pthread_mutex_lock(&bytes_lock);
    must(trk_space_write(space, BASE, ours, PAGES * PAGE));
    pthread_mutex_unlock(&bytes_lock);
    must(trk_space_protect(space, BASE, PAGES * PAGE, TRK_RIGHT_READ, NULL));
    must(trk_space_unmap(space, BASE, PAGES * PAGE, NULL));
    must(trk_space_map(space, &other, NULL));
    must(trk_space_write(space, other.guest_addr, others, other.size_bytes));
    must(trk_space_unmap(space, other.guest_addr, other.size_bytes, NULL));
}

int main(void)
{
    static unsigned char ours[PAGES * PAGE], others[12 * PAGE];
    const char *steps_text = getenv("TRK_STEPS");
    uint64_t steps = steps_text != NULL ? strtoull(steps_text, NULL, 0) : 500;
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_space_options memory = trk_space_options_default();
    must(trk_backend_mprotect_create(&backend, trk_host_bias_default(), NULL));
    options.backend = backend;
    must(trk_tracker_create(&tracker, &options, NULL));
    memory.tracker = tracker;
    memory.direct_bytes = 0;
    memory.flexible_bytes = 12 * PAGE;
    must(trk_space_create(&space, &memory, NULL));
    must(trk_space_own(space, BASE, 64 * PAGE, NULL));
    for (size_t i = 0; i < sizeof ours; i++)
        ours[i] = 7;
    for (size_t i = 0; i < sizeof others; i++)
        others[i] = 9;

    pthread_t threads[READERS];
    for (unsigned i = 0; i < READERS; i++) {
        if (pthread_create(&threads[i], NULL, reader, NULL) != 0)
            fail("no thread");
    }
    for (uint64_t i = 0; i < steps; i++)
        change(ours, others);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    trk_space_destroy(space);
    trk_tracker_destroy(tracker);
    trk_backend_destroy(backend);
    printf("%llu changes, %u readers\n", (unsigned long long)steps, READERS);
    return 0;
}
