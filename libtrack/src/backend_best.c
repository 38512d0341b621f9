/*
 * Choosing a backend by trying: which one serves the first store to a page sooner while another
 * thread runs. That is what an emulator pays for most, and where machines differ: an un-protect by
 * mprotect interrupts the other cores.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend_probe.h"
#include "track/address.h"
#include "track/event.h"

#define TRIAL_PAGES  64u
#define TRIAL_ROUNDS 9
/* Both backends in turn; a round of one takes about a millisecond, on a loaded machine more. */
#define TRIAL_NS_MAX INT64_C(40000000)

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *run_beside(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        ;
    return NULL;
}

/* Arm each page, then store to all, scattered. */
static bool one_round(struct probe *probe)
{
    for (uint32_t page = 0; page < TRIAL_PAGES; page++) {
        if (probe->backend->protect(probe->backend, PROBE_GUEST_ADDR + page * TRK_HOST_PAGE_BYTES,
                                    TRK_HOST_PAGE_BYTES, TRK_RIGHT_READ) != 0)
            return false;
    }
    int64_t begun = now_ns();
    for (uint32_t i = 0; i < TRIAL_PAGES; i++) {
        uint32_t page = i * 37 % TRIAL_PAGES; /* 37 is odd: each page once */
        ((volatile unsigned char *)probe->memory)[page * TRK_HOST_PAGE_BYTES] = 1;
    }
    probe->round_ns = now_ns() - begun;
    return trk_probe_faults() == TRIAL_PAGES;
}

/* The middle one; sorts. */
static int64_t median(int64_t *values, int count)
{
    for (int i = 1; i < count; i++) {
        int64_t value = values[i];
        int to = i;
        for (; to > 0 && values[to - 1] > value; to--)
            values[to] = values[to - 1];
        values[to] = value;
    }
    return values[count / 2];
}

/* A round of each in turn; gives their median times. False when a trial could not be run. */
static bool try_both(struct probe probes[2], int64_t median_ns[2])
{
    bool stop = false;
    pthread_t beside;
    if (pthread_create(&beside, NULL, run_beside, &stop) != 0)
        return false;
    int64_t rounds_ns[2][TRIAL_ROUNDS], begun = now_ns();
    bool worked = true;
    int rounds = 0;
    do {
        for (int i = 0; i < 2 && worked; i++) {
            worked = trk_probe_run(&probes[i], one_round);
            rounds_ns[i][rounds] = probes[i].round_ns;
        }
    } while (worked && ++rounds < TRIAL_ROUNDS && now_ns() - begun < TRIAL_NS_MAX);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(beside, NULL);
    for (int i = 0; i < 2 && worked; i++)
        median_ns[i] = median(rounds_ns[i], rounds);
    return worked;
}

static bool trial(struct trk_backend *first, struct trk_backend *second, int64_t median_ns[2])
{
    struct probe probes[2];
    if (trk_probe_begin(&probes[0], first, TRIAL_PAGES, NULL) != TRK_OK)
        return false;
    if (trk_probe_begin(&probes[1], second, TRIAL_PAGES, NULL) != TRK_OK) {
        trk_probe_end(&probes[0]);
        return false;
    }
    bool worked = try_both(probes, median_ns);
    trk_probe_end(&probes[1]);
    trk_probe_end(&probes[0]);
    return worked;
}

__attribute__((format(printf, 3, 4))) static void say(char *why, size_t why_bytes,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (why != NULL && why_bytes > 0)
        vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
}

enum trk_status trk_backend_create_best(struct trk_backend **out, int64_t host_bias_bytes,
                                        char *why, size_t why_bytes, struct trk_error *error)
{
    struct trk_backend *by_mprotect = NULL, *by_userfaultfd = NULL;
    struct trk_error lacking = {.status = TRK_OK};
    enum trk_status status = trk_backend_mprotect_create(&by_mprotect, host_bias_bytes, error);
    if (status != TRK_OK)
        return status;
    *out = by_mprotect;
    if (trk_backend_userfaultfd_create(&by_userfaultfd, host_bias_bytes, TRK_GUARDS_AUTO,
                                       &lacking) != TRK_OK) {
        say(why, why_bytes, "mprotect: %s", lacking.text);
        return TRK_OK;
    }
    int64_t median_ns[2];
    if (!trial(by_mprotect, by_userfaultfd, median_ns)) {
        say(why, why_bytes, "mprotect: the two could not be tried beside each other");
        trk_backend_destroy(by_userfaultfd);
        return TRK_OK;
    }
    bool better = median_ns[1] <= median_ns[0];
    *out = better ? by_userfaultfd : by_mprotect;
    struct trk_backend *other = better ? by_mprotect : by_userfaultfd;
    say(why, why_bytes, "%s: a first store beside a busy thread takes %.1f us, by %s %.1f us",
        (*out)->name, (double)median_ns[better] / TRIAL_PAGES / 1000, other->name,
        (double)median_ns[!better] / TRIAL_PAGES / 1000);
    trk_backend_destroy(other);
    return TRK_OK;
}
