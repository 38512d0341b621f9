/*
 * A program with a tracker that stops between bursts of work, for as long as somebody likes.
 *
 * burst_target WHAT...    joins, and does one after the other: a number, so many rounds; "stale": a
 * GPU read of bytes that were not uploaded again though the guest has stored to them; "frame:N".
 * Behind the ith it makes the file did-i, and waits for the file go-i, both in the current folder.
 * If a file `enough` is there then, it ends.
 */
#define _GNU_SOURCE /* MAP_FIXED_NOREPLACE */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "recorder/capture.h"
#include "track/address.h"
#include "track/fault.h"

#define PAGES        64u
#define PAGE_BYTES   UINT64_C(4096)
#define WINDOW_BYTES (PAGES * PAGE_BYTES)
#define WINDOW_FIRST UINT64_C(0x200000000)
#define STAMP_BYTES  8u

static struct trk_tracker *tracker;
static uint32_t stamp; /* of what was stored last */

static void copy_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    trk_capture_copy_begin(TRK_COPY_UP, guest_addr, size_bytes, 1);
    trk_capture_copy_end(TRK_COPY_UP, guest_addr, size_bytes, 1);
}

static void upload(void)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = WINDOW_FIRST,
                                    .size_bytes = WINDOW_BYTES,
                                    .range = copy_up};
    if (trk_tracker_upload(tracker, &transfer) != TRK_OK)
        exit(5);
}

static void store(uint64_t guest_addr)
{
    uintptr_t host = (uintptr_t)guest_addr + (uintptr_t)trk_host_bias_default();
    *(volatile uint32_t *)host = ++stamp;
    trk_capture_witness_store(TRK_AGENT_CPU, guest_addr, STAMP_BYTES, stamp);
}

/* Upload what was stored, let the GPU read it, store to every page. */
static void work(unsigned long rounds)
{
    for (unsigned long round = 0; round < rounds; ++round) {
        upload();
        for (unsigned page = 0; page < PAGES; ++page) {
            if (stamp > 0)
                trk_capture_gpu_read(WINDOW_FIRST + page * PAGE_BYTES, STAMP_BYTES, 0);
            store(WINDOW_FIRST + page * PAGE_BYTES);
        }
    }
}

static void act(const char *what)
{
    if (strcmp(what, "stale") == 0) {
        store(WINDOW_FIRST);
        trk_capture_gpu_read(WINDOW_FIRST, STAMP_BYTES, 0);
    } else if (strncmp(what, "frame:", 6) == 0) {
        trk_capture_frame(strtoul(what + 6, NULL, 10));
    } else {
        work(strtoul(what, NULL, 10));
    }
}

static void meet(int turn)
{
    char name[32];
    const struct timespec pause = {.tv_nsec = 2000000};
    snprintf(name, sizeof name, "did-%d", turn);
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        exit(6);
    close(fd);
    snprintf(name, sizeof name, "go-%d", turn);
    while (access(name, F_OK) != 0)
        (void)nanosleep(&pause, NULL);
}

static int set_up(struct trk_backend **backend)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    struct trk_error error;
    void *wanted = (void *)((uintptr_t)WINDOW_FIRST + (uintptr_t)trk_host_bias_default());
    if (trk_backend_mprotect_create(backend, trk_host_bias_default(), &error) != TRK_OK)
        return 1;
    options.backend = *backend;
    options.observer = trk_capture_observer();
    if (trk_tracker_create(&tracker, &options, &error) != TRK_OK ||
        trk_fault_install(trk_fault_tracker, tracker, &error) != TRK_OK)
        return 1;
    trk_capture_tracker(options.id, &options.policy, (*backend)->kind);
    return mmap(wanted, WINDOW_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted ||
           trk_tracker_register(tracker, WINDOW_FIRST, WINDOW_BYTES) != TRK_OK;
}

int main(int argc, char **argv)
{
    struct trk_backend *backend = NULL;
    if (trk_capture_open(NULL) != TRK_OK)
        return 3;
    trk_capture_thread("burst", TRK_ROLE_GUEST);
    if (set_up(&backend) != 0 || trk_fault_thread_enter(NULL) != TRK_OK)
        return 4;
    for (int i = 1; i < argc && access("enough", F_OK) != 0; ++i) {
        act(argv[i]);
        meet(i);
    }
    trk_fault_thread_leave();
    return 0;
}
