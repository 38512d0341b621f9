#include "second_order.h"

#define POINTS_MAX 4096

struct point {
    bool timeline;
    uint32_t number;
    bool given, ended;
    uint64_t value; /* current hold, or greatest value signalled */
    size_t owner;
};

static struct point points[POINTS_MAX];
static size_t point_count;

static struct point *point_of(const struct second_event *event)
{
    bool timeline = event->type == 77 || event->type == 78;
    bool hold = (event->type >= 2 && event->type <= 6) || event->type == 13 ||
                (event->type == 9 && event->domain >> 28 != 0);
    if (!timeline && !hold) {
        return NULL;
    }
    for (size_t i = 0; i < point_count; i++) {
        if (points[i].timeline == timeline && points[i].number == event->domain) {
            return &points[i];
        }
    }
    second_must(point_count < POINTS_MAX, "this decoder's limit of domains and timelines");
    points[point_count] = (struct point){.timeline = timeline, .number = event->domain};
    return &points[point_count++];
}

static bool is_past(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

bool second_ready(const struct second_event *event)
{
    const struct point *point = point_of(event);
    if (point == NULL || event->type == 77) {
        return true;
    }
    if (event->type == 78) {
        return point->given && point->value >= event->argument;
    }
    if (!point->given) {
        return event->seq == 1;
    }
    uint32_t current = (uint32_t)point->value;
    return !is_past(event->seq, current) || (event->seq == current + 1 && point->ended);
}

void second_give(const struct second_event *event, size_t stream)
{
    struct point *point = point_of(event);
    if (point == NULL || event->type == 78) {
        return;
    }
    if (event->type == 77) {
        if (!point->given || event->argument > point->value) {
            point->value = event->argument;
        }
        point->given = true;
        return;
    }
    if (point->given && event->seq != point->value &&
        !is_past(event->seq, (uint32_t)point->value)) {
        return;
    }
    if (!point->given || event->seq != point->value) {
        *point = (struct point){false, event->domain, true, false, event->seq, stream};
    }
    point->ended |= second_ends_hold(event);
}

void second_exhausted(size_t stream)
{
    for (size_t i = 0; i < point_count; i++) {
        points[i].ended |= points[i].owner == stream;
    }
}

void second_begin(bool timeline, uint32_t number, uint64_t value)
{
    second_must(point_count < POINTS_MAX, "this decoder's limit of domains and timelines");
    points[point_count++] = (struct point){timeline, number, true, true, value, SIZE_MAX};
}

void second_order_reset(void)
{
    point_count = 0;
}
