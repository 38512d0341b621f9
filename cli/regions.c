#include "regions.h"

#include <stdlib.h>

#define REGION_NUMBERS (UINT32_C(1) << 24) /* all that a domain can name */

struct trk_regions {
    uint64_t count;
    uint64_t seen[REGION_NUMBERS / 64];
};

struct trk_regions *trk_regions_create(void)
{
    return calloc(1, sizeof(struct trk_regions)); /* 2 MiB, of which few pages are ever touched */
}

void trk_regions_destroy(struct trk_regions *regions)
{
    free(regions);
}

void trk_regions_note(struct trk_regions *regions, const struct trk_event *event)
{
    enum trk_domain_class class = trk_domain_class(event->domain);
    if (!trk_event_in_hold(event) || (class != TRK_DOMAIN_REGION && class != TRK_DOMAIN_PAGES)) {
        return;
    }
    uint32_t region = trk_domain_region(event->domain);
    if (region == TRK_DOMAIN_SHARED) {
        return; /* each of them has a hold of its own, from when it was first shared */
    }
    uint64_t bit = UINT64_C(1) << (region % 64);
    regions->count += (regions->seen[region / 64] & bit) == 0;
    regions->seen[region / 64] |= bit;
}

uint64_t trk_regions_count(const struct trk_regions *regions)
{
    return regions->count;
}
