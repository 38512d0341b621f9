/*
 * Snapshots: the state of all trackers where no operation is open [F-37].
 *
 * Behind the holds and timelines, which the reader needs for the order, stand the trackers:
 *
 *   how many; each: id, layer (bit 0 flush, bit 1 read-back), how many regions; each region: its
 *   number, newest holds of region and page manager, a bit for each set that is not empty, those
 *   sets, the watches above the first if there are any, spans (first, end).
 */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/snapshot.h"
#include "track/image.h"

#define LAYER_FLUSH     1u
#define LAYER_READ_BACK 2u
#define SET_BYTES       (TRK_IMAGE_WORDS * 8)

/* ---- taking ---------------------------------------------------------------------------------- */

static bool is_empty(const uint64_t *set)
{
    uint64_t sum = 0;
    for (uint32_t word = 0; word < TRK_IMAGE_WORDS; word++)
        sum |= set[word];
    return sum == 0;
}

static void pack_set(struct trk_packing *out, const uint64_t *set)
{
    uint8_t bytes[SET_BYTES];
    for (uint32_t i = 0; i < SET_BYTES; i++)
        bytes[i] = (uint8_t)(set[i / 8] >> (i % 8 * 8));
    trk_packing_bytes(out, bytes, sizeof bytes);
}

void snapshot_pack_region(struct trk_packing *out, const struct trk_image *image)
{
    unsigned sets = 0;
    for (unsigned i = 0; i < TRK_IMAGE_SETS; i++)
        sets |= is_empty(image->sets[i]) ? 0 : 1u << i;
    trk_packing_number(out, image->region);
    trk_packing_number(out, image->seq);
    trk_packing_number(out, image->pages_seq);
    trk_packing_number(out, sets);
    for (unsigned i = 0; i < TRK_IMAGE_SETS; i++)
        if (sets >> i & 1)
            pack_set(out, image->sets[i]);
    if (sets >> TRK_IMAGE_MANY & 1)
        trk_packing_bytes(out, image->counts, sizeof image->counts);
    trk_packing_number(out, image->span_count);
    for (uint32_t i = 0; i < image->span_count; i++) {
        trk_packing_number(out, image->spans[i].first);
        trk_packing_number(out, image->spans[i].end);
    }
}

unsigned snapshot_layer_bits(const struct trk_tracker *tracker)
{
    struct trk_resource_layer layer = trk_image_layer(tracker);
    return (layer.flush != NULL ? LAYER_FLUSH : 0) |
           (layer.read_back != NULL ? LAYER_READ_BACK : 0);
}

static enum trk_status pack_tracker(struct trk_packing *out, uint32_t id,
                                    const struct trk_tracker *tracker)
{
    uint64_t regions = 0;
    for (uint32_t at = 0; (at = trk_image_next(tracker, at)) < TRK_REGION_COUNT; at++)
        regions++;
    trk_packing_number(out, id);
    trk_packing_number(out, snapshot_layer_bits(tracker));
    trk_packing_number(out, regions);
    for (uint32_t at = 0; (at = trk_image_next(tracker, at)) < TRK_REGION_COUNT; at++) {
        struct trk_image image;
        enum trk_status status = trk_image_take(tracker, at, &image);
        if (status != TRK_OK)
            return status;
        snapshot_pack_region(out, &image);
    }
    return TRK_OK;
}

/* Numbers with values, ascending: holds of domains, or timelines, which are kept as number + 1. */
static enum trk_status pack_points(struct trk_packing *out, const struct domains *points,
                                   bool timelines)
{
    uint32_t *sorted = domains_sorted(points);
    if (sorted == NULL && points->count > 0)
        return TRK_E_MEMORY;
    trk_packing_number(out, points->count);
    for (size_t i = 0; i < points->count; i++) {
        const struct domain *point = domains_find(points, sorted[i]);
        trk_packing_number(out, timelines ? sorted[i] - 1 : sorted[i]);
        trk_packing_number(out, timelines ? point->event : point->seq);
    }
    free(sorted);
    return TRK_OK;
}

static enum trk_status pack_run(const struct run *run, const struct domains *timelines,
                                struct trk_packing *out, struct trk_error *error)
{
    enum trk_status status = pack_points(out, &run->domains, false);
    if (status == TRK_OK)
        status = pack_points(out, timelines, true);
    trk_packing_number(out, run->machine_count);
    for (uint32_t id = 0; id < RUN_TRACKERS && status == TRK_OK; id++)
        if (run->machines[id].tracker != NULL)
            status = pack_tracker(out, id, run->machines[id].tracker);
    if (status == TRK_E_UNSUPPORTED)
        return trk_error_set(error, status,
                             "the state has generations, shared views or work under way");
    if (status != TRK_OK || out->failed)
        return trk_error_set(error, TRK_E_MEMORY, "out of memory");
    return TRK_OK;
}

/* Keep the greatest value of each timeline. */
enum trk_status snapshot_note_signal(struct domains *timelines, const struct trk_event *event)
{
    if (event->type != TRK_EVENT_SIGNAL || event->domain == UINT32_MAX)
        return TRK_OK;
    struct domain *timeline = domains_touch(timelines, event->domain + 1);
    if (timeline == NULL)
        return TRK_E_MEMORY;
    if (event->argument > timeline->event)
        timeline->event = event->argument;
    return TRK_OK;
}

enum trk_status snapshot_take_timelines(const struct trk_trace *trace, struct domains *timelines)
{
    struct trk_unpacking in = {0};
    in.at = trk_trace_snapshot(trace, &in.end);
    for (int signalled = 0; signalled < 2 && in.at != NULL; signalled++) {
        uint64_t count = trk_unpacking_number(&in, UINT64_MAX);
        for (uint64_t i = 0; i < count && !in.failed; i++) {
            struct trk_event event = {.type = TRK_EVENT_SIGNAL};
            event.domain = (uint32_t)trk_unpacking_number(&in, UINT32_MAX);
            event.argument = trk_unpacking_number(&in, UINT64_MAX);
            if (signalled && !in.failed && snapshot_note_signal(timelines, &event) != TRK_OK)
                return TRK_E_MEMORY;
        }
    }
    return TRK_OK;
}

static enum trk_status run_until(struct run *run, uint64_t event_number, struct domains *timelines,
                                 struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    for (uint64_t next = 0; next < event_number && status == TRK_OK; next++) {
        struct trk_trace_event event;
        status = trk_trace_next(run->trace, &event, error);
        if (status != TRK_OK)
            break;
        run_event(run, &event);
        status = run->failure;
        if (status == TRK_OK)
            status = snapshot_note_signal(timelines, &event.event);
        if (status != TRK_OK)
            return trk_error_set(error, status, "re-execution ended at event %llu",
                                 (unsigned long long)event.number);
        if (run->stopped || run->lossy)
            return trk_error_set(error, TRK_E_UNSUPPORTED, "at event %llu %s",
                                 (unsigned long long)event.number,
                                 run->lossy ? "events are missing" : "a rule breaks");
    }
    return status == TRK_E_END ? TRK_OK : status;
}

enum trk_status trk_sim_snapshot(struct trk_trace *trace, uint64_t event_number,
                                 struct trk_packing *out, struct trk_error *error)
{
    struct trk_sim_report report;
    struct trk_sim_options options = trk_sim_options_default();
    struct domains timelines = {0};
    struct run *run;
    *out = (struct trk_packing){0};
    enum trk_status status = run_create(&run, trace, &options, &report, error);
    if (status == TRK_OK)
        status = snapshot_take_timelines(trace, &timelines);
    if (status == TRK_OK)
        status = run_until(run, event_number, &timelines, error);
    if (status == TRK_OK)
        status = pack_run(run, &timelines, out, error);
    run_destroy(run);
    domains_deinit(&timelines);
    if (status != TRK_OK) {
        free(out->bytes);
        *out = (struct trk_packing){0};
    }
    return status;
}

/* ---- beginning with one ---------------------------------------------------------------------- */

/* Where the trackers stand: behind the holds, which are taken over on the way, and the timelines.
 */
static enum trk_status skip_points(struct run *run, struct trk_unpacking *in, bool take_over)
{
    uint64_t count = trk_unpacking_number(in, UINT64_MAX);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        uint32_t number = (uint32_t)trk_unpacking_number(in, UINT32_MAX);
        uint64_t value = trk_unpacking_number(in, UINT64_MAX);
        if (!take_over || in->failed || number == 0)
            continue;
        struct domain *domain = domains_touch(&run->domains, number);
        if (domain == NULL)
            return TRK_E_MEMORY;
        domain->seq = (uint32_t)value;
    }
    return in->failed ? TRK_E_DAMAGED : TRK_OK;
}

static enum trk_status to_trackers(struct run *run, struct trk_unpacking *in, bool take_over)
{
    enum trk_status status = skip_points(run, in, take_over);
    return status == TRK_OK ? skip_points(run, in, false) : status;
}

enum trk_status snapshot_begin(struct run *run)
{
    struct trk_unpacking in = {0};
    in.at = trk_trace_snapshot(run->trace, &in.end);
    if (in.at == NULL)
        return TRK_OK;
    run->windowed = true;
    judge_doubt(&run->judge, 0);
    return to_trackers(run, &in, true);
}

static void unpack_set(struct trk_unpacking *in, uint64_t *set)
{
    const uint8_t *bytes = trk_unpacking_bytes(in, SET_BYTES);
    for (uint32_t i = 0; bytes != NULL && i < SET_BYTES; i++)
        set[i / 8] |= (uint64_t)bytes[i] << (i % 8 * 8);
}

/* One region, and into the tracker if that is not NULL. */
static enum trk_status unpack_region(struct trk_unpacking *in, struct trk_tracker *tracker)
{
    struct trk_image image = {.region = (uint32_t)trk_unpacking_number(in, TRK_REGION_COUNT - 1)};
    image.seq = (uint32_t)trk_unpacking_number(in, UINT32_MAX);
    image.pages_seq = (uint32_t)trk_unpacking_number(in, UINT32_MAX);
    unsigned sets = (unsigned)trk_unpacking_number(in, (1u << TRK_IMAGE_SETS) - 1);
    for (unsigned i = 0; i < TRK_IMAGE_SETS; i++)
        if (sets >> i & 1)
            unpack_set(in, image.sets[i]);
    if (sets >> TRK_IMAGE_MANY & 1) {
        const uint8_t *counts = trk_unpacking_bytes(in, sizeof image.counts);
        if (counts != NULL)
            memcpy(image.counts, counts, sizeof image.counts);
    }
    image.span_count = (uint32_t)trk_unpacking_number(in, TRK_REGION_BYTES / 2);
    struct trk_image_span *spans = malloc((image.span_count + 1u) * sizeof *spans);
    if (spans == NULL)
        return TRK_E_MEMORY;
    for (uint32_t i = 0; i < image.span_count && !in->failed; i++) {
        spans[i].first = (uint32_t)trk_unpacking_number(in, TRK_REGION_BYTES);
        spans[i].end = (uint32_t)trk_unpacking_number(in, TRK_REGION_BYTES);
    }
    image.spans = spans;
    enum trk_status status = in->failed ? TRK_E_DAMAGED : TRK_OK;
    if (status == TRK_OK && tracker != NULL)
        status = trk_image_put(tracker, &image);
    free(spans);
    return status == TRK_E_ARGUMENT || status == TRK_E_UNSUPPORTED ? TRK_E_DAMAGED : status;
}

enum trk_status snapshot_declare(struct run *run, uint32_t tracker_id)
{
    struct trk_unpacking in = {0};
    in.at = trk_trace_snapshot(run->trace, &in.end);
    if (in.at == NULL || run->restored >> tracker_id & 1)
        return TRK_OK;
    run->restored |= 1u << tracker_id; /* declared again it is another one */
    enum trk_status status = to_trackers(run, &in, false);
    uint64_t trackers = trk_unpacking_number(&in, RUN_TRACKERS);
    for (uint64_t i = 0; i < trackers && status == TRK_OK && !in.failed; i++) {
        uint64_t id = trk_unpacking_number(&in, RUN_TRACKERS - 1);
        uint64_t layer = trk_unpacking_number(&in, LAYER_FLUSH | LAYER_READ_BACK);
        uint64_t regions = trk_unpacking_number(&in, TRK_REGION_COUNT);
        struct machine *machine = id == tracker_id ? &run->machines[id] : NULL;
        if (machine != NULL && layer != 0)
            trk_image_put_layer(machine->tracker,
                                &(struct trk_resource_layer){
                                    .flush = layer & LAYER_FLUSH ? interpreter_range : NULL,
                                    .read_back = layer & LAYER_READ_BACK ? interpreter_range : NULL,
                                    .context = machine,
                                });
        for (uint64_t at = 0; at < regions && status == TRK_OK; at++)
            status = unpack_region(&in, machine != NULL ? machine->tracker : NULL);
    }
    return status == TRK_OK && in.failed ? TRK_E_DAMAGED : status;
}

/* ---- moving ---------------------------------------------------------------------------------- */

struct moving {
    struct trk_unpacking in;
    struct trk_packing *out;
    trk_sim_move_fn *move;
    void *context;
};

static uint64_t copy_number(struct moving *moving, uint64_t most)
{
    uint64_t number = trk_unpacking_number(&moving->in, most);
    if (!moving->in.failed)
        trk_packing_number(moving->out, number);
    return number;
}

static void copy_bytes(struct moving *moving, size_t size_bytes)
{
    const uint8_t *bytes = trk_unpacking_bytes(&moving->in, size_bytes);
    if (bytes != NULL)
        trk_packing_bytes(moving->out, bytes, size_bytes);
}

static void move_domains(struct moving *moving)
{
    uint64_t count = copy_number(moving, UINT64_MAX);
    for (uint64_t i = 0; i < count && !moving->in.failed; i++) {
        uint32_t domain = (uint32_t)trk_unpacking_number(&moving->in, UINT32_MAX);
        enum trk_domain_class class = trk_domain_class(domain);
        uint32_t region = trk_domain_region(domain);
        if ((class == TRK_DOMAIN_REGION || class == TRK_DOMAIN_PAGES) &&
            region < TRK_REGION_COUNT && !moving->in.failed)
            domain = (domain & ~TRK_DOMAIN_SHARED) | moving->move(moving->context, region);
        trk_packing_number(moving->out, domain);
        copy_number(moving, UINT64_MAX);
    }
}

static void move_region(struct moving *moving)
{
    uint32_t region = (uint32_t)trk_unpacking_number(&moving->in, TRK_REGION_COUNT - 1);
    if (moving->in.failed)
        return;
    trk_packing_number(moving->out, moving->move(moving->context, region));
    copy_number(moving, UINT32_MAX);
    copy_number(moving, UINT32_MAX);
    uint64_t sets = copy_number(moving, (1u << TRK_IMAGE_SETS) - 1);
    for (unsigned i = 0; i < TRK_IMAGE_SETS; i++)
        if (sets >> i & 1)
            copy_bytes(moving, SET_BYTES);
    if (sets >> TRK_IMAGE_MANY & 1)
        copy_bytes(moving, sizeof((struct trk_image *)NULL)->counts);
    uint64_t spans = copy_number(moving, TRK_REGION_BYTES / 2);
    for (uint64_t i = 0; i < 2 * spans && !moving->in.failed; i++)
        copy_number(moving, TRK_REGION_BYTES);
}

enum trk_status trk_sim_snapshot_move(const uint8_t *snapshot, const uint8_t *end,
                                      trk_sim_move_fn *move, void *context, struct trk_packing *out,
                                      struct trk_error *error)
{
    struct moving moving = {{snapshot, end, false}, out, move, context};
    *out = (struct trk_packing){0};
    move_domains(&moving);
    uint64_t timelines = copy_number(&moving, UINT64_MAX);
    for (uint64_t i = 0; i < 2 * timelines && !moving.in.failed; i++)
        copy_number(&moving, UINT64_MAX);
    uint64_t trackers = copy_number(&moving, RUN_TRACKERS);
    for (uint64_t i = 0; i < trackers && !moving.in.failed; i++) {
        copy_number(&moving, RUN_TRACKERS - 1);
        copy_number(&moving, LAYER_FLUSH | LAYER_READ_BACK);
        uint64_t regions = copy_number(&moving, TRK_REGION_COUNT);
        for (uint64_t at = 0; at < regions && !moving.in.failed; at++)
            move_region(&moving);
    }
    if (!moving.in.failed && !out->failed)
        return TRK_OK;
    bool memory = out->failed;
    free(out->bytes);
    *out = (struct trk_packing){0};
    return memory ? trk_error_set(error, TRK_E_MEMORY, "out of memory")
                  : trk_error_set(error, TRK_E_DAMAGED, "the snapshot is not readable");
}
