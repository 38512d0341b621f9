/*
 * The Vulkan devices of this machine: what they are called and what they can do for copies.
 *
 * Asks drivers only; no device is opened and nothing is run.
 */
#ifndef REPLAYER_DEVICES_H
#define REPLAYER_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

/* Vulkan has at most so many memory types and heaps; further queue families are not told. */
#define TRK_DEVICE_MEMORY_TYPES_MAX 32u
#define TRK_DEVICE_HEAPS_MAX        16u
#define TRK_DEVICE_FAMILIES_MAX     32u
/* Extensions that a policy or a measurement can use. */
#define TRK_DEVICE_EXTENSIONS 4u

enum trk_device_queue_flag {
    TRK_DEVICE_GRAPHICS = 1,
    TRK_DEVICE_COMPUTE = 2,
    TRK_DEVICE_TRANSFER = 4, /* graphics and compute families can copy without saying so */
    TRK_DEVICE_SPARSE = 8,
};

struct trk_device_family {
    uint32_t queues;
    uint32_t flags;          /* enum trk_device_queue_flag */
    uint32_t timestamp_bits; /* 0: no time stamps */
};

enum trk_device_memory_flag {
    TRK_DEVICE_LOCAL = 1,
    TRK_DEVICE_HOST_VISIBLE = 2,
    TRK_DEVICE_HOST_COHERENT = 4,
    TRK_DEVICE_HOST_CACHED = 8,
    TRK_DEVICE_LAZY = 16,
};

struct trk_device_memory_type {
    uint32_t heap;
    uint32_t flags; /* enum trk_device_memory_flag */
};

struct trk_device_heap {
    uint64_t size_bytes;
    bool local;
};

struct trk_device_extension {
    const char *name; /* a constant */
    const char *use;  /* what for, in a few words */
    bool there;
    uint32_t version; /* 0 where it is not there */
};

struct trk_device {
    uint32_t number; /* in the loader's order, from 0 */
    char name[256];
    char driver[256]; /* "name version" */
    const char *kind; /* "discrete", "integrated", "virtual", "processor" or "other" */
    uint32_t vendor_id, device_id, driver_version;
    uint32_t api_version[3];
    bool supported;                  /* has Vulkan 1.2, the least that replays */
    double timestamp_period_ns;      /* of one tick */
    uint64_t import_alignment_bytes; /* of host memory that is imported; 0: it cannot be */
    uint32_t family_count, memory_type_count, heap_count;
    struct trk_device_family families[TRK_DEVICE_FAMILIES_MAX];
    struct trk_device_memory_type memory_types[TRK_DEVICE_MEMORY_TYPES_MAX];
    struct trk_device_heap heaps[TRK_DEVICE_HEAPS_MAX];
    struct trk_device_extension extensions[TRK_DEVICE_EXTENSIONS];
};

/**
 * List the devices.
 *
 * @param out     The caller's to free.
 * @param in_all  How many the machine has: more than *count where it has more than can be opened.
 * @return TRK_OK, at least one device; TRK_E_UNSUPPORTED: no loader, no driver or no device (error
 *         says which); TRK_E_SYSTEM; TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: on drivers. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_devices_list(struct trk_device **out, uint32_t *count,
                                              uint32_t *in_all, struct trk_error *error);

TRK_EXTERN_C_END

#endif
