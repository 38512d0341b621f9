#include "query_scan.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/checkpoint.h"
#include "track/address.h"

/* So many events are given in order before the clock is looked at. */
#define LOOK_EVERY 65536u

struct trk_query_filter trk_query_filter_all(void)
{
    return (struct trk_query_filter){
        .last_event = UINT64_MAX, .last_tsc = UINT64_MAX, .last_frame = UINT64_MAX, .stream = -1};
}

static void count_own(struct trk_query_scan *scan)
{
    if (scan->own != NULL) {
        uint64_t bytes = trk_trace_bytes_read(scan->own);
        scan->query->other_bytes += bytes - scan->own_bytes;
        scan->own_bytes = bytes;
        scan->query->damaged |= trk_trace_state(scan->own).damaged_chunks > 0;
    }
}

void trk_query_scan_deinit(struct trk_query_scan *scan)
{
    count_own(scan);
    trk_trace_close(scan->own);
    free(scan->ordinals);
    free(scan->chunk.records);
    trk_query_frame_list_deinit(&scan->window);
    trk_trace_domains_deinit(&scan->domains);
    *scan = (struct trk_query_scan){.query = scan->query};
}

/* The time of a checkpoint: what is before it is no later, and what is behind it no earlier. */
struct moment {
    uint64_t event_number;
    uint64_t before_tsc, behind_tsc;
};

/* own is at the checkpoint. Chunks end there. */
static void look_around(const struct trk_trace *own, struct moment *moment)
{
    moment->before_tsc = 0;
    moment->behind_tsc = UINT64_MAX;
    for (size_t i = 0; i < trk_trace_stream_count(own); i++) {
        uint64_t before = trk_trace_before(own, i);
        for (uint32_t at = trk_trace_first_chunk(own, i); at != TRK_TRACE_NO_CHUNK;) {
            struct trk_trace_chunk chunk = trk_trace_chunk(own, at);
            if (chunk.first_ordinal < before && chunk.last_tsc > moment->before_tsc) {
                moment->before_tsc = chunk.last_tsc;
            }
            bool behind = chunk.first_ordinal + chunk.events > before;
            if (behind && chunk.first_tsc < moment->behind_tsc) {
                moment->behind_tsc = chunk.first_tsc;
            }
            at = behind ? TRK_TRACE_NO_CHUNK : chunk.next;
        }
    }
}

/* What is asked of checkpoints, which are in order: those for which it holds come first. */
typedef bool checkpoint_fn(const struct moment *moment, const struct trk_query_filter *filter);

static bool before_all(const struct moment *moment, const struct trk_query_filter *filter)
{
    return moment->event_number <= filter->first_event ||
           (moment->before_tsc < filter->first_tsc && moment->before_tsc != 0);
}

static bool not_behind(const struct moment *moment, const struct trk_query_filter *filter)
{
    return moment->behind_tsc <= filter->last_tsc;
}

/* How many checkpoints are so; of the first that is not the moment. TRK_E_DAMAGED: not to be told.
 */
static enum trk_status find_checkpoint(struct trk_query_scan *scan, checkpoint_fn *fn,
                                       size_t *count, struct moment *first, struct trk_error *error)
{
    size_t low = 0;
    size_t high = trk_trace_checkpoint_count(scan->own);
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && low < high) {
        size_t middle = low + (high - low) / 2;
        struct trk_trace_checkpoint found = {0};
        struct moment moment;
        status = trk_trace_go_to(scan->own, middle, &found, error);
        moment.event_number = found.event_number;
        if (status == TRK_OK) {
            look_around(scan->own, &moment);
        }
        if (status == TRK_OK && fn(&moment, &scan->filter)) {
            low = middle + 1;
        } else {
            high = middle;
            *first = moment;
        }
    }
    *count = low;
    return status;
}

/* Go to the last checkpoint before all that is asked for; what is behind the first one that is
 * behind all of it is not read. Checkpoints are of no use once one is damaged. */
static enum trk_status go_to_start(struct trk_query_scan *scan, struct trk_error *error)
{
    struct moment moment = {0};
    size_t count = 0;
    enum trk_status status = TRK_OK;
    if (scan->filter.last_tsc != UINT64_MAX) {
        status = find_checkpoint(scan, not_behind, &count, &moment, error);
        bool found = status == TRK_OK && count < trk_trace_checkpoint_count(scan->own);
        if (found && moment.event_number <= scan->filter.last_event) {
            scan->filter.last_event = moment.event_number - (moment.event_number > 0);
        }
    }
    if (status == TRK_OK) {
        status = find_checkpoint(scan, before_all, &count, &moment, error);
    }
    if (status == TRK_OK && count > 0) {
        status = trk_trace_go_to(scan->own, count - 1, NULL, error);
    } else if (status == TRK_OK || status == TRK_E_DAMAGED) {
        status = trk_trace_rewind(scan->own, error);
    }
    return status;
}

static enum trk_status begin_in_order(struct trk_query_scan *scan, struct trk_error *error)
{
    size_t streams = trk_trace_stream_count(scan->query->trace);
    enum trk_status status = TRK_OK;
    if (scan->own == NULL) {
        status = trk_trace_open(&scan->own, scan->query->path, error);
        if (status == TRK_OK) {
            trk_trace_on_progress(scan->own, scan->query->watch);
            status = trk_trace_scan_quick(scan->own, error);
        }
    }
    if (status != TRK_OK) {
        return status;
    }
    if (trk_trace_stream_count(scan->own) != streams) {
        return trk_error_set(error, TRK_E_DAMAGED, "the trace changes while it is read");
    }
    uint64_t *ordinals = calloc(streams + 1, sizeof *ordinals);
    if (ordinals == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for a query");
    }
    free(scan->ordinals);
    scan->ordinals = ordinals;
    status = trk_trace_rewind(scan->own, error);
    if (status == TRK_OK) {
        status = go_to_start(scan, error);
    }
    for (size_t i = 0; status == TRK_OK && i < streams; i++) {
        ordinals[i] = trk_trace_before(scan->own, i);
    }
    return status;
}

enum trk_status trk_query_scan_begin(struct trk_query_scan *scan,
                                     const struct trk_query_filter *filter, struct trk_error *error)
{
    struct trk_query_frame_list *window = &scan->window;
    enum trk_status status = TRK_OK;
    scan->filter = *filter;
    scan->stream = scan->next_record = scan->chunk.count = 0;
    scan->begun = scan->done = scan->late = false;
    trk_query_frame_list_deinit(window);
    if (filter->by_frame) {
        status = trk_query_frames_find(scan->query, filter->first_frame, filter->last_frame, window,
                                       error);
        scan->done = window->first_tsc > window->last_tsc;
        scan->filter.first_tsc =
            window->first_tsc > filter->first_tsc ? window->first_tsc : filter->first_tsc;
        scan->filter.last_tsc =
            window->last_tsc < filter->last_tsc ? window->last_tsc : filter->last_tsc;
    }
    scan->done |= filter->first_event > filter->last_event;
    if (status == TRK_OK && filter->in_order && !scan->done) {
        status = begin_in_order(scan, error);
    }
    return status;
}

/* ---- in order -------------------------------------------------------------------------------- */

static enum trk_status next_in_order(struct trk_query_scan *scan, bool open,
                                     struct trk_query_row *out, bool *wanted,
                                     struct trk_error *error)
{
    struct trk_trace_event event;
    const struct trk_query_filter *filter = &scan->filter;
    enum trk_status status = trk_trace_next(scan->own, &event, error);
    bool behind = status == TRK_OK && event.number > filter->last_event && !open;
    if (status == TRK_E_END || behind) {
        scan->done = true;
        count_own(scan);
        return TRK_E_END;
    }
    if (status != TRK_OK) {
        return status;
    }
    if (event.number % LOOK_EVERY == 0) {
        count_own(scan);
        if (trk_query_late(scan->query)) {
            return trk_error_set(error, TRK_E_LIVELOCK, "the time of the query is used up");
        }
    }
    *out = (struct trk_query_row){.number = event.number,
                                  .ordinal = scan->ordinals[event.stream]++,
                                  .tsc = event.tsc,
                                  .stream = event.stream,
                                  .event = event.event};
    *wanted = event.number >= filter->first_event && event.number <= filter->last_event;
    return TRK_OK;
}

/* ---- chunk by chunk -------------------------------------------------------------------------- */

static bool wants_stream(const struct trk_query_scan *scan, uint32_t stream)
{
    const struct trk_query_filter *filter = &scan->filter;
    return (filter->stream < 0 || filter->stream == (int64_t)stream) &&
           (filter->thread == NULL ||
            strcmp(trk_trace_stream(scan->query->trace, stream)->name, filter->thread) == 0);
}

/*
 * Whether events of a chunk may lie in the filter's time. A thread's time stamps ascend but where a
 * signal handler came between a stamp and its event; so what is between a chunk and its neighbours
 * counts as the chunk's.
 */
static bool in_time(const struct trk_query_scan *scan, uint32_t before)
{
    struct trk_trace *trace = scan->query->trace;
    struct trk_trace_chunk chunk = trk_trace_chunk(trace, scan->at);
    uint64_t first = chunk.first_tsc < chunk.last_tsc ? chunk.first_tsc : chunk.last_tsc;
    uint64_t last = chunk.first_tsc < chunk.last_tsc ? chunk.last_tsc : chunk.first_tsc;
    if (before != TRK_TRACE_NO_CHUNK && trk_trace_chunk(trace, before).last_tsc < first) {
        first = trk_trace_chunk(trace, before).last_tsc;
    }
    if (chunk.next != TRK_TRACE_NO_CHUNK && trk_trace_chunk(trace, chunk.next).first_tsc > last) {
        last = trk_trace_chunk(trace, chunk.next).first_tsc;
    }
    return first <= scan->filter.last_tsc && last >= scan->filter.first_tsc;
}

/* Whether index and summary leave a chunk to the filter's region. *out: it may have such events. */
static enum trk_status in_region(struct trk_query_scan *scan, bool *out, struct trk_error *error)
{
    uint32_t region = trk_region_index(scan->filter.region);
    *out = scan->filter.beside_holds &&
           trk_trace_chunk_may_have(scan->query->trace, scan->at, scan->filter.region);
    if (*out || !scan->filter.in_holds) {
        return TRK_OK;
    }
    enum trk_status status =
        trk_trace_chunk_domains(scan->query->trace, scan->at, &scan->domains, error);
    *out = status == TRK_E_UNSUPPORTED;
    if (status != TRK_OK) {
        return *out ? TRK_OK : status;
    }
    for (size_t i = 0; i < scan->domains.count && !*out; i++) {
        uint32_t domain = scan->domains.at[i].domain;
        bool of_region = trk_domain_class(domain) == TRK_DOMAIN_REGION ||
                         trk_domain_class(domain) == TRK_DOMAIN_PAGES;
        *out = domain >> 28 == 0 || /* faults of no region: their address says where */
               (of_region && (trk_domain_region(domain) == region ||
                              trk_domain_region(domain) == TRK_DOMAIN_SHARED));
    }
    return TRK_OK;
}

/* Go to the chunk behind the current one, or to the first of the next stream that is wanted. */
static void step(struct trk_query_scan *scan)
{
    struct trk_trace *trace = scan->query->trace;
    size_t streams = trk_trace_stream_count(trace);
    scan->at = scan->begun ? trk_trace_chunk(trace, scan->at).next : TRK_TRACE_NO_CHUNK;
    scan->stream += scan->begun && scan->at == TRK_TRACE_NO_CHUNK;
    while (scan->at == TRK_TRACE_NO_CHUNK && scan->stream < streams) {
        if (wants_stream(scan, scan->stream)) {
            scan->at = trk_trace_first_chunk(trace, scan->stream);
        }
        scan->stream += scan->at == TRK_TRACE_NO_CHUNK;
    }
    scan->begun = true;
    scan->done = scan->at == TRK_TRACE_NO_CHUNK;
}

/* Read the next chunk that is wanted. */
static enum trk_status load(struct trk_query_scan *scan, bool open, struct trk_error *error)
{
    uint32_t before = scan->begun ? scan->at : TRK_TRACE_NO_CHUNK;
    uint32_t stream = scan->stream;
    const uint32_t open_stream = stream;
    step(scan);
    while (!scan->done) {
        bool wanted = in_time(scan, scan->stream == stream ? before : TRK_TRACE_NO_CHUNK);
        enum trk_status status = TRK_OK;
        if (wanted && scan->filter.by_region) {
            status = in_region(scan, &wanted, error);
        }
        if (status != TRK_OK) {
            return status;
        }
        scan->late = !wanted;
        if (wanted || (open && scan->stream == open_stream)) {
            struct trk_trace_chunk chunk = trk_trace_chunk(scan->query->trace, scan->at);
            status = trk_query_read_chunk(scan->query, scan->at, &scan->chunk, error);
            scan->ordinal = chunk.first_ordinal;
            scan->next_record = 0;
            if (status != TRK_E_DAMAGED) {
                return status;
            }
            scan->chunk.count = 0;
        }
        before = scan->at;
        stream = scan->stream;
        step(scan);
    }
    return TRK_E_END;
}

static enum trk_status next_in_chunks(struct trk_query_scan *scan, bool open,
                                      struct trk_query_row *out, bool *wanted,
                                      struct trk_error *error)
{
    while (scan->next_record == scan->chunk.count) {
        enum trk_status status = load(scan, open, error);
        if (status != TRK_OK) {
            return status;
        }
    }
    const struct trk_record *record = &scan->chunk.records[scan->next_record++];
    *out = (struct trk_query_row){.number = TRK_NOT_KNOWN,
                                  .ordinal = scan->ordinal++,
                                  .tsc = record->tsc,
                                  .stream = scan->stream,
                                  .event = record->event};
    *wanted = !scan->late && record->tsc >= scan->filter.first_tsc &&
              record->tsc <= scan->filter.last_tsc;
    return TRK_OK;
}

enum trk_status trk_query_scan_next(struct trk_query_scan *scan, bool open,
                                    struct trk_query_row *out, bool *wanted,
                                    struct trk_error *error)
{
    if (scan->done) {
        return TRK_E_END;
    }
    return scan->filter.in_order ? next_in_order(scan, open, out, wanted, error)
                                 : next_in_chunks(scan, open, out, wanted, error);
}
