/*
 * Pages with stores that nobody was told of, as far as the log has got: wrong at the end, unless
 * somebody tells of the page later. Which stores these are is remembered with the bytes.
 */
#ifndef SIMULATOR_LATENT_H
#define SIMULATOR_LATENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"

#define LATENT_PAGES_MAX (1u << 14) /* 64 MiB; further ones are not followed */

struct latent {
    uint64_t page_addr;  /* that the tracker knows */
    uint64_t guest_addr; /* of the page, by which it was stored to */
    uint64_t since;      /* event of the first store that nobody was told of */
};

/* Zero-initialised is empty. */
struct latents {
    struct latent *list; /* ascending by page_addr, one each */
    size_t count, capacity;
    bool limited; /* one was not followed, since latents_forget */
};

void latents_deinit(struct latents *latents);

TRK_MUST_USE enum trk_status latents_add(struct latents *latents, const struct latent *latent);
/* The pages of a range are told of. */
void latents_excuse(struct latents *latents, uint64_t first_addr, uint64_t end_addr);
/* Nothing is known any more. */
void latents_forget(struct latents *latents);

#endif
