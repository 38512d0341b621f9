/*
 * Plug-ins that are wrong, each in one way: BAD says which. What they would track is nothing.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulator/core_plugin.h"

enum {
    BAD_ABI = 1,
    BAD_TABLE,
    BAD_LACKS,
    BAD_REFUSES,
    BAD_CRASHES_AT_ONCE,
    BAD_CRASHES,
    BAD_LOOPS,
    BAD_EXITS,
    BAD_TAKES_MEMORY,
    BAD_CLOSES, /* all files, as daemons do, and loops */
    BAD_FORKS,  /* a process that stays, and loops */
    BAD_LEAVES, /* a process in a session of its own, whose parent is gone */
    BAD_NEVER_LOADS,
    BAD_POLLS, /* for what never comes, with pauses */
    BAD_OPENS, /* closes all files, as daemons do, and opens others */
};

#if BAD == 13
/* Runs while it is loaded. */
__attribute__((constructor)) static void never_load(void)
{
    for (volatile unsigned turns = 0;; turns++) {
    }
}
#endif

static enum trk_core_status bad_create(void **out, const struct trk_core_policy *policy,
                                       const struct trk_core_owner *owner)
{
    static int nothing;
    (void)policy;
    (void)owner;
    *out = &nothing;
    return TRK_CORE_OK;
}

static void bad_destroy(void *tracker)
{
    (void)tracker;
}

static void bad_page(void *tracker, uint64_t guest_addr, struct trk_core_page *out)
{
    (void)tracker;
    (void)guest_addr;
    *out = (struct trk_core_page){.cpu_dirty = true, .guest_rights = 3, .host_rights = 3};
}

static enum trk_core_fault bad_fault(void *tracker, uint64_t guest_addr, bool store)
{
    (void)tracker;
    (void)guest_addr;
    (void)store;
    return TRK_CORE_UNHANDLED;
}

static enum trk_core_status bad_transfer(void *tracker, const struct trk_core_transfer *transfer)
{
    (void)tracker;
    puts("a plug-in that prints");
    switch (BAD) {
    case BAD_CRASHES:
        (void)raise(SIGSEGV);
        break;
    case BAD_CLOSES:
    case BAD_FORKS:
        for (int fd = 3; fd < 1024 && BAD == BAD_CLOSES; fd++)
            close(fd);
        if (BAD == BAD_FORKS && fork() == 0) {
            execlp("sleep", "sleep", "987", (char *)NULL);
            _exit(1);
        }
        for (volatile unsigned turns = 0;; turns++) {
        }
    case BAD_POLLS:
        for (;;) {
            for (volatile unsigned turns = 0; turns < 1000000; turns++) {
            }
            usleep(50000);
        }
    case BAD_LEAVES:
        if (fork() == 0) {
            (void)setsid();
            if (fork() == 0)
                execlp("sleep", "sleep", "98613", (char *)NULL);
            _exit(1);
        }
        break;
    case BAD_LOOPS:
        for (volatile unsigned turns = 0;; turns++) {
        }
    case BAD_EXITS:
        exit(7);
    case BAD_TAKES_MEMORY:
        for (;;) {
            void *memory = malloc((size_t)64 << 20);
            if (memory == NULL)
                abort();
            memset(memory, 0, 1);
        }
    default:
        break;
    }
    if (transfer->done != NULL)
        transfer->done(transfer->context);
    return TRK_CORE_OK;
}

static enum trk_core_status bad_invalidate(void *tracker, uint64_t guest_addr, uint64_t size_bytes,
                                           trk_core_range_fn *flush, void *context)
{
    (void)tracker;
    (void)guest_addr;
    (void)size_bytes;
    (void)flush;
    (void)context;
    return TRK_CORE_OK;
}

static const struct trk_core_table plugin = {
    .size = BAD == BAD_TABLE ? 4 : sizeof plugin,
    .abi = BAD == BAD_ABI ? TRK_CORE_ABI + 1 : TRK_CORE_ABI,
    .name = "bad",
    .build = "of nobody",
    .create = bad_create,
    .destroy = bad_destroy,
    .page = bad_page,
    .fault = BAD == BAD_LACKS ? NULL : bad_fault,
    .upload = bad_transfer,
    .download = bad_transfer,
    .invalidate = bad_invalidate,
};

const struct trk_core_table *trk_core_plugin(const struct trk_core_host *host)
{
    (void)host;
    for (int fd = 3; fd < 1024 && BAD == BAD_OPENS; fd++)
        close(fd);
    for (int i = 0; i < 8 && BAD == BAD_OPENS; i++) {
        if (open("/dev/null", O_WRONLY | O_CLOEXEC) < 0)
            return NULL;
    }
    if (BAD == BAD_CRASHES_AT_ONCE)
        (void)raise(SIGABRT);
    return BAD == BAD_REFUSES ? NULL : &plugin;
}
