/*
 * What the vk_*.c files share: the loaded entry points, the device, the open command buffer.
 *
 * slot     one of a few command buffers used in turn; tick T uses slot T % TRK_VK_SLOTS.
 * tick     number of a submission, 1 for the first; a tick is done when its fence is.
 * access   a range that a command recorded since the last barrier reads or writes.
 */
#ifndef VK_INTERNAL_H
#define VK_INTERNAL_H

#include "replayer/vk.h"

#include "fill_shader.h"
#include "vk_loader.h"

#define TRK_VK_SLOTS 4u
/* Accesses remembered between two barriers; when they are used up a barrier forgets them. */
#define TRK_VK_ACCESSES 256u
/* A submission that takes longer than this has hung. */
#define TRK_VK_TIMEOUT_NS (UINT64_C(60) * 1000 * 1000 * 1000)

struct trk_vk_slot {
    VkCommandBuffer commands;
    VkFence fence;
    uint64_t tick; /* that last used it; 0: none */
};

struct trk_vk_access {
    const void *object;  /* a buffer or an image */
    uint64_t first, end; /* bytes, rows */
    bool write;
};

struct trk_vk {
    struct trk_vk_api api;
    struct trk_vk_info info;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkPhysicalDeviceMemoryProperties memory;
    VkDevice device;
    uint32_t family;
    bool computes;          /* the family can */
    uint32_t image_side;    /* texels of an image, at most, either way */
    uint64_t storage_range; /* bytes that a shader can see of a buffer at once */
    VkQueue queue;
    VkCommandPool pool;
    struct trk_vk_slot slots[TRK_VK_SLOTS];
    uint64_t submitted;        /* last tick handed to the queue */
    uint64_t completed;        /* last tick known to have run */
    bool recording;            /* the slot of tick submitted + 1 is open */
    struct fill_shader shader; /* api NULL: there is none */
    const struct trk_vk_buffer *shader_target;
    uint32_t access_count;
    struct trk_vk_access accesses[TRK_VK_ACCESSES];
};

struct trk_vk_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkMemoryPropertyFlags properties; /* of its memory's type */
    uint64_t size_bytes;
    void *host;
};

struct trk_vk_image {
    VkImage image;
    VkDeviceMemory memory;
    uint32_t width, height;
};

/* TRK_OK for VK_SUCCESS; else fills error with what was tried and what came of it. */
enum trk_status trk_vk_result(struct trk_error *error, const char *call, VkResult result);

/* Create and free the pool, command buffers and fences. */
enum trk_status trk_vk_commands_init(struct trk_vk *vk, struct trk_error *error);
void trk_vk_commands_deinit(struct trk_vk *vk);

/* Open the command buffer of the next tick, if it is not. */
enum trk_status trk_vk_commands_open(struct trk_vk *vk, struct trk_error *error);
/* The one that is open. */
VkCommandBuffer trk_vk_commands_buffer(struct trk_vk *vk);
/* Note the accesses of one command, with a barrier before it where it needs one. */
void trk_vk_commands_note(struct trk_vk *vk, const struct trk_vk_access *accesses, uint32_t count);

/* A memory type among `allowed` for what only the device sees, or UINT32_MAX. */
uint32_t trk_vk_memory_local(const struct trk_vk *vk, uint32_t allowed);

#endif
