#include "latent.h"

#include <stdlib.h>
#include <string.h>

#define LATENT_AT_FIRST 16u

void latents_deinit(struct latents *latents)
{
    free(latents->list);
    *latents = (struct latents){.list = NULL};
}

/* The first of a page from this address on. */
static size_t place_of(const struct latents *latents, uint64_t page_addr)
{
    size_t first = 0, end = latents->count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (latents->list[middle].page_addr < page_addr)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static enum trk_status grow(struct latents *latents)
{
    size_t capacity = latents->capacity == 0 ? LATENT_AT_FIRST : 2 * latents->capacity;
    struct latent *list = realloc(latents->list, capacity * sizeof *list);
    if (list == NULL)
        return TRK_E_MEMORY;
    latents->list = list;
    latents->capacity = capacity;
    return TRK_OK;
}

enum trk_status latents_add(struct latents *latents, const struct latent *latent)
{
    size_t at = place_of(latents, latent->page_addr);
    if (at < latents->count && latents->list[at].page_addr == latent->page_addr)
        return TRK_OK;
    if (latents->count == LATENT_PAGES_MAX) {
        latents->limited = true;
        return TRK_OK;
    }
    if (latents->count == latents->capacity && grow(latents) != TRK_OK)
        return TRK_E_MEMORY;
    memmove(latents->list + at + 1, latents->list + at,
            (latents->count - at) * sizeof *latents->list);
    latents->list[at] = *latent;
    latents->count++;
    return TRK_OK;
}

void latents_excuse(struct latents *latents, uint64_t first_addr, uint64_t end_addr)
{
    size_t first = place_of(latents, first_addr), end = place_of(latents, end_addr);
    if (first == end)
        return;
    memmove(latents->list + first, latents->list + end,
            (latents->count - end) * sizeof *latents->list);
    latents->count -= end - first;
}

void latents_forget(struct latents *latents)
{
    latents->count = 0;
    latents->limited = false;
}
