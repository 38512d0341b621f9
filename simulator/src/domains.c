/*
 * The lock domains that a run has met.
 */
#include "domains.h"

#include <stdlib.h>

void domains_deinit(struct domains *domains)
{
    free(domains->slots);
    *domains = (struct domains){0};
}

static size_t place_of(const struct domain *slots, size_t slot_count, uint32_t domain)
{
    size_t place = (size_t)(domain * UINT32_C(2654435761) >> 8) & (slot_count - 1);
    while (slots[place].domain != 0 && slots[place].domain != domain)
        place = (place + 1) & (slot_count - 1);
    return place;
}

struct domain *domains_find(const struct domains *domains, uint32_t domain)
{
    if (domains->slot_count == 0)
        return NULL;
    struct domain *found = &domains->slots[place_of(domains->slots, domains->slot_count, domain)];
    return found->domain == 0 ? NULL : found;
}

static int grow(struct domains *domains)
{
    size_t slot_count = domains->slot_count ? 2 * domains->slot_count : 64;
    struct domain *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return -1;
    for (size_t i = 0; i < domains->slot_count; i++) {
        if (domains->slots[i].domain != 0)
            slots[place_of(slots, slot_count, domains->slots[i].domain)] = domains->slots[i];
    }
    free(domains->slots);
    domains->slots = slots;
    domains->slot_count = slot_count;
    return 0;
}

struct domain *domains_touch(struct domains *domains, uint32_t domain)
{
    struct domain *found = domains_find(domains, domain);
    if (found != NULL)
        return found;
    if (2 * domains->count >= domains->slot_count && grow(domains) != 0)
        return NULL;
    found = &domains->slots[place_of(domains->slots, domains->slot_count, domain)];
    found->domain = domain;
    domains->count++;
    return found;
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

uint32_t *domains_sorted(const struct domains *domains)
{
    if (domains->count == 0)
        return NULL;
    uint32_t *sorted = malloc(domains->count * sizeof *sorted);
    if (sorted == NULL)
        return NULL;
    size_t count = 0;
    for (size_t i = 0; i < domains->slot_count; i++) {
        if (domains->slots[i].domain != 0)
            sorted[count++] = domains->slots[i].domain;
    }
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted;
}
