/*
 * A sparse table by guest address: what an owner knows of each 16 KiB page.
 *
 * Caches of images and buffers ask "is anything of mine here?" for addresses that come out of the
 * guest's own descriptors, and those are 44 bits wide: the two bands, the gap between them, and
 * what lies above. So the table is keyed by all 2^44 addresses; it grows with what is set, not with
 * the space. A value is a number of the owner's, 0 for nothing.
 *
 * For dense tables over the bands alone, trk_page_index() packs an address to an index.
 *
 * Rules: [M-5].
 */
#ifndef TRACK_IMAGE_TABLE_H
#define TRACK_IMAGE_TABLE_H

#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_IMAGE_ADDRESS_BITS 44

struct trk_image_table;

/**
 * Create an empty table.
 *
 * Allocates: yes. Threads: any; one at a time may change a table, and gets may run beside it.
 */
TRK_MUST_USE enum trk_status trk_image_table_create(struct trk_image_table **out,
                                                    struct trk_error *error);
/* NULL is accepted. */
void trk_image_table_destroy(struct trk_image_table *table);

/**
 * Set the value of every page that the range touches; 0 takes it away.
 *
 * @return TRK_OK; TRK_E_RANGE: empty or not below 2^44, nothing has changed; TRK_E_MEMORY: pages
 *         before the one that found no memory are set.
 *
 * Allocates: where values are set for the first time. Signal-safe: no.
 */
TRK_MUST_USE enum trk_status trk_image_table_set(struct trk_image_table *table, uint64_t guest_addr,
                                                 uint64_t size_bytes, uint64_t value);

/* The value at an address; 0 also for addresses from 2^44 on. Signal-safe: yes. */
uint64_t trk_image_table_get(const struct trk_image_table *table, uint64_t guest_addr);

/*
 * The first page at or after an address, and below end_addr, with a value; gives its address, or
 * end_addr. Skips what was never set without looking at each page.
 */
uint64_t trk_image_table_next(const struct trk_image_table *table, uint64_t guest_addr,
                              uint64_t end_addr);

TRK_EXTERN_C_END

#endif
