/*
 * What the two halves of the world share.
 */
#ifndef TESTS_SPACE_WORLD_INTERNAL_H
#define TESTS_SPACE_WORLD_INTERNAL_H

#include <stdio.h>

#include "space_world.h"
#include "track/address.h"

#define PAGE        TRK_HOST_PAGE_BYTES
#define WORLD_BYTES (WORLD_PAGES * PAGE)

void world_must(enum trk_status status);
const char *world_rights(unsigned rights);
uint64_t world_host_addr(const struct world *world, uint64_t page);
/* What the kernel's table says of a page. */
unsigned world_kernel_rights(const struct world *world, uint64_t page);
/* What the space says of a page. */
void world_stretch(struct world *world, uint64_t page, FILE *out);
/* The owner's flush; the context is the world. */
void world_flush(void *context, uint64_t guest_addr, uint64_t size_bytes);

#endif
