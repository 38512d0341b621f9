/*
 * Kernel interfaces that are newer than the headers this is built with, each with its version.
 *
 * That a constant stands here says nothing of the kernel at hand: every use is probed at run time.
 */
#ifndef TRACK_KERNEL_ABI_H
#define TRACK_KERNEL_ABI_H

#include <linux/ioctl.h>
#include <stdint.h>

/* userfaultfd; write-protection of shared memory and the SIGBUS feature are older than 6.1. */
#define KERNEL_UFFD_WP_UNPOPULATED (UINT64_C(1) << 13) /* 6.4 */
#define KERNEL_UFFD_WP_ASYNC       (UINT64_C(1) << 15) /* 6.7 */

/* Guard pages: 6.13 for anonymous memory, 6.15 for mappings of files. */
#define KERNEL_MADV_GUARD_INSTALL 102
#define KERNEL_MADV_GUARD_REMOVE  103

/* 6.7: find pages by what has become of them, on /proc/self/pagemap. */
struct kernel_page_region {
    uint64_t start, end, categories;
};

struct kernel_pagemap_scan {
    uint64_t size, flags;
    uint64_t start, end, walk_end;
    uint64_t vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define KERNEL_PAGEMAP_SCAN     _IOWR('f', 16, struct kernel_pagemap_scan)
#define KERNEL_PAGE_IS_WRITTEN  (UINT64_C(1) << 1)
#define KERNEL_SCAN_WP_MATCHING (UINT64_C(1) << 0)
#define KERNEL_SCAN_CHECK_ASYNC (UINT64_C(1) << 1)

/* 6.11: the mapping at an address, on /proc/self/maps. */
struct kernel_procmap_query {
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset;
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    uint32_t vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};

#define KERNEL_PROCMAP_QUERY  _IOWR('f', 17, struct kernel_procmap_query)
#define KERNEL_PROCMAP_SHARED UINT64_C(8) /* in vma_flags */

#endif
