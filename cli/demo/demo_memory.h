/*
 * Guest memory of the demo: one memfd, its views, and what lies where in it.
 *
 * Two windows at fixed guest addresses show the two halves of the memfd to the guest. The alias
 * shows the HLE area once more; the emulator writes through it, and no access through it is ever
 * tracked: a guest has no business there. The backing is the emulator's own view of everything,
 * used for copies only. Pages are numbered by their place in the memfd, slots likewise.
 */
#ifndef DEMO_MEMORY_H
#define DEMO_MEMORY_H

#include <stdint.h>

#include "demo_pattern.h"
#include "track/address.h"
#include "track/backend.h"
#include "track/status.h"

#define DEMO_LOW_WINDOW   UINT64_C(0x200000000)
#define DEMO_ALIAS_WINDOW UINT64_C(0x300000000)
#define DEMO_ARENA_WINDOW TRK_ARENA_FIRST

#define DEMO_VERTEX_AREAS 8u

enum demo_area_id {
    DEMO_AREA_HLE = 0,    /* written by the emulator on a guest's behalf, then by the GPU */
    DEMO_AREA_PING = 1,   /* guests write it in odd frames, the GPU in even ones */
    DEMO_AREA_RESULT = 2, /* the GPU writes it, guests read it */
    DEMO_AREA_VERTEX = 3, /* the first of DEMO_VERTEX_AREAS: guests write them, the GPU reads */
    DEMO_AREAS = DEMO_AREA_VERTEX + DEMO_VERTEX_AREAS,
};

struct demo_area {
    uint32_t page, pages;
};

struct demo_memory {
    int fd;
    uint32_t pages;      /* in all; the windows have half each */
    uint64_t half_bytes; /* size of a window */
    int64_t bias;
    char *backing, *low, *arena, *alias;
    uint32_t *expected; /* a slot: the stamp stored last; written by the slot's owner */
    struct demo_area areas[DEMO_AREAS];
    struct demo_area rest[2]; /* of each window: behind all areas */
};

/* Pages of both rests. */
uint32_t demo_memory_rest(const struct demo_memory *memory);
/* The page of that number among them. */
uint32_t demo_memory_rest_page(const struct demo_memory *memory, uint32_t number);

/* How many there would be. */
uint32_t demo_memory_rest_of(uint32_t megabytes);

/* Map everything; memory must be zero but for fd = -1. On failure all is as before. */
enum trk_status demo_memory_map(struct demo_memory *memory, uint32_t megabytes,
                                struct trk_error *error);
void demo_memory_unmap(struct demo_memory *memory);

/* Say to the recorder what is mapped where. */
void demo_memory_announce(const struct demo_memory *memory);

/* Tell a backend of the windows, before they are used and before they are unmapped. */
enum trk_status demo_memory_attach(const struct demo_memory *memory, struct trk_backend *backend,
                                   struct trk_error *error);
void demo_memory_detach(const struct demo_memory *memory, struct trk_backend *backend);

uint64_t demo_memory_guest(const struct demo_memory *memory, uint32_t page);
uint32_t demo_memory_page(const struct demo_memory *memory, uint64_t guest_addr);

uint64_t demo_memory_slot_guest(const struct demo_memory *memory, uint32_t slot);
/* The page just before the HLE area: the GPU never sees it, and it is not registered. */
uint32_t demo_memory_hole(const struct demo_memory *memory);

/* A page of no area, which holds a texture: no guest stores to it. */
uint32_t demo_memory_texture(void);

/* The slot as the guest sees it. */
volatile uint32_t *demo_memory_slot(const struct demo_memory *memory, uint32_t slot);

/* The stamp for a store to a slot in a frame: greater than all before it. */
uint32_t demo_memory_stamp(const struct demo_memory *memory, uint32_t slot, uint32_t frame);

#endif
