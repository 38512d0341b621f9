/*
 * What a region's locks protect, as a hash.
 *
 * The same on every machine and in every run that has made the same changes: no address goes in.
 * Runs in the fault handler.
 */
#include "state_hash.h"

#include "views.h"

uint64_t trk_state_mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 29;
}

uint64_t trk_state_mix_words(uint64_t digest, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        digest = trk_state_mix(digest, words[i]);
    return digest;
}

/* Sets that are there and empty are like sets that are not there. */
static uint64_t mix_set_bits(uint64_t digest, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != 0)
            digest = trk_state_mix(trk_state_mix(digest, i), words[i]);
    return digest;
}

uint64_t trk_state_region(const struct region *region)
{
    uint64_t digest = trk_state_mix_words(trk_state_mix_words(1, region->not_cpu, TRK_REGION_WORDS),
                                          region->gpu, TRK_REGION_WORDS);
    for (uint32_t i = 0; i < region->span_count; i++)
        digest =
            trk_state_mix(digest, (uint64_t)region->spans[i].first << 32 | region->spans[i].end);
    for (const struct flight *flight = region->flights; flight != NULL; flight = flight->next)
        digest = trk_state_mix_words(trk_state_mix(digest, 2), flight->taken, TRK_REGION_WORDS);
    return digest;
}

uint64_t trk_state_pages(const struct region *region)
{
    uint64_t digest = trk_state_mix_words(3, region->watched, TRK_REGION_WORDS);
    digest = trk_state_mix_words(digest, region->many, TRK_REGION_WORDS);
    digest = trk_state_mix_words(digest, region->read, TRK_REGION_WORDS);
    if (region->counts != NULL)
        for (uint32_t page = 0; page < TRK_REGION_PAGES; page++)
            if (page_bit(region->many, page))
                digest = trk_state_mix(digest, (uint64_t)page << 8 | region->counts[page]);
    if (region->extra != NULL)
        digest =
            mix_set_bits(digest, region->extra->no_read, sizeof *region->extra / sizeof(uint64_t));
    return trk_state_mix(digest, region->shared);
}
