/*
 * Goal: every backend takes a page from any rights to any others, leaves its bytes and its
 * neighbours alone, changes nothing when the host refuses, and lets nothing through on the way.
 * Method: shared memory like the guest's; the kernel is asked what a page lets through (EFAULT
 * instead of a fault); a thread that stores and loads while pages move.
 *
 * Rules: [M-46], [M-47].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends.h"
#include "track/address.h"
#include "track/event.h"
#include "track/fault.h"

#define PAGE  TRK_HOST_PAGE_BYTES
#define GUEST UINT64_C(0x200000000)
#define PAGES 64u

/* Guest memory, and the emulator's own view of it, which is never closed. */
struct memory {
    unsigned char *guest, *own;
    size_t bytes;
    struct trk_backend *backend;
};

/* False: this machine lacks the backend. */
static bool memory_open(struct memory *memory, enum backend_choice choice, size_t pages)
{
    int fd = memfd_create("guest", MFD_CLOEXEC);
    memory->bytes = pages * PAGE;
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)memory->bytes) == 0);
    memory->guest = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memory->own = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(memory->guest != MAP_FAILED && memory->own != MAP_FAILED);
    close(fd);
    memory->backend = backend_choice_open(choice, (int64_t)((uintptr_t)memory->guest - GUEST));
    if (memory->backend != NULL) {
        struct trk_error error;
        cr_assert_eq(trk_backend_attach(memory->backend, GUEST, memory->bytes, &error), TRK_OK,
                     "%s", error.text);
        return true;
    }
    munmap(memory->guest, memory->bytes);
    munmap(memory->own, memory->bytes);
    return false;
}

static void memory_close(struct memory *memory)
{
    trk_backend_detach(memory->backend, GUEST, memory->bytes);
    trk_backend_destroy(memory->backend);
    munmap(memory->guest, memory->bytes);
    munmap(memory->own, memory->bytes);
}

static int protect(const struct memory *memory, uint32_t page, uint32_t pages, unsigned rights)
{
    return memory->backend->protect(memory->backend, GUEST + page * PAGE, pages * PAGE, rights);
}

static const unsigned all_rights[] = {
    TRK_RIGHTS_RW,
    TRK_RIGHT_READ,
    TRK_RIGHTS_NONE,
    TRK_RIGHT_READ | TRK_RIGHT_EXEC,
    TRK_RIGHTS_RW | TRK_RIGHT_EXEC,
};
#define RIGHTS (sizeof all_rights / sizeof all_rights[0])

/* From each to each, also over pages that nobody has touched, and back to rw. */
static void move_all_ways(struct memory *memory, const char *name, bool touched)
{
    for (size_t from = 0; from < RIGHTS; from++) {
        for (size_t to = 0; to < RIGHTS; to++) {
            if (touched)
                memset(memory->own + PAGE, (int)(from * 16 + to + 1), PAGE);
            errno = 77;
            cr_assert_eq(protect(memory, 1, 1, all_rights[from]), 0);
            cr_assert_eq(protect(memory, 1, 1, all_rights[to]), 0);
            cr_expect_eq(errno, 77, "%s keeps errno", name);
            cr_expect_eq(backend_rights_of(memory->guest + PAGE), all_rights[to] & TRK_RIGHTS_RW,
                         "%s: %x to %x", name, all_rights[from], all_rights[to]);
            cr_expect_eq(backend_rights_of(memory->guest), TRK_RIGHTS_RW, "%s: before", name);
            cr_expect_eq(backend_rights_of(memory->guest + 2 * PAGE), TRK_RIGHTS_RW, "%s: behind",
                         name);
            for (size_t i = 2; touched && i < PAGE; i += 511)
                cr_assert_eq(memory->own[PAGE + i], from * 16 + to + 1, "%s: bytes", name);
            cr_assert_eq(protect(memory, 1, 1, TRK_RIGHTS_RW), 0);
            cr_expect_eq(backend_rights_of(memory->guest + PAGE), TRK_RIGHTS_RW);
        }
    }
}

Test(backend_moves, any_rights_to_any_others)
{
    FOR_BACKENDS(choice)
    {
        struct memory memory;
        if (!memory_open(&memory, choice, PAGES))
            continue;
        move_all_ways(&memory, backend_choice_name(choice), false);
        move_all_ways(&memory, backend_choice_name(choice), true);
        memory_close(&memory);
    }
}

/* A call over pages of all kinds. */
static void mix(struct memory *memory)
{
    for (uint32_t page = 0; page < PAGES; page++)
        cr_assert_eq(protect(memory, page, 1, all_rights[page / 2 % RIGHTS]), 0);
}

Test(backend_moves, one_call_over_a_mixture)
{
    FOR_BACKENDS(choice)
    {
        struct memory memory;
        if (!memory_open(&memory, choice, PAGES))
            continue;
        for (size_t to = 0; to < RIGHTS; to++) {
            mix(&memory);
            cr_assert_eq(protect(&memory, 1, PAGES - 2, all_rights[to]), 0);
            for (uint32_t page = 0; page < PAGES; page++) {
                bool inside = page > 0 && page < PAGES - 1;
                unsigned rights = all_rights[inside ? to : page / 2 % RIGHTS];
                cr_expect_eq(backend_rights_of(memory.guest + page * PAGE), rights & TRK_RIGHTS_RW,
                             "%s: page %u to %x", backend_choice_name(choice), page,
                             all_rights[to]);
            }
        }
        memory_close(&memory);
    }
}

/* mprotect has done the pages before a hole; the page manager takes its own calls back only. */
Test(backend_moves, refused_call_changes_nothing)
{
    FOR_BACKENDS(choice)
    {
        struct memory memory;
        if (choice == BACKEND_MPROTECT || !memory_open(&memory, choice, PAGES))
            continue;
        for (size_t to = 0; to < RIGHTS; to++) {
            mix(&memory);
            munmap(memory.guest + 40 * PAGE, 8 * PAGE);
            cr_expect_neq(protect(&memory, 0, PAGES, all_rights[to]), 0);
            for (uint32_t page = 0; page < 40; page++)
                cr_expect_eq(backend_rights_of(memory.guest + page * PAGE),
                             all_rights[page / 2 % RIGHTS] & TRK_RIGHTS_RW, "%s: page %u to %x",
                             backend_choice_name(choice), page, all_rights[to]);
            memory_close(&memory);
            cr_assert(memory_open(&memory, choice, PAGES));
        }
        memory_close(&memory);
    }
}

static uint32_t count_mappings(void)
{
    uint32_t lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c; (c = fgetc(maps)) != EOF;)
        lines += c == '\n';
    fclose(maps);
    return lines;
}

Test(backend_moves, userfaultfd_splits_no_mapping)
{
    struct memory memory;
    if (!memory_open(&memory, BACKEND_UFFD_GUARDS, 512))
        return;
    uint32_t before = count_mappings();
    for (uint32_t page = 0; page < 512; page += 2)
        cr_assert_eq(protect(&memory, page, 1, TRK_RIGHT_READ), 0);
    for (uint32_t page = 0; page < 512; page += 4)
        cr_assert_eq(protect(&memory, page, 1, TRK_RIGHTS_NONE), 0);
    cr_expect_eq(count_mappings(), before);
    memory_close(&memory);
}

Test(backend_moves, detached_memory_is_open_and_whole)
{
    FOR_BACKENDS(choice)
    {
        struct memory memory;
        if (choice == BACKEND_MPROTECT || !memory_open(&memory, choice, PAGES))
            continue;
        memset(memory.own, 5, memory.bytes);
        mix(&memory);
        trk_backend_detach(memory.backend, GUEST, memory.bytes);
        for (uint32_t page = 0; page < PAGES; page++)
            cr_expect_eq(backend_rights_of(memory.guest + page * PAGE), TRK_RIGHTS_RW,
                         "%s: page %u", backend_choice_name(choice), page);
        for (size_t i = 0; i < memory.bytes; i += PAGE / 2)
            cr_assert(memory.guest[i] == 5);
        /* Not attached any more: mprotect's. */
        cr_assert_eq(protect(&memory, 3, 1, TRK_RIGHT_READ), 0);
        cr_expect_eq(backend_rights_of(memory.guest + 3 * PAGE), TRK_RIGHT_READ);
        cr_assert_eq(protect(&memory, 3, 1, TRK_RIGHTS_RW), 0);
        struct trk_error error;
        cr_assert_eq(trk_backend_attach(memory.backend, GUEST, memory.bytes, &error), TRK_OK);
        memory_close(&memory);
    }
}

/* Over the first half, which is armed and closed, comes a mapping of the other half's bytes. */
static void map_over(struct memory *memory)
{
    cr_assert_eq(mremap(memory->own + memory->bytes / 2, 0, memory->bytes / 2,
                        MREMAP_MAYMOVE | MREMAP_FIXED, memory->guest),
                 memory->guest);
}

Test(backend_moves, closed_memory_is_attached_closed)
{
    FOR_BACKENDS(choice)
    {
        struct memory memory;
        if (choice == BACKEND_MPROTECT || !memory_open(&memory, choice, PAGES))
            continue;
        const char *name = backend_choice_name(choice);
        uint64_t half_bytes = memory.bytes / 2;
        for (size_t to = 0; to < RIGHTS; to++) {
            mix(&memory);
            map_over(&memory);
            cr_assert_eq(mprotect(memory.guest, half_bytes, PROT_NONE), 0);
            cr_assert_eq(trk_backend_attach_closed(memory.backend, GUEST, half_bytes, NULL),
                         TRK_OK);
            cr_expect_eq(backend_rights_of(memory.guest), TRK_RIGHTS_NONE, "%s", name);
            cr_assert_eq(protect(&memory, 2, 2, TRK_RIGHTS_NONE), 0);
            cr_expect_eq(backend_rights_of(memory.guest + 2 * PAGE), TRK_RIGHTS_NONE, "%s", name);
            cr_assert_eq(protect(&memory, 1, 2, all_rights[to]), 0);
            for (uint32_t page = 0; page < 4; page++)
                cr_expect_eq(backend_rights_of(memory.guest + page * PAGE),
                             page == 1 || page == 2 ? all_rights[to] & TRK_RIGHTS_RW : 0,
                             "%s: page %u to %x", name, page, all_rights[to]);
        }
        /* Forgotten memory is mprotect's, and is left as it is. */
        map_over(&memory);
        cr_assert_eq(mprotect(memory.guest, half_bytes, PROT_NONE), 0);
        trk_backend_forget(memory.backend, GUEST, half_bytes);
        cr_expect_eq(backend_rights_of(memory.guest), TRK_RIGHTS_NONE);
        cr_assert_eq(protect(&memory, 0, 1, TRK_RIGHT_READ), 0);
        cr_expect_eq(backend_rights_of(memory.guest), TRK_RIGHT_READ);
        memory_close(&memory);
    }
}

Test(backend_moves, memory_belongs_to_one_userfaultfd)
{
    struct memory memory;
    if (!memory_open(&memory, BACKEND_UFFD_PLAIN, PAGES))
        return;
    struct trk_backend *second =
        backend_choice_open(BACKEND_UFFD_PLAIN, memory.backend->host_bias_bytes);
    struct trk_error error;
    cr_expect_eq(trk_backend_attach(second, GUEST, memory.bytes, &error), TRK_E_EXISTS);
    cr_expect_eq(error.os_errno, EBUSY);
    cr_expect_eq(trk_backend_attach(second, GUEST + 1, PAGE, NULL), TRK_E_ARGUMENT);
    cr_expect_eq(trk_backend_attach(second, GUEST + memory.bytes + 16 * PAGE, 0, NULL),
                 TRK_E_ARGUMENT);
    trk_backend_destroy(second);
    memory_close(&memory);
}

/* Anonymous memory would lose its bytes under a guard. */
Test(backend_moves, private_memory_keeps_its_bytes)
{
    for (enum backend_choice choice = BACKEND_UFFD_GUARDS; choice < BACKEND_CHOICES; choice++) {
        unsigned char *memory =
            mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 9, 4 * PAGE);
        struct trk_backend *backend =
            backend_choice_open(choice, (int64_t)((uintptr_t)memory - GUEST));
        if (backend == NULL)
            continue;
        cr_assert_eq(trk_backend_attach(backend, GUEST, 4 * PAGE, NULL), TRK_OK);
        cr_assert_eq(backend->protect(backend, GUEST, 4 * PAGE, TRK_RIGHT_READ), 0);
        cr_assert_eq(backend->protect(backend, GUEST, 2 * PAGE, TRK_RIGHTS_NONE), 0);
        cr_expect_eq(backend_rights_of(memory), TRK_RIGHTS_NONE);
        cr_assert_eq(backend->protect(backend, GUEST, 2 * PAGE, TRK_RIGHT_READ), 0);
        cr_expect_eq(backend_rights_of(memory), TRK_RIGHT_READ);
        for (size_t i = 0; i < 4 * PAGE; i++)
            cr_assert_eq(memory[i], 9);
        trk_backend_destroy(backend);
        munmap(memory, 4 * PAGE);
    }
}

Test(backend_moves, locked_memory_takes_no_guards)
{
    struct memory memory;
    if (!memory_open(&memory, BACKEND_UFFD_GUARDS, 4))
        return;
    memset(memory.own, 3, memory.bytes);
    cr_assert_eq(mlock(memory.guest, memory.bytes), 0);
    for (size_t from = 0; from < 2; from++) {
        cr_assert_eq(protect(&memory, 0, 2, all_rights[from]), 0);
        cr_assert_eq(protect(&memory, 0, 2, TRK_RIGHTS_NONE), 0);
        cr_expect_eq(backend_rights_of(memory.guest), TRK_RIGHTS_NONE);
        cr_assert_eq(protect(&memory, 0, 2, TRK_RIGHT_READ), 0);
        cr_expect_eq(backend_rights_of(memory.guest), TRK_RIGHT_READ);
        cr_assert_eq(protect(&memory, 0, 2, TRK_RIGHTS_RW), 0);
        cr_expect_eq(backend_rights_of(memory.guest), TRK_RIGHTS_RW);
        cr_expect_eq(memory.guest[1], 3);
    }
    memory_close(&memory);
}

/* ---- nothing gets through between the old rights and the new ---- */

#define MOVES_MET 300   /* moves during which the store was tried */
#define MOVES_MAX 40000 /* on a machine that never runs the two side by side */

static struct memory race;
static atomic_uint race_faults;

/* The access runs again at once, so that it meets each moment of a move. */
static enum trk_fault_outcome try_again(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    atomic_fetch_add(&race_faults, 1);
    return TRK_FAULT_RETRY;
}

static void *store_once(void *unused)
{
    if (trk_fault_thread_enter(NULL) != TRK_OK)
        return race.own;
    *(volatile unsigned char *)race.guest = 0xee;
    return unused;
}

/* A store that lands although old and new rights forbid it is seen in the other view. */
static void move_under_a_store(const char *name)
{
    pthread_t thread;
    void *result = NULL;
    cr_assert_eq(protect(&race, 0, 4, TRK_RIGHT_READ), 0);
    cr_assert_eq(pthread_create(&thread, NULL, store_once, NULL), 0);
    while (atomic_load(&race_faults) == 0)
        ;
    unsigned met = 0;
    for (int i = 0; i < MOVES_MAX && met < MOVES_MET; i++) {
        unsigned faults = atomic_load(&race_faults);
        cr_assert_eq(protect(&race, 0, 4, i % 2 ? TRK_RIGHT_READ : TRK_RIGHTS_NONE), 0);
        cr_assert_neq(((volatile unsigned char *)race.own)[0], 0xee, "%s: move %d", name, i);
        met += atomic_load(&race_faults) != faults;
    }
    cr_assert_eq(protect(&race, 0, 4, TRK_RIGHTS_RW), 0);
    pthread_join(thread, &result);
    cr_expect_null(result);
    cr_expect_eq(race.guest[0], 0xee);
}

Test(backend_moves, no_store_passes_between_closed_and_armed)
{
    cr_assert_eq(trk_fault_install(try_again, NULL, NULL), TRK_OK);
    FOR_BACKENDS(choice)
    {
        if (!memory_open(&race, choice, 4))
            continue;
        atomic_store(&race_faults, 0);
        move_under_a_store(backend_choice_name(choice));
        memory_close(&race);
    }
    cr_assert_eq(trk_fault_uninstall(NULL), TRK_OK);
}

/* ---- the choice ---- */

Test(backend_moves, best_is_one_of_them_and_says_why)
{
    char why[160] = "", cut[8] = "xxxxxxx";
    struct trk_backend *backend = NULL;
    cr_assert_eq(trk_backend_create_best(&backend, 0x10000, why, sizeof why, NULL), TRK_OK);
    cr_expect_eq(strncmp(why, backend->name, strlen(backend->name)), 0, "%s", why);
    cr_expect(backend->kind == TRK_BACKEND_MPROTECT || backend->kind == TRK_BACKEND_USERFAULTFD);
    cr_expect_eq(backend->host_bias_bytes, 0x10000, "the trial puts the bias back");
    cr_expect_null(strchr(why, '\n'));
    trk_backend_destroy(backend);
    cr_assert_eq(trk_backend_create_best(&backend, 0, cut, sizeof cut, NULL), TRK_OK);
    cr_expect_eq(strlen(cut), sizeof cut - 1);
    trk_backend_destroy(backend);
    cr_assert_eq(trk_backend_create_best(&backend, 0, NULL, 0, NULL), TRK_OK);
    trk_backend_destroy(backend);
    cr_expect_eq(trk_backend_create_best(&backend, 5, NULL, 0, NULL), TRK_E_ARGUMENT);
}

/* The probes' handlers are the process's: two threads that choose at once wait for each other. */
static void *choose(void *failed)
{
    for (int i = 0; i < 20; i++) {
        struct trk_backend *backend = NULL;
        char why[200] = "";
        if (trk_backend_create_best(&backend, 0, why, sizeof why, NULL) != TRK_OK ||
            strstr(why, "could not be tried") != NULL)
            __atomic_store_n((bool *)failed, true, __ATOMIC_RELAXED);
        trk_backend_destroy(backend);
    }
    return NULL;
}

Test(backend_moves, chosen_by_two_threads_at_once)
{
    bool failed = false;
    pthread_t other;
    cr_assert_eq(pthread_create(&other, NULL, choose, &failed), 0);
    choose(&failed);
    pthread_join(other, NULL);
    cr_expect_not(__atomic_load_n(&failed, __ATOMIC_RELAXED));
}
