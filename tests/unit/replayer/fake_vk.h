/*
 * A Vulkan device made of nothing: entry points that note what they were asked, and fail on order.
 */
#ifndef FAKE_VK_H
#define FAKE_VK_H

#include "vk_internal.h"

/* What was recorded, one letter a command: b barrier, c copy, f fill, s submission, w wait. */
extern char fake_log[64];

/* The next call of each kind gives this; VK_SUCCESS at first. */
extern VkResult fake_submit_result, fake_wait_result, fake_begin_result;

/* Make a device and forget the log. */
void fake_vk_init(struct trk_vk *vk);

/* A buffer of that size that has no memory. */
struct trk_vk_buffer fake_buffer(uint64_t size_bytes);

#endif
