/*
 * What the trace says of images and of dispatches, and which images a replay can have.
 *
 * An image is one in a replay, too, where its bytes are touched by nothing else than copies of it,
 * and by the GPU's writes and looks inside of it, in whole texels. Any other is plain: its bytes
 * are a part of the mirror like all others.
 */
#include "plan_internal.h"

#include <stdlib.h>

/* As many as resources have numbers. */
#define IMAGES_MAX 65536u

static bool texels_possible(const struct trk_event *event)
{
    return event->page != 0 && event->pages != 0 && event->flags != 0 &&
           trk_event_size(event) >= (uint64_t)event->page * event->pages * event->flags;
}

/* A format that every device can copy, in rows without gaps, at a place that suits all formats. */
static bool texels_usable(const struct trk_event *event)
{
    const unsigned texel = event->flags;
    return (texel & (texel - 1)) == 0 && texel <= TRK_PLAN_TEXEL_BYTES_MAX &&
           event->argument % TRK_PLAN_TEXEL_BYTES_MAX == 0 &&
           trk_event_size(event) == (uint64_t)event->page * event->pages * texel;
}

static bool images_same(const struct trk_plan_image *a, const struct trk_plan_image *b)
{
    return a->offset == b->offset && a->width == b->width && a->height == b->height &&
           a->texel_bytes == b->texel_bytes;
}

static enum trk_status image_find(struct plan_raws *raws, const struct trk_plan_image *wanted,
                                  uint32_t *number)
{
    for (size_t i = raws->image_count; i > 0; i--) {
        if (images_same(&raws->images[i - 1].image, wanted)) {
            *number = (uint32_t)i;
            return TRK_OK;
        }
    }
    if (raws->image_count == IMAGES_MAX) {
        *number = 0;
        return TRK_OK;
    }
    void *images =
        plan_grow(raws->images, raws->image_count, &raws->image_capacity, sizeof *raws->images);
    if (images == NULL) {
        return TRK_E_MEMORY;
    }
    raws->images = images;
    raws->images[raws->image_count++] = (struct plan_image){.image = *wanted};
    *number = (uint32_t)raws->image_count;
    return TRK_OK;
}

static enum trk_status image_take(struct plan_raws *raws, const struct plan_views *views,
                                  const struct trk_event *event, uint32_t *number)
{
    struct trk_plan_image image = {
        .guest_addr = event->argument,
        .size_bytes = trk_event_size(event),
        .width = event->page,
        .height = event->pages,
        .texel_bytes = event->flags,
    };
    uint64_t together = image.size_bytes;
    if (!texels_possible(event)) {
        return TRK_E_DAMAGED;
    }
    image.offset = plan_views_key(views, image.guest_addr, &together);
    *number = 0;
    return texels_usable(event) && together == image.size_bytes ? image_find(raws, &image, number)
                                                                : TRK_OK;
}

enum trk_status plan_shape_take(struct plan_shape *shape, struct plan_raws *raws,
                                const struct plan_views *views, const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_COPY_BEGIN:
        shape->image = 0;
        return TRK_OK;
    case TRK_EVENT_IMAGE:
        return image_take(raws, views, event, &shape->image);
    case TRK_EVENT_DISPATCH:
        shape->accesses = event->argument;
        return TRK_OK;
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
        shape->dispatched = shape->accesses > 0;
        shape->accesses -= shape->dispatched;
        return TRK_OK;
    default:
        return TRK_OK;
    }
}

/* ---- which ones stay ------------------------------------------------------------------------- */

static int image_compare(const void *a, const void *b)
{
    const struct trk_plan_image *left = &(*(const struct plan_image *const *)a)->image;
    const struct trk_plan_image *right = &(*(const struct plan_image *const *)b)->image;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Ascending; those that share bytes are plain, and left out. Gives how many are left. */
static size_t images_apart(struct plan_image **images, size_t count)
{
    uint64_t end = 0;
    size_t kept = 0;
    qsort(images, count, sizeof(struct plan_image *), image_compare);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && images[i]->image.offset < end) {
            images[i]->plain = true;
            for (size_t k = i; k > 0; k--) { /* whoever reaches into it */
                const struct trk_plan_image *before = &images[k - 1]->image;
                images[k - 1]->plain |=
                    before->offset + before->size_bytes > images[i]->image.offset;
            }
        }
        uint64_t stop = images[i]->image.offset + images[i]->image.size_bytes;
        end = stop > end ? stop : end;
    }
    for (size_t i = 0; i < count; i++) {
        if (!images[i]->plain) {
            images[kept++] = images[i];
        }
    }
    return kept;
}

/* The first of them that ends behind a place. */
static size_t images_behind(struct plan_image *const *images, size_t count, uint64_t offset)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (images[middle]->image.offset + images[middle]->image.size_bytes > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static bool image_holds(const struct trk_plan_image *image, const struct trk_plan_item *item)
{
    uint64_t first = item->offset - image->offset;
    return item->offset >= image->offset && first + item->size_bytes <= image->size_bytes &&
           first % image->texel_bytes == 0 && item->size_bytes % image->texel_bytes == 0;
}

/* Whether a raw leaves the image one; and the raw says whether it is a part of it. */
static bool image_stands(const struct plan_raws *raws, const struct plan_image *image,
                         const struct trk_plan_item *item)
{
    bool copy = item->kind == TRK_PLAN_UPLOAD || item->kind == TRK_PLAN_DOWNLOAD;
    return image_holds(&image->image, item) &&
           (!copy || (item->image != 0 && &raws->images[item->image - 1] == image));
}

static bool touches_device(const struct trk_plan_item *item)
{
    return item->kind != TRK_PLAN_STORE &&
           (item->kind != TRK_PLAN_CHECK || item->side == TRK_PLAN_DEVICE);
}

static void images_judge(const struct plan_raws *raws, struct plan_image *const *images,
                         size_t count)
{
    for (size_t i = 0; i < raws->count; i++) {
        const struct trk_plan_item *item = &raws->all[i].item;
        if (!touches_device(item)) {
            continue;
        }
        size_t at = images_behind(images, count, item->offset);
        for (; at < count && images[at]->image.offset < item->offset + item->size_bytes; at++) {
            images[at]->plain |= !image_stands(raws, images[at], item);
        }
    }
}

/* Those that are left get numbers of their own, and their items these. */
static void images_number(struct plan_raws *raws, struct plan_image *const *images, size_t count)
{
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++) {
        images[i]->number = images[i]->plain ? 0 : ++number;
    }
    for (size_t i = 0; i < raws->count; i++) {
        struct trk_plan_item *item = &raws->all[i].item;
        size_t at = touches_device(item) ? images_behind(images, count, item->offset) : count;
        item->image = at < count && image_holds(&images[at]->image, item) ? images[at]->number : 0;
    }
}

enum trk_status plan_images(struct trk_plan *plan, struct plan_raws *raws, struct trk_error *error)
{
    struct plan_image **images = calloc(raws->image_count + 1, sizeof(struct plan_image *));
    struct trk_plan_image *out = calloc(raws->image_count + 1, sizeof *out);
    plan->images = out;
    if (images == NULL || out == NULL) {
        free(images);
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the plan's images");
    }
    for (size_t i = 0; i < raws->image_count; i++) {
        images[i] = &raws->images[i];
    }
    size_t count = images_apart(images, raws->image_count);
    images_judge(raws, images, count);
    images_number(raws, images, count);
    for (size_t i = 0; i < count; i++) {
        if (images[i]->number != 0) {
            out[plan->image_count++] = images[i]->image;
        }
    }
    plan->plain_images = raws->image_count - plan->image_count;
    free(images);
    return TRK_OK;
}
