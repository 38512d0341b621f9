#include "track/image.h"

#include <string.h>

#include "generations.h"
#include "views.h"

_Static_assert(sizeof(struct trk_image_span) == sizeof(struct span), "one layout of spans");

uint32_t trk_image_next(const struct trk_tracker *tracker, uint32_t region)
{
    return trk_region_next_live(tracker, region, TRK_REGION_COUNT);
}

static bool any(const uint64_t *set)
{
    uint64_t sum = 0;
    for (uint32_t word = 0; word < TRK_REGION_WORDS; word++)
        sum |= set[word];
    return sum != 0;
}

static bool can_take(const struct trk_tracker *tracker, const struct region *region)
{
    const struct page_extra *extra = region->extra;
    return tracker->generations == NULL && !region->shared && region->views == NULL &&
           region->flights == NULL && region->lock.word == 0 && region->pages_lock.word == 0 &&
           (extra == NULL ||
            (!any(extra->armed) && !any(extra->others_watch) && !any(extra->others_read)));
}

enum trk_status trk_image_take(const struct trk_tracker *tracker, uint32_t region,
                               struct trk_image *out)
{
    const struct region *from = region_slot(tracker, region);
    if (!can_take(tracker, from))
        return TRK_E_UNSUPPORTED;
    *out = (struct trk_image){
        .region = region,
        .seq = from->seq,
        .pages_seq = from->pages_seq,
        .span_count = from->span_count,
        .spans = (const struct trk_image_span *)from->spans,
    };
    memcpy(out->sets[TRK_IMAGE_NOT_CPU], from->not_cpu, sizeof from->not_cpu);
    memcpy(out->sets[TRK_IMAGE_GPU], from->gpu, sizeof from->gpu);
    memcpy(out->sets[TRK_IMAGE_WATCHED], from->watched, sizeof from->watched);
    memcpy(out->sets[TRK_IMAGE_MANY], from->many, sizeof from->many);
    memcpy(out->sets[TRK_IMAGE_READ], from->read, sizeof from->read);
    if (from->extra != NULL) {
        memcpy(out->sets[TRK_IMAGE_NO_READ], from->extra->no_read, sizeof from->extra->no_read);
        memcpy(out->sets[TRK_IMAGE_NO_WRITE], from->extra->no_write, sizeof from->extra->no_write);
        memcpy(out->sets[TRK_IMAGE_EXECUTE], from->extra->exec, sizeof from->extra->exec);
    }
    if (from->counts != NULL)
        memcpy(out->counts, from->counts, sizeof out->counts);
    return TRK_OK;
}

/* Spans inside the region, ascending and apart, and sets that do not contradict each other. */
static bool is_state(const struct trk_image *image)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < image->span_count; i++) {
        const struct trk_image_span *span = &image->spans[i];
        if (span->first < end || span->end <= span->first || span->end > TRK_REGION_BYTES)
            return false;
        end = span->end;
    }
    uint64_t wrong = 0;
    for (uint32_t word = 0; word < TRK_REGION_WORDS; word++) {
        wrong |= image->sets[TRK_IMAGE_GPU][word] & ~image->sets[TRK_IMAGE_NOT_CPU][word];
        wrong |= image->sets[TRK_IMAGE_MANY][word] & ~image->sets[TRK_IMAGE_WATCHED][word];
    }
    for (uint32_t page = 0; page < TRK_REGION_PAGES; page++) {
        bool many = page_bit(image->sets[TRK_IMAGE_MANY], page);
        if (image->counts[page] >= TRK_WRITE_WATCHES_MAX || (many && image->counts[page] == 0))
            return false;
    }
    return image->region < TRK_REGION_COUNT && wrong == 0;
}

static bool put_parts(struct trk_tracker *tracker, struct region *to, const struct trk_image *image)
{
    if (any(image->sets[TRK_IMAGE_MANY])) {
        to->counts = trk_arena_take(tracker, TRK_REGION_PAGES);
        if (to->counts == NULL)
            return false;
        memcpy(to->counts, image->counts, sizeof image->counts);
    }
    if (any(image->sets[TRK_IMAGE_NO_READ]) || any(image->sets[TRK_IMAGE_NO_WRITE]) ||
        any(image->sets[TRK_IMAGE_EXECUTE])) {
        to->extra = trk_arena_take(tracker, sizeof *to->extra);
        if (to->extra == NULL)
            return false;
        memcpy(to->extra->no_read, image->sets[TRK_IMAGE_NO_READ], sizeof to->extra->no_read);
        memcpy(to->extra->no_write, image->sets[TRK_IMAGE_NO_WRITE], sizeof to->extra->no_write);
        memcpy(to->extra->exec, image->sets[TRK_IMAGE_EXECUTE], sizeof to->extra->exec);
    }
    if (image->span_count > 0) {
        to->spans = trk_arena_take(tracker, image->span_count * sizeof *to->spans);
        if (to->spans == NULL)
            return false;
        memcpy(to->spans, image->spans, image->span_count * sizeof *to->spans);
        to->span_count = image->span_count;
        to->span_capacity = image->span_count;
    }
    return true;
}

enum trk_status trk_image_put(struct trk_tracker *tracker, const struct trk_image *image)
{
    if (tracker->generations != NULL)
        return TRK_E_UNSUPPORTED;
    if (!is_state(image))
        return TRK_E_ARGUMENT;
    struct region *to = region_slot(tracker, image->region);
    trk_region_make_live(tracker, image->region);
    if (!put_parts(tracker, to, image))
        return TRK_E_MEMORY;
    to->seq = image->seq;
    to->pages_seq = image->pages_seq;
    memcpy(to->not_cpu, image->sets[TRK_IMAGE_NOT_CPU], sizeof to->not_cpu);
    memcpy(to->gpu, image->sets[TRK_IMAGE_GPU], sizeof to->gpu);
    memcpy(to->watched, image->sets[TRK_IMAGE_WATCHED], sizeof to->watched);
    memcpy(to->many, image->sets[TRK_IMAGE_MANY], sizeof to->many);
    memcpy(to->read, image->sets[TRK_IMAGE_READ], sizeof to->read);
    return TRK_OK;
}

struct trk_resource_layer trk_image_layer(const struct trk_tracker *tracker)
{
    return tracker->layer;
}

void trk_image_put_layer(struct trk_tracker *tracker, const struct trk_resource_layer *layer)
{
    tracker->layer = *layer;
}
