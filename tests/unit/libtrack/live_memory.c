#define _GNU_SOURCE
#include "live_memory.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "track/fault.h"
#include "track/pages.h"

const char *const live_state_names[] = {"cpu", "clean", "gpu"};

/* ---- the world ---- */

struct live_memory live_memory;

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
    live_memory.failures++;
}

static void copy_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    memcpy(live_memory.backing + (guest_addr - LIVE_GUEST),
           live_memory.gpu + (guest_addr - LIVE_GUEST), size_bytes);
}

static void copy_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    memcpy(live_memory.gpu + (guest_addr - LIVE_GUEST),
           live_memory.backing + (guest_addr - LIVE_GUEST), size_bytes);
}

static struct trk_transfer transfer(uint64_t guest_addr, uint64_t size_bytes, trk_range_fn *range)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = guest_addr,
                                 .size_bytes = size_bytes,
                                 .range = range};
}

static void flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer drain = transfer(guest_addr, size_bytes, copy_down);
    (void)context;
    cr_assert_eq(trk_tracker_drain(live_memory.tracker, &drain), TRK_OK);
}

static void read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer download = transfer(guest_addr, size_bytes, copy_down);
    (void)context;
    download.clear = true;
    cr_assert_eq(trk_tracker_download(live_memory.tracker, &download), TRK_OK);
}

bool live_memory_open(enum backend_choice choice, unsigned rights)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    memset(&live_memory, 0, sizeof live_memory);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)TRK_REGION_BYTES) == 0);
    live_memory.guest = mmap(NULL, TRK_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    live_memory.backing = mmap(NULL, TRK_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    cr_assert(live_memory.guest != MAP_FAILED && live_memory.backing != MAP_FAILED);
    live_memory.backend =
        backend_choice_open(choice, (int64_t)((uintptr_t)live_memory.guest - LIVE_GUEST));
    if (live_memory.backend == NULL)
        return false;
    cr_assert_eq(trk_backend_attach(live_memory.backend, LIVE_GUEST, TRK_REGION_BYTES, NULL),
                 TRK_OK);
    struct trk_tracker_options options = trk_tracker_options_default();
    options.backend = live_memory.backend;
    options.failure = on_failure;
    cr_assert_eq(trk_tracker_create(&live_memory.tracker, &options, NULL), TRK_OK);
    struct trk_resource_layer layer = {.flush = flush, .read_back = read_back};
    cr_assert_eq(trk_tracker_set_resource_layer(live_memory.tracker, &layer), TRK_OK);
    cr_assert_eq(trk_tracker_register(live_memory.tracker, LIVE_GUEST, LIVE_BYTES), TRK_OK);
    if (rights != TRK_RIGHTS_RW)
        cr_assert_eq(
            trk_tracker_set_guest_protection(live_memory.tracker, LIVE_GUEST, LIVE_BYTES, rights),
            TRK_OK);
    cr_assert_eq(trk_fault_install(trk_fault_tracker, live_memory.tracker, NULL), TRK_OK);
    cr_assert_eq(trk_fault_thread_enter(NULL), TRK_OK);
    return true;
}

void live_memory_close(void)
{
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
    trk_tracker_destroy(live_memory.tracker);
    trk_backend_destroy(live_memory.backend);
    munmap(live_memory.guest, TRK_REGION_BYTES);
    munmap(live_memory.backing, TRK_REGION_BYTES);
}

void live_memory_home(void)
{
    flush(NULL, LIVE_GUEST, LIVE_BYTES);
    cr_assert_eq(trk_tracker_untrack(live_memory.tracker, LIVE_GUEST, LIVE_BYTES), TRK_OK);
}

/* The pages hold `bytes`, each with whoever its state says; the other copy of a GPU page is old. */
void live_memory_set(const enum live_state *states, const unsigned char *bytes)
{
    live_memory_home();
    memcpy(live_memory.backing, bytes, LIVE_BYTES);
    for (uint32_t page = 0; page < LIVE_PAGES; page++) {
        struct trk_transfer upload = transfer(LIVE_GUEST + page * LIVE_PAGE, LIVE_PAGE, copy_up);
        if (states[page] == LIVE_CPU)
            continue;
        upload.written = states[page] == LIVE_GPU;
        cr_assert_eq(trk_tracker_upload(live_memory.tracker, &upload), TRK_OK);
        if (states[page] == LIVE_GPU)
            memset(live_memory.backing + page * LIVE_PAGE, 0xee, LIVE_PAGE);
    }
}

enum live_state live_memory_state(uint32_t page)
{
    bool cpu = false, gpu = false;
    cr_assert_eq(trk_tracker_is_cpu(live_memory.tracker, LIVE_GUEST + page * LIVE_PAGE, 1, &cpu),
                 TRK_OK);
    cr_assert_eq(trk_tracker_is_gpu(live_memory.tracker, LIVE_GUEST + page * LIVE_PAGE, 1, &gpu),
                 TRK_OK);
    return cpu ? LIVE_CPU : gpu ? LIVE_GPU : LIVE_CLEAN;
}
