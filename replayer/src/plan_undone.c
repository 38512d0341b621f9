/*
 * A read-back whose bytes the GPU had not written yet brings what was there before. Where both are
 * replayed in the recorded order, it would bring the new bytes.
 *
 * So the write goes behind the read-back: those of its bytes that are read back, and that no copy
 * has overwritten since. Where somebody has seen these on the device in between, that would be
 * wrong, too: then the read-back goes before the write.
 */
#include "plan_internal.h"

struct range {
    uint64_t first, end;
};

static struct range range_of(const struct plan_raw *raw)
{
    return (struct range){raw->item.offset, raw->item.offset + raw->item.size_bytes};
}

static bool meet(const struct range *a, const struct range *b)
{
    return a->first < b->end && b->first < a->end;
}

void plan_undone_add(struct plan_undone *undone, size_t raw)
{
    if (undone->count < PLAN_UNDONE_MAX) {
        undone->all[undone->count].raw = raw;
        undone->all[undone->count++].since = raw;
    }
}

static bool has_run(const struct plan_undone *undone, const struct plan_raw *raw)
{
    return raw->tick == 0 || trk_tick_has_run(raw->tick, undone->done_tick);
}

void plan_undone_complete(struct plan_undone *undone, const struct plan_raws *raws, uint64_t tick)
{
    size_t kept = 0;
    undone->done_tick = tick > undone->done_tick ? tick : undone->done_tick;
    for (size_t i = 0; i < undone->count; i++) {
        if (!has_run(undone, &raws->all[undone->all[i].raw])) {
            undone->all[kept++] = undone->all[i];
        }
    }
    undone->count = kept;
}

/* How something between a write and a read-back uses bytes of both on the device. */
enum use {
    USE_NONE,
    USE_READ,
    USE_WRITE,
};

static enum use use_of(const struct plan_undone *undone, const struct plan_raws *raws,
                       const struct plan_raw *raw, const struct plan_raw *write)
{
    switch (raw->item.kind) {
    case TRK_PLAN_UPLOAD:
        return raws->copies && raw->from_range ? USE_NONE : USE_WRITE; /* it is left out */
    case TRK_PLAN_GPU_WRITE:
        return has_run(undone, raw) ? USE_WRITE : USE_NONE; /* it waits, too */
    case TRK_PLAN_DOWNLOAD: /* one that stands before the write sees nothing of it */
        return raw->order > write->order ? USE_READ : USE_NONE;
    case TRK_PLAN_CHECK:
        return raw->item.side == TRK_PLAN_DEVICE ? USE_READ : USE_NONE;
    default:
        return USE_NONE;
    }
}

/* The first use of that kind between a waiting write and a read-back; NULL: there is none. */
static const struct plan_raw *used_between(const struct plan_undone *undone,
                                           const struct plan_raws *raws, size_t number, size_t down,
                                           enum use use)
{
    const struct plan_raw *write = &raws->all[undone->all[number].raw];
    const struct range bytes = range_of(write);
    for (size_t i = undone->all[number].since + 1; i < down; i++) {
        const struct plan_raw *raw = &raws->all[i];
        const struct range range = range_of(raw);
        if (meet(&range, &bytes) && use_of(undone, raws, raw, write) == use) {
            return raw;
        }
    }
    return NULL;
}

/* Cut a waiting write in two at a place inside of it; the second part waits likewise. */
static enum trk_status cut(struct plan_undone *undone, struct plan_raws *raws, size_t number,
                           uint64_t at)
{
    if (!plan_raws_grow(raws)) {
        return TRK_E_MEMORY;
    }
    struct plan_raw *head = &raws->all[undone->all[number].raw];
    struct plan_raw *tail = &raws->all[raws->count];
    const uint64_t before = at - head->item.offset;
    *tail = *head;
    tail->item.offset = at;
    tail->item.guest_addr += before;
    tail->item.size_bytes -= before;
    head->item.size_bytes = before;
    plan_undone_add(undone, raws->count);
    if (undone->all[undone->count - 1].raw == raws->count) {
        undone->all[undone->count - 1].since = undone->all[number].since;
    }
    raws->count++;
    return TRK_OK;
}

/*
 * One piece of a read-back, one write of which it takes bytes. The write is cut until all of it is
 * read back, and nothing has overwritten a part of it. *again: look at what is left of it.
 */
static enum trk_status step(struct plan_undone *undone, struct plan_raws *raws, size_t down,
                            size_t number, bool *again)
{
    struct plan_raw *write = &raws->all[undone->all[number].raw];
    const struct range want = range_of(&raws->all[down]), have = range_of(write);
    *again = false;
    if (!meet(&want, &have)) {
        return TRK_OK;
    }
    struct range both = {want.first > have.first ? want.first : have.first,
                         want.end < have.end ? want.end : have.end};
    if (both.first == have.first && both.end == have.end) {
        const struct plan_raw *over = used_between(undone, raws, number, down, USE_WRITE);
        if (over != NULL) {
            const struct range range = range_of(over);
            both.first = range.first > have.first ? range.first : have.first;
            both.end = range.end < have.end ? range.end : have.end;
            if (both.first == have.first && both.end == have.end) {
                return TRK_OK; /* the read-back brings what came behind the write */
            }
        }
    }
    if (both.first > have.first || both.end < have.end) {
        *again = true; /* what is cut off is looked at later */
        return cut(undone, raws, number, both.first > have.first ? both.first : both.end);
    }
    if (used_between(undone, raws, number, down, USE_READ) != NULL) {
        raws->all[down].order = write->order - 1;
        raws->all[down].frame = write->frame;
    } else {
        write->order = raws->all[down].order + 1; /* those of one read-back keep theirs, by event */
        write->frame = raws->all[down].frame;
        undone->all[number].since = down;
    }
    return TRK_OK;
}

enum trk_status plan_undone_down(struct plan_undone *undone, struct plan_raws *raws, size_t first)
{
    enum trk_status status = TRK_OK;
    const size_t end = raws->count;
    for (size_t down = first; down < end && undone->done_tick > 0; down++) {
        const uint64_t order = raws->all[down].order;
        for (size_t i = 0; i < undone->count && status == TRK_OK; i++) {
            bool again = true; /* unless it stands before a write already */
            while (status == TRK_OK && again && raws->all[down].order == order) {
                status = step(undone, raws, down, i, &again);
            }
        }
    }
    return status;
}
