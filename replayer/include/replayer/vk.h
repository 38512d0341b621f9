/*
 * A small Vulkan device for transfers: buffers and images, copies, fills, dispatches, waits.
 *
 * Vulkan is loaded at run time (libvulkan.so.1); nothing here links to it. One context is one
 * device with one queue, used by one thread at a time. Commands are recorded into one open command
 * buffer and run by trk_vk_submit; they execute in the order recorded (a full memory barrier stands
 * between those that depend on each other).
 */
#ifndef REPLAYER_VK_H
#define REPLAYER_VK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_vk;
struct trk_vk_buffer;
struct trk_vk_image;

struct trk_vk_info {
    char device_name[256];
    char driver[256]; /* "name version" */
    uint32_t device_count;
};

/**
 * Open a device by its number in the loader's order.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: no loader, no driver, or no device of that number (error says
 *         which, and how many there are); TRK_E_SYSTEM; TRK_E_MEMORY.
 */
TRK_MUST_USE enum trk_status trk_vk_open(struct trk_vk **out, uint32_t device_number,
                                         struct trk_error *error);
void trk_vk_close(struct trk_vk *vk);
const struct trk_vk_info *trk_vk_info(const struct trk_vk *vk);

enum trk_vk_memory {
    TRK_VK_DEVICE_LOCAL = 0,
    TRK_VK_UPLOAD = 1,   /* host-visible, coherent, mapped */
    TRK_VK_READBACK = 2, /* host-visible, coherent, mapped, cached where there is such */
};

TRK_MUST_USE enum trk_status trk_vk_buffer_create(struct trk_vk *vk, struct trk_vk_buffer **out,
                                                  enum trk_vk_memory memory, uint64_t size_bytes,
                                                  struct trk_error *error);
void trk_vk_buffer_destroy(struct trk_vk *vk, struct trk_vk_buffer *buffer);
/* What its memory is, in words with blanks between: device_local, host_visible and so on. */
void trk_vk_buffer_describe(const struct trk_vk_buffer *buffer, char *out, size_t size);
/* The mapping of an upload or readback buffer; NULL for device-local ones. */
void *trk_vk_buffer_host(struct trk_vk_buffer *buffer);

struct trk_vk_region {
    uint64_t source_offset, target_offset, size_bytes;
};

/*
 * Record a copy, a fill (4-byte aligned) into the open command buffer.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: outside a buffer, not aligned, or a copy onto itself; else as the
 *         device answers. Nothing is recorded then.
 */
TRK_MUST_USE enum trk_status trk_vk_copy(struct trk_vk *vk, struct trk_vk_buffer *source,
                                         struct trk_vk_buffer *target,
                                         const struct trk_vk_region *region,
                                         struct trk_error *error);
TRK_MUST_USE enum trk_status trk_vk_fill(struct trk_vk *vk, struct trk_vk_buffer *target,
                                         uint64_t offset, uint64_t size_bytes, uint32_t word,
                                         struct trk_error *error);
/*
 * An image of 32-bit texels in the device's memory. Its contents are not known at first. Creating
 * it records what prepares it; nothing of it may be pending when it is destroyed.
 *
 * @return TRK_OK; TRK_E_ARGUMENT: larger than the device's images can be, or nothing; TRK_E_MEMORY;
 *         else as the device answers.
 */
TRK_MUST_USE enum trk_status trk_vk_image_create(struct trk_vk *vk, struct trk_vk_image **out,
                                                 uint32_t width, uint32_t height,
                                                 struct trk_error *error);
void trk_vk_image_destroy(struct trk_vk *vk, struct trk_vk_image *image);

/* Rows of an image, and their place in a buffer, row behind row. */
struct trk_vk_image_copy {
    struct trk_vk_buffer *buffer;
    struct trk_vk_image *image;
    uint64_t buffer_offset; /* 4-byte aligned */
    uint32_t first_row, rows;
};

/* Record a copy of rows, from the buffer to the image or back. Returns as trk_vk_copy does. */
TRK_MUST_USE enum trk_status trk_vk_image_upload(struct trk_vk *vk,
                                                 const struct trk_vk_image_copy *copy,
                                                 struct trk_error *error);
TRK_MUST_USE enum trk_status trk_vk_image_download(struct trk_vk *vk,
                                                   const struct trk_vk_image_copy *copy,
                                                   struct trk_error *error);

/**
 * Make a compute shader that fills parts of one device-local buffer, once a device.
 *
 * @return TRK_OK; TRK_E_UNSUPPORTED: the device's queue runs no shader; TRK_E_EXISTS: there is one;
 *         TRK_E_MEMORY; else as the device answers.
 */
TRK_MUST_USE enum trk_status trk_vk_shader_open(struct trk_vk *vk, struct trk_vk_buffer *target,
                                                struct trk_error *error);
/* Record a dispatch of it, which does what trk_vk_fill does. Returns as that. */
TRK_MUST_USE enum trk_status trk_vk_dispatch(struct trk_vk *vk, uint64_t offset,
                                             uint64_t size_bytes, uint32_t word,
                                             struct trk_error *error);

/* Run what was recorded; gives its tick (1, 2, ...). */
TRK_MUST_USE enum trk_status trk_vk_submit(struct trk_vk *vk, uint64_t *tick,
                                           struct trk_error *error);
/* Wait until a tick has run. */
TRK_MUST_USE enum trk_status trk_vk_wait(struct trk_vk *vk, uint64_t tick, struct trk_error *error);

TRK_EXTERN_C_END

#endif
