#include "query_regions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"

void trk_query_regions_deinit(struct trk_query_regions *regions)
{
    free(regions->at);
    *regions = (struct trk_query_regions){.at = NULL};
}

/* The place of a region, or where it belongs. */
static size_t find(const struct trk_query_regions *regions, uint32_t region, uint32_t tracker)
{
    size_t low = 0;
    size_t high = regions->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct trk_query_region *there = &regions->at[middle];
        if (there->region < region || (there->region == region && there->tracker < tracker)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static enum trk_status count_domain(struct trk_query_regions *regions, size_t chunk,
                                    const struct trk_trace_domain *domain, struct trk_error *error)
{
    uint32_t region = trk_domain_region(domain->domain);
    uint32_t tracker = trk_domain_tracker(domain->domain);
    bool locks = trk_domain_class(domain->domain) == TRK_DOMAIN_REGION;
    if ((!locks && trk_domain_class(domain->domain) != TRK_DOMAIN_PAGES) ||
        region == TRK_DOMAIN_SHARED) {
        return TRK_OK;
    }
    size_t place = find(regions, region, tracker);
    bool there = place < regions->count && regions->at[place].region == region &&
                 regions->at[place].tracker == tracker;
    if (!there) {
        if (regions->count == regions->room) {
            size_t room = regions->room == 0 ? 64 : 2 * regions->room;
            struct trk_query_region *more = realloc(regions->at, room * sizeof *more);
            if (more == NULL) {
                return trk_error_set(error, TRK_E_MEMORY, "no memory for the regions of a trace");
            }
            regions->at = more;
            regions->room = room;
        }
        struct trk_query_region *made = &regions->at[place];
        memmove(made + 1, made, (regions->count++ - place) * sizeof *made);
        *made =
            (struct trk_query_region){.region = region, .tracker = tracker, .last_chunk = SIZE_MAX};
    }
    struct trk_query_region *at = &regions->at[place];
    *(locks ? &at->locks : &at->protection_holds) += domain->holds;
    at->chunks += at->last_chunk != chunk;
    at->last_chunk = chunk;
    return TRK_OK;
}

/* A chunk without a summary: by its events. */
static enum trk_status count_events(struct trk_query *query, struct trk_query_regions *regions,
                                    size_t index, struct trk_query_chunk *chunk,
                                    struct trk_error *error)
{
    enum trk_status status = trk_query_read_chunk(query, index, chunk, error);
    if (status == TRK_E_DAMAGED) {
        return TRK_OK;
    }
    for (uint32_t i = 0; i < chunk->count && status == TRK_OK; i++) {
        const struct trk_event *event = &chunk->records[i].event;
        if (trk_event_in_hold(event)) {
            struct trk_trace_domain domain = {event->domain, trk_event_ends_hold(event)};
            status = count_domain(regions, index, &domain, error);
        }
    }
    return status;
}

enum trk_status trk_query_regions_find(struct trk_query *query, struct trk_query_regions *out,
                                       struct trk_error *error)
{
    struct trk_trace_domains domains = {.at = NULL};
    struct trk_query_chunk chunk = {.records = NULL};
    enum trk_status status = TRK_OK;
    size_t count = trk_trace_chunk_count(query->trace);
    for (size_t i = 0; i < count && status == TRK_OK; i++) {
        status = trk_query_late(query)
                     ? trk_error_set(error, TRK_E_LIVELOCK, "the time of the query is used up")
                     : trk_trace_chunk_domains(query->trace, i, &domains, error);
        if (status == TRK_E_UNSUPPORTED) {
            status = count_events(query, out, i, &chunk, error);
            continue;
        }
        for (size_t j = 0; j < domains.count && status == TRK_OK; j++) {
            status = count_domain(out, i, &domains.at[j], error);
        }
    }
    trk_trace_domains_deinit(&domains);
    free(chunk.records);
    return status;
}
