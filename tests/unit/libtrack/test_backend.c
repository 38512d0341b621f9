/*
 * Goal: the backends open and close pages, report what the host refuses, and keep errno.
 * Method: real mappings looked at through write(2), which gives EFAULT instead of a fault; refused
 * calls on holes; the simulated backend's nth failure counted.
 *
 * Rules: [M-46].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends.h"
#include "track/address.h"
#include "track/backend.h"
#include "track/event.h"

#define PAGE TRK_HOST_PAGE_BYTES

Test(backend, mprotect_opens_and_closes)
{
    static const unsigned cases[] = {TRK_RIGHT_READ,  TRK_RIGHTS_NONE, TRK_RIGHTS_RW,
                                     TRK_RIGHTS_NONE, TRK_RIGHT_READ,  TRK_RIGHTS_RW};
    unsigned char *memory =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);

    /* A bias that makes the middle page guest address 0x10000. */
    int64_t bias = (int64_t)(uintptr_t)(memory + PAGE) - 0x10000;
    struct trk_backend *backend = NULL;
    struct trk_error error;
    cr_assert_eq(trk_backend_mprotect_create(&backend, bias, &error), TRK_OK, "%s", error.text);
    cr_expect_eq(backend->kind, TRK_BACKEND_MPROTECT);
    cr_expect_str_eq(backend->name, "mprotect");
    cr_expect_eq(backend->host_bias_bytes, bias);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        errno = 77;
        cr_assert_eq(backend->protect(backend, 0x10000, PAGE, cases[i]), 0);
        cr_expect_eq(errno, 77);
        cr_expect_eq(backend_rights_of(memory + PAGE), cases[i], "case %zu", i);
        cr_expect_eq(backend_rights_of(memory), TRK_RIGHTS_RW, "the page before is left alone");
        cr_expect_eq(backend_rights_of(memory + 2 * PAGE), TRK_RIGHTS_RW, "and the page behind");
    }
    munmap(memory + PAGE, PAGE);
    errno = 77;
    cr_expect_eq(backend->protect(backend, 0x10000, PAGE, TRK_RIGHT_READ), ENOMEM, "a hole");
    cr_expect_eq(errno, 77);
    trk_backend_destroy(backend);
    munmap(memory, PAGE);
    munmap(memory + 2 * PAGE, PAGE);
}

Test(backend, mprotect_refuses_a_bias_inside_a_page)
{
    struct trk_backend *backend = NULL;
    struct trk_error error;
    cr_expect_eq(trk_backend_mprotect_create(&backend, 1, &error), TRK_E_ARGUMENT);
    cr_expect_eq(trk_backend_mprotect_create(&backend, -4095, NULL), TRK_E_ARGUMENT);
    cr_expect_null(backend);
}

static void count_nothing(int signal_number)
{
    (void)signal_number;
}

Test(backend, probe_leaves_handler_and_mask)
{
    struct sigaction action = {.sa_handler = count_nothing}, after;
    sigset_t blocked, mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGSEGV);
    sigaddset(&blocked, SIGUSR2);
    cr_assert_eq(sigaction(SIGSEGV, &action, NULL), 0);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    struct trk_backend *backend = NULL;
    cr_assert_eq(trk_backend_mprotect_create(&backend, 0, NULL), TRK_OK,
                 "the probe's fault arrives also where its signal was blocked");
    sigaction(SIGSEGV, NULL, &after);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    cr_expect_eq(after.sa_handler, count_nothing);
    cr_expect(sigismember(&mask, SIGSEGV) && sigismember(&mask, SIGUSR2));
    cr_expect_not(sigismember(&mask, SIGUSR1));
    trk_backend_destroy(backend);
}

Test(backend, simulated_fails_the_nth_call_once)
{
    struct trk_backend *backend = NULL;
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    cr_expect_eq(backend->kind, TRK_BACKEND_SIMULATED);
    cr_expect_str_eq(backend->name, "simulated");
    cr_expect_eq(backend->host_bias_bytes, 0);
    for (uint32_t nth = 0; nth < 5; nth++) {
        trk_backend_simulated_fail(backend, nth);
        for (uint32_t call = 1; call < 8; call++)
            cr_expect_eq(backend->protect(backend, PAGE, PAGE, TRK_RIGHT_READ),
                         call == nth ? ENOMEM : 0, "nth %u, call %u", nth, call);
    }
    trk_backend_simulated_fail(backend, 1);
    trk_backend_simulated_fail(backend, 0);
    cr_expect_eq(backend->protect(backend, PAGE, PAGE, TRK_RIGHT_READ), 0, "taken back");
    trk_backend_destroy(backend);
}

/* Refuses whatever opens memory beyond 0x10000; counts. */
static int decide(void *context, uint64_t guest_addr, uint64_t size_bytes, unsigned rights)
{
    ++*(int *)context;
    return guest_addr + size_bytes > 0x10000 && (rights & TRK_RIGHT_WRITE) ? EPERM : 0;
}

Test(backend, simulated_lets_another_decide)
{
    struct trk_backend *backend = NULL;
    int calls = 0;
    cr_assert_eq(trk_backend_simulated_create(&backend, NULL), TRK_OK);
    trk_backend_simulated_decide(backend, decide, &calls);
    cr_expect_eq(backend->protect(backend, 0xf000, PAGE, TRK_RIGHTS_RW), 0);
    cr_expect_eq(backend->protect(backend, 0x10000, PAGE, TRK_RIGHTS_RW), EPERM);
    cr_expect_eq(backend->protect(backend, 0x10000, PAGE, TRK_RIGHT_READ), 0);
    trk_backend_simulated_fail(backend, 2);
    cr_expect_eq(backend->protect(backend, 0x10000, PAGE, TRK_RIGHTS_RW), EPERM);
    cr_expect_eq(calls, 4);
    cr_expect_eq(backend->protect(backend, 0xf000, PAGE, TRK_RIGHTS_RW), ENOMEM, "the nth");
    cr_expect_eq(calls, 4, "is not asked for");
    trk_backend_simulated_decide(backend, NULL, NULL);
    cr_expect_eq(backend->protect(backend, 0x10000, PAGE, TRK_RIGHTS_RW), 0);
    trk_backend_destroy(backend);
}

Test(backend, destroy_accepts_null)
{
    trk_backend_destroy(NULL);
}

Test(backend, bias_is_page_aligned_and_keeps_the_bands_apart)
{
    int64_t bias = trk_host_bias_default();
    cr_expect_eq(bias % (int64_t)TRK_REGION_BYTES, 0);
    cr_expect(bias >= 0 && (uint64_t)bias + TRK_ARENA_END < UINT64_C(1) << 47);
}
