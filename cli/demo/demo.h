/*
 * The demo guest: a small program that stands in for an emulator.
 *
 * Guest memory is one memfd mapped by the demo itself. Guest threads run native stores and loads
 * and know nothing of tracking; a render thread (the caller) asks the tracker each frame what to
 * upload, issues real Vulkan copies, lets the GPU fill some pages and serves read-backs. Every byte
 * read on either side is checked, and stores and checks are noted as witnesses with their order
 * edges, the same with and without a bug.
 *
 * The demo joins the recording session if there is one. It prints nothing but the tracker's
 * failures and why it is not recorded, one line each on stderr. It does not parse options and knows
 * no exit codes.
 */
#ifndef TRK_CLI_DEMO_H
#define TRK_CLI_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/policy.h"
#include "track/status.h"

#define TRK_DEMO_FRAMES_MAX    1000000u
#define TRK_DEMO_THREADS_MAX   32u
#define TRK_DEMO_MEGABYTES_MIN 2u
#define TRK_DEMO_MEGABYTES_MAX 1024u
#define TRK_DEMO_WORK_MAX      (1u << 20)

/* A fault put into the demo on purpose, by name; see trk_demo_bugs. */
enum trk_demo_bug_id {
    TRK_DEMO_BUG_NONE = 0,
    TRK_DEMO_BUG_COPY_BEFORE_ARM,
    TRK_DEMO_BUG_FLUSH_LEAVES_PAGE,
    TRK_DEMO_BUG_CALL_IN_CALLBACK,
    TRK_DEMO_BUG_PARTIAL_INVALIDATE,
    TRK_DEMO_BUG_LOST_REARM,
    TRK_DEMO_BUG_ALIAS_WRITE,
    TRK_DEMO_BUG_EARLY_READ_BACK,
    TRK_DEMO_BUG_KERNEL_STORE,
    TRK_DEMO_BUG_SKIPPED_COPY,
    TRK_DEMO_BUG_LOST_READ_BACK,
    TRK_DEMO_BUG_LATE_INVALIDATE,
    TRK_DEMO_BUG_LATE_TEXTURE,
    TRK_DEMO_BUG_COUNT,
};

struct trk_demo_bug {
    enum trk_demo_bug_id id;
    const char *name;    /* "copy-before-arm" */
    const char *about;   /* one line for people */
    const char *verdict; /* what the simulator says of its trace: "stale-gpu-read" */
    uint32_t frames;     /* that a run must have for it, whatever the seed */
};

/* The bugs, ended by an entry whose name is NULL. */
extern const struct trk_demo_bug trk_demo_bugs[];

/* The bug of that name, or NULL. */
const struct trk_demo_bug *trk_demo_bug_find(const char *name);

/* How guest memory is protected: trk_backend_create_best's choice, or one by name. */
enum trk_demo_backend {
    TRK_DEMO_BACKEND_MPROTECT = 0,
    TRK_DEMO_BACKEND_USERFAULTFD,
    TRK_DEMO_BACKEND_BEST,
};

struct trk_demo_options {
    size_t size;        /* sizeof(struct trk_demo_options) */
    uint32_t frames;    /* at least 1 */
    uint32_t threads;   /* guest threads, 1 .. TRK_DEMO_THREADS_MAX */
    uint32_t megabytes; /* guest memory, even, MEGABYTES_MIN .. MEGABYTES_MAX */
    uint32_t device;    /* number of the Vulkan device */
    uint64_t seed;      /* the same seed gives the same stores */
    bool check;         /* check every byte of the GPU's copy each frame, not a sample */
    enum trk_demo_backend backend;
    struct trk_policy policy; /* of the tracker */
    /* So many pages besides are stored to and uploaded each frame, one by one, in a shuffled order;
     * as many as the memory has room for, see trk_demo_pages_most. */
    uint32_t pages;
    uint32_t
        paranoid; /* hold one in so many clean pages against its hash; 0: none (track/paranoid.h) */
    /* KiB of memory of its own that each guest reads in a frame, up to TRK_DEMO_WORK_MAX. */
    uint32_t work_kib;
    bool images;              /* the GPU's copies of two areas are images */
    bool dispatch;            /* a compute shader writes the results */
    enum trk_demo_bug_id bug; /* acts once, in a frame that follows from the seed */
};

/* 60 frames, 4 threads, 16 MiB, device 0, seed 1, a sample checked, mprotect, no bug. */
struct trk_demo_options trk_demo_options_default(void);

/* The most that `pages` may be with so much guest memory. */
uint32_t trk_demo_pages_most(uint32_t megabytes);

struct trk_demo_result {
    uint64_t frames;     /* completed */
    uint64_t faults;     /* guest accesses that trapped and were served */
    uint64_t stores;     /* slots written by guest threads */
    uint64_t loads;      /* slots read and checked by guest threads */
    uint64_t uploads;    /* runs of pages copied to the GPU */
    uint64_t downloads;  /* runs of pages copied back */
    uint64_t bytes;      /* bytes copied, both ways */
    uint64_t checks;     /* slots of the GPU's copy that were checked */
    uint64_t mismatches; /* slots, on either side, whose bytes were not the expected ones */
    uint64_t failures;   /* operations that the tracker refused */
    uint64_t frames_ns;  /* from the first frame's start to the last one's end */
    uint64_t frame_median_ns;
    uint64_t frames_cpu_ns; /* processor time of all threads in between, the device's among them */
    uint64_t paranoid_findings, paranoid_compared, paranoid_ns;
    char device_name[256];
};

/**
 * Run the demo from its first frame to its last.
 *
 * Wrong bytes and refused operations are counted, they do not end the run. The windows of guest
 * memory stand at fixed addresses and the process has one fault handler: one run at a time.
 *
 * @return TRK_OK: all frames ran, whatever was counted. TRK_E_ARGUMENT: an option is outside its
 *         bounds. TRK_E_UNSUPPORTED: no such Vulkan device, or the host does not deliver faults.
 *         TRK_E_EXISTS: a window's addresses are taken. TRK_E_MEMORY, TRK_E_SYSTEM. Nothing is left
 *         mapped or installed in any case.
 *
 * Allocates: yes. Blocks: until the last frame. Signal-safe: no. Threads: one at a time.
 */
TRK_MUST_USE enum trk_status trk_demo_run(const struct trk_demo_options *options,
                                          struct trk_demo_result *result, struct trk_error *error);

#endif
