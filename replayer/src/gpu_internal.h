/*
 * What the gpu_*.c and path_*.c files share: a device with up to three queues, for replaying.
 *
 * value    of the device's one timeline: each submission has the next one, whatever queue it is on,
 *          and waits for the one before it where that was another queue's. So submissions run in
 *          the order in which they were made.
 * buffer   with memory of its own, or guest memory that the device may read (imported).
 */
#ifndef GPU_INTERNAL_H
#define GPU_INTERNAL_H

#include <time.h>

#include "replayer/replay.h"

#include "vk_internal.h"

struct replay_ground;

#define GPU_QUEUES     3u
#define GPU_TIMEOUT_NS (UINT64_C(120) * 1000 * 1000 * 1000)

struct gpu_queue {
    bool here, times;
    uint32_t family;
    VkQueue queue;
    uint64_t valid_bits; /* mask of a timestamp */
    bool texels;         /* copies may take any texels of an image */
};

struct gpu_limits {
    uint64_t storage_range;     /* bytes that a shader can see of a buffer at once */
    uint64_t storage_alignment; /* of where that begins */
    uint32_t image_side;        /* texels of an image, either way */
    uint64_t import_alignment;  /* of imported memory, place and size */
};

struct trk_gpu {
    struct trk_vk_api api;
    struct trk_gpu_info info;
    struct gpu_limits limits;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;
    uint64_t messages;
    char first_message[512];
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties memory;
    VkDevice device;
    uint32_t host_copy_parts;            /* extensions that host copies need, of those there are */
    struct gpu_queue queues[GPU_QUEUES]; /* by enum trk_policy_queue; absent ones are not here */
    uint32_t families[GPU_QUEUES];       /* those in use, each once */
    uint32_t family_count;
    VkSemaphore timeline;
    uint64_t value; /* of the newest submission */
    enum trk_policy_queue last_queue;
    struct replay_ground *grounds; /* replay_ground.c: of the replays that there are */
    struct trk_gpu_cost costs[GPU_QUEUES];
    bool measured[GPU_QUEUES];
    PFN_vkGetCalibratedTimestampsEXT read_clocks; /* NULL: the two clocks are not read together */
    VkTimeDomainEXT host_domain;
    clockid_t host_clock; /* that the driver reads; CLOCK_MONOTONIC where it reads none */
};

/* gpu_instance.c: loader, instance, messenger, physical device. */
enum trk_status gpu_instance_open(struct trk_gpu *gpu, const struct trk_gpu_options *options,
                                  struct trk_error *error);
void gpu_instance_close(struct trk_gpu *gpu);

/* Give an object a name for validation messages and debuggers, where that is possible. */
void gpu_name(struct trk_gpu *gpu, VkObjectType type, uint64_t object, const char *name);

/* ---- gpu_calibration.c ----------------------------------------------------------------------- */

/* An extension of the device: is it one that reads clocks together? */
void gpu_calibration_listed(struct trk_gpu *gpu, const char *extension);
/* Before the device is made, all extensions listed; and when its calls are loaded. */
void gpu_calibration_choose(struct trk_gpu *gpu);
void gpu_calibration_find(struct trk_gpu *gpu);
/* Where read_clocks is not NULL. */
enum trk_status gpu_calibration_read(const struct trk_gpu *gpu, struct trk_clock_pair *out,
                                     struct trk_error *error);
uint64_t gpu_host_clock(const struct trk_gpu *gpu);

/* ---- gpu_memory.c ---------------------------------------------------------------------------- */

enum gpu_memory {
    GPU_DEVICE,   /* the device's own */
    GPU_UPLOAD,   /* the host's, mapped */
    GPU_READBACK, /* likewise, cached where there is such */
    GPU_DIRECT,   /* the device's own, and mapped */
};

struct gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size_bytes;
    uint8_t *host; /* NULL: not mapped */
};

/* *buffer must be zero; gpu_buffer_deinit in any case. */
enum trk_status gpu_buffer_init(struct trk_gpu *gpu, struct gpu_buffer *buffer,
                                enum gpu_memory memory, uint64_t size_bytes,
                                struct trk_error *error);
/* Over memory of the host: place and size are aligned as the limits say. */
enum trk_status gpu_buffer_import(struct trk_gpu *gpu, struct gpu_buffer *buffer, void *host,
                                  uint64_t size_bytes, struct trk_error *error);
void gpu_buffer_deinit(struct trk_gpu *gpu, struct gpu_buffer *buffer);
/* Whether there is memory that is the device's own and that the host can write. */
bool gpu_memory_direct(const struct trk_gpu *gpu);

/* The type of memory for a use among `allowed`; UINT32_MAX: there is none. */
uint32_t gpu_memory_choose(const struct trk_gpu *gpu, uint32_t allowed, enum gpu_memory memory);
/* What a failed allocation is told as. */
enum trk_status gpu_memory_none(const struct trk_gpu *gpu, struct trk_error *error, VkResult result,
                                uint64_t size_bytes);

/* ---- gpu_image.c ----------------------------------------------------------------------------- */

/* In the layout GENERAL, once gpu_image_prepare has run. */
struct gpu_image {
    VkImage image;
    VkDeviceMemory memory;
    uint32_t width, height, texel_bytes;
    bool host_copied; /* the host copies to it and from it */
};

/* Parts of rows before and behind the whole ones. */
#define GPU_IMAGE_REGIONS 3u

/* Bytes of an image, its rows one behind the other; whole texels. */
struct gpu_image_span {
    uint64_t offset, size_bytes;
    VkBuffer buffer;
    uint64_t buffer_offset;
    uint8_t *host; /* of host copies, instead of a buffer */
};

/* *image must be zero, save what it is like; gpu_image_deinit in any case. */
enum trk_status gpu_image_init(struct trk_gpu *gpu, struct gpu_image *image,
                               struct trk_error *error);
void gpu_image_deinit(struct trk_gpu *gpu, struct gpu_image *image);

struct gpu_commands;
/* What it held is lost. */
void gpu_image_prepare(struct trk_gpu *gpu, const struct gpu_commands *commands,
                       const struct gpu_image *image);
/* up: from the buffer to the image. */
void gpu_image_copy(struct trk_gpu *gpu, const struct gpu_commands *commands,
                    const struct gpu_image *image, const struct gpu_image_span *span, bool up);

/* The same by the host, of a host_copied image; nothing may be under way there. */
enum trk_status gpu_image_host_copy(struct trk_gpu *gpu, const struct gpu_image *image,
                                    const struct gpu_image_span *span, bool up,
                                    struct trk_error *error);

/* ---- gpu_commands.c -------------------------------------------------------------------------- */

/* A command buffer of one queue, used again and again. */
struct gpu_commands {
    enum trk_policy_queue queue;
    VkCommandPool pool;
    VkCommandBuffer buffer;
    uint64_t value; /* of its newest submission; 0: none */
};

enum trk_status gpu_commands_init(struct trk_gpu *gpu, struct gpu_commands *commands,
                                  enum trk_policy_queue queue, struct trk_error *error);
void gpu_commands_deinit(struct trk_gpu *gpu, struct gpu_commands *commands);

/* Wait for its newest submission, and open it. ordered: behind all that was submitted before. */
enum trk_status gpu_commands_begin(struct trk_gpu *gpu, struct gpu_commands *commands, bool ordered,
                                   struct trk_error *error);
enum trk_status gpu_commands_submit(struct trk_gpu *gpu, struct gpu_commands *commands,
                                    struct trk_error *error);
/* What was recorded is ordered, and visible, before all that follows. */
void gpu_commands_barrier(struct trk_gpu *gpu, const struct gpu_commands *commands);
/* What was written is there for the host, once it has waited. */
void gpu_commands_for_host(struct trk_gpu *gpu, const struct gpu_commands *commands);
void gpu_commands_copy(struct trk_gpu *gpu, const struct gpu_commands *commands, VkBuffer source,
                       VkBuffer target, const VkBufferCopy *copy);
void gpu_commands_label(struct trk_gpu *gpu, const struct gpu_commands *commands, const char *text);
void gpu_commands_label_end(struct trk_gpu *gpu, const struct gpu_commands *commands);

enum trk_status gpu_wait(struct trk_gpu *gpu, uint64_t value, struct trk_error *error);

#endif
