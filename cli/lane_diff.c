#include "lane_diff.h"

/* So far ahead two lists are looked at for a place where they go on alike, for so many items. */
#define AHEAD_MOST  256u
#define ALIKE_LEAST 3u

/* Items of a lane without a gap, from the front or from the back. */
struct run {
    const struct trk_lane *lane;
    uint32_t first; /* index in the lane */
    uint32_t count;
    bool backward; /* first is the last one */
    bool gap;      /* behind it, in its direction, is a gap: it goes on in an unknown way */
};

static uint32_t index_in(const struct run *run, uint32_t at)
{
    return run->lane->at[run->backward ? run->first - at : run->first + at];
}

static uint64_t hash_at(const struct run *run, uint32_t at)
{
    return run->lane->of->items[index_in(run, at)].hash;
}

/* ---- without gaps ---------------------------------------------------------------------------- */

/* Whether both go on alike from here, to the end or for some items. */
static bool alike(const struct run *a, uint32_t at_a, const struct run *b, uint32_t at_b)
{
    for (uint32_t i = 0; i < ALIKE_LEAST; i++) {
        bool end_a = at_a + i == a->count, end_b = at_b + i == b->count;
        if (end_a || end_b)
            return (end_a || b->gap) && (end_b || a->gap);
        if (hash_at(a, at_a + i) != hash_at(b, at_b + i))
            return false;
    }
    return true;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many items of each side differ from here on. */
static void measure(const struct run runs[2], const uint32_t at[2], uint32_t counts[2])
{
    const uint32_t rest[2] = {runs[0].count - at[0], runs[1].count - at[1]};
    const uint32_t most_a = least(rest[0], AHEAD_MOST), most_b = least(rest[1], AHEAD_MOST);
    for (uint32_t sum = 1; sum <= most_a + most_b; sum++) {
        for (uint32_t i = 0; i <= sum && i <= most_a; i++) {
            uint32_t k = sum - i;
            if (k <= most_b && alike(&runs[0], at[0] + i, &runs[1], at[1] + k)) {
                counts[0] = i;
                counts[1] = k;
                return;
            }
        }
    }
    /* They do not meet again in sight; what stands beside a gap is not known. */
    counts[0] = runs[1].gap ? least(rest[0], rest[1] + 1) : rest[0];
    counts[1] = runs[0].gap ? least(rest[1], rest[0] + 1) : rest[1];
}

static void note(const struct run runs[2], const uint32_t at[2], const uint32_t counts[2],
                 struct trk_lane_diff *out)
{
    uint32_t events[2];
    for (int i = 0; i < 2; i++) {
        uint32_t first = runs[i].backward ? at[i] + counts[i] - 1 : at[i];
        events[i] = counts[i] == 0 ? TRK_DIFF_NONE
                                   : runs[i].lane->of->items[index_in(&runs[i], first)].event;
        out->items[i] += counts[i];
    }
    /* From the back they come in the other order. */
    if (out->first.hunks++ > 0 && !runs[0].backward)
        return;
    out->first.event_a = events[0];
    out->first.event_b = events[1];
    out->first.count_a = counts[0];
    out->first.count_b = counts[1];
}

/* Compare two runs that begin at the same place; done: how many items of each that was. */
static void compare_runs(const struct run runs[2], uint32_t done[2], struct trk_lane_diff *out)
{
    uint32_t at[2] = {0, 0};
    for (;;) {
        const bool ends[2] = {at[0] == runs[0].count, at[1] == runs[1].count};
        if ((ends[0] && ends[1]) || (ends[0] && runs[0].gap) || (ends[1] && runs[1].gap))
            break;
        if (!ends[0] && !ends[1] && hash_at(&runs[0], at[0]) == hash_at(&runs[1], at[1])) {
            at[0]++;
            at[1]++;
            continue;
        }
        uint32_t counts[2];
        measure(runs, at, counts);
        note(runs, at, counts, out);
        at[0] += counts[0];
        at[1] += counts[1];
    }
    for (int i = 0; i < 2; i++) {
        done[i] = at[i];
        out->judged[i] += at[i];
    }
}

/* ---- with gaps ------------------------------------------------------------------------------- */

/* The first gap from an item on, or the end. */
static uint32_t next_gap(const struct trk_lane *lane, uint32_t from)
{
    while (from < lane->count && lane->at[from] != TRK_DIFF_NONE)
        from++;
    return from;
}

/* The item behind the last gap. */
static uint32_t behind_gaps(const struct trk_lane *lane)
{
    uint32_t at = lane->count;
    while (at > 0 && lane->at[at - 1] != TRK_DIFF_NONE)
        at--;
    return at;
}

/* Where a run stands in another, from an item on; its count: nowhere. */
static uint32_t find(const struct run *what, const struct run *in, uint32_t from)
{
    for (; from < in->count && in->count - from >= what->count; from++) {
        uint32_t i = 0;
        while (i < what->count && hash_at(what, i) == hash_at(in, from + i))
            i++;
        if (i == what->count)
            return from;
    }
    return in->count;
}

/* A run between gaps that the whole side has nowhere: the place that is most like it. */
static void note_alien(int side, const struct run *what, const struct run *in, uint32_t from,
                       struct trk_lane_diff *out)
{
    uint32_t best = in->count, most = 0, done[2];
    for (uint32_t at = from; at < in->count; at++) {
        uint32_t i = 0;
        while (i < what->count && at + i < in->count && hash_at(what, i) == hash_at(in, at + i))
            i++;
        if (i > most) {
            most = i;
            best = at;
        }
    }
    struct run runs[2];
    runs[side] = *what;
    runs[1 - side] = *in;
    runs[1 - side].first += best;
    runs[1 - side].count -= best;
    compare_runs(runs, done, out);
}

/* What stands between the gaps of one side must be in this order in what the other has there. */
static void compare_middle(int side, const struct trk_lane *lane, const struct run *whole,
                           struct trk_lane_diff *out)
{
    uint32_t from = 0;
    const uint32_t end = behind_gaps(lane);
    for (uint32_t at = next_gap(lane, 0) + 1; at < end;) {
        struct run run = {.lane = lane, .first = at, .gap = true};
        run.count = next_gap(lane, at) - at;
        at += run.count + 1;
        if (run.count == 0)
            continue;
        uint32_t found = find(&run, whole, from);
        if (found == whole->count) {
            note_alien(side, &run, whole, from, out);
            continue;
        }
        from = found + run.count;
        out->judged[0] += run.count;
        out->judged[1] += run.count;
    }
}

void trk_lane_compare(const struct trk_lane lanes[2], struct trk_lane_diff *out)
{
    struct run front[2], back[2];
    uint32_t before[2], behind[2];
    bool gaps[2];
    *out = (struct trk_lane_diff){.first.hunks = 0};
    for (int i = 0; i < 2; i++) {
        uint32_t gap = next_gap(&lanes[i], 0);
        gaps[i] = gap < lanes[i].count;
        front[i] = (struct run){&lanes[i], 0, gap, false, gaps[i]};
    }
    compare_runs(front, before, out);
    if (!gaps[0] && !gaps[1])
        return;
    struct trk_lane_diff last = {.first.hunks = 0};
    for (int i = 0; i < 2; i++) {
        uint32_t from = gaps[i] ? behind_gaps(&lanes[i]) : before[i];
        back[i] = (struct run){&lanes[i], lanes[i].count - 1, lanes[i].count - from, true, gaps[i]};
    }
    compare_runs(back, behind, &last);
    if (gaps[0] != gaps[1]) {
        int side = gaps[0] ? 0 : 1;
        const struct run whole = {&lanes[1 - side], before[1 - side],
                                  lanes[1 - side].count - before[1 - side] - behind[1 - side],
                                  false, false};
        compare_middle(side, &lanes[side], &whole, out);
    }
    if (out->first.hunks == 0)
        out->first = last.first;
    else
        out->first.hunks += last.first.hunks;
    for (int i = 0; i < 2; i++) {
        out->items[i] += last.items[i];
        out->judged[i] += last.judged[i];
    }
}
