/*
 * Changes of pages by the short way, under both locks.
 *
 * A change knows which pages of a word it concerns, how it moves the sets and watches, which rights
 * the host gets, and which pages have these rights afterwards.
 */
#ifndef TRACK_QUICK_CHANGE_H
#define TRACK_QUICK_CHANGE_H

#include "quick.h"

enum quick_change {
    QUICK_TO_CLEAN,  /* CPU pages; the host: r */
    QUICK_TO_CPU,    /* CLEAN pages, no GPU page is in the range; rw */
    QUICK_TO_GPU,    /* CLEAN pages, no CPU page is in the range; none */
    QUICK_LEAVE_GPU, /* GPU pages, to CLEAN; r */
    QUICK_DRAIN,     /* GPU pages, to CPU; rw */
};

static QUICK_INLINE unsigned quick_rights(enum quick_change change)
{
    switch (change) {
    case QUICK_TO_CPU:
    case QUICK_DRAIN:
        return TRK_RIGHTS_RW;
    case QUICK_TO_GPU:
        return 0;
    default:
        return TRK_RIGHT_READ;
    }
}

/* The pages concerned; `bad` gets those that the short way does not do. */
static QUICK_INLINE uint64_t quick_pick(const struct region *region, uint32_t word, uint64_t inside,
                                        enum quick_change change, uint64_t *bad)
{
    uint64_t picked = 0;
    switch (change) {
    case QUICK_TO_CLEAN:
        picked = ~env_load(&region->not_cpu[word]) & inside;
        *bad |= picked & region->watched[word]; /* another's watch: needs a count */
        break;
    case QUICK_TO_CPU:
        picked = env_load(&region->not_cpu[word]) & inside;
        *bad |= inside & region->read[word]; /* the GPU's pages, or another's watch */
        *bad |= picked & ~region->watched[word];
        if (TRK_UNLIKELY(region->counts != NULL))
            *bad |= picked & region->many[word];
        break;
    case QUICK_TO_GPU:
        picked = ~env_load(&region->gpu[word]) & inside;
        *bad |= (~env_load(&region->not_cpu[word]) & inside) | (picked & region->read[word]);
        break;
    case QUICK_LEAVE_GPU:
        picked = env_load(&region->gpu[word]) & inside;
        *bad |= picked & ~(region->read[word] & region->watched[word]);
        break;
    case QUICK_DRAIN:
        picked = env_load(&region->gpu[word]) & inside;
        *bad |= picked & ~(region->read[word] & region->watched[word]);
        if (TRK_UNLIKELY(region->counts != NULL))
            *bad |= picked & region->many[word];
        break;
    }
    return picked;
}

static QUICK_INLINE void quick_put(uint64_t *set, uint64_t *watch, uint64_t picked, bool add)
{
    env_store(set, add ? env_load(set) | picked : env_load(set) & ~picked);
    *watch = add ? *watch | picked : *watch & ~picked;
}

/* There or back: what adds bits on the way there takes them away on the way back. */
static QUICK_INLINE void quick_move(struct region *region, uint32_t word, uint64_t picked,
                                    enum quick_change change, bool back)
{
    bool add = (change == QUICK_TO_CLEAN || change == QUICK_TO_GPU) != back;
    bool writes = change != QUICK_TO_GPU && change != QUICK_LEAVE_GPU;
    bool reads = change != QUICK_TO_CLEAN && change != QUICK_TO_CPU;
    if (writes)
        quick_put(&region->not_cpu[word], &region->watched[word], picked, add);
    if (reads)
        quick_put(&region->gpu[word], &region->read[word], picked, add);
}

/* Pages of a word whose host rights are the ones that the change gives. */
static QUICK_INLINE uint64_t quick_have(const struct region *region, uint32_t word,
                                        enum quick_change change)
{
    switch (change) {
    case QUICK_TO_CPU:
    case QUICK_DRAIN:
        return ~region->watched[word] & ~region->read[word];
    case QUICK_TO_GPU:
        return region->read[word];
    default:
        return region->watched[word] & ~region->read[word];
    }
}

/* Pages [first, end) that one host call covers; end 0: none. */
struct quick_run {
    uint32_t first, end;
};

static QUICK_INLINE bool quick_call(const struct quick *quick, struct quick_run run,
                                    unsigned rights)
{
    uint64_t guest_addr = quick->base_addr + (uint64_t)run.first * TRK_HOST_PAGE_BYTES;
    uint64_t size_bytes = (uint64_t)(run.end - run.first) * TRK_HOST_PAGE_BYTES;
    return TRK_LIKELY(env_protect(quick->tracker->backend, guest_addr, size_bytes, rights) == 0);
}

/* Take back a change of which the host has refused the call that begins at page `refused`. */
void trk_quick_undo(const struct quick *quick, const uint64_t *picked, enum quick_change change,
                    uint32_t refused);

/* The moved pages of a word, and the pages that end a row: not moved, or without the rights. */
struct quick_moved {
    uint64_t pages, ends;
};

static QUICK_INLINE struct quick_moved quick_moved(const struct quick *quick, uint32_t word,
                                                   uint64_t picked, enum quick_change change)
{
    struct quick_moved moved = {.pages = picked};
    /* A page that has a read watch of another's keeps its rights when writes are closed. */
    if (change == QUICK_TO_CLEAN)
        moved.pages &= ~quick->region->read[word];
    moved.ends = ~quick_have(quick->region, word, change);
    if (TRK_UNLIKELY(quick->tracker->backend->separate_runs))
        moved.ends = ~moved.pages;
    return moved;
}

/*
 * Make the host calls for the pages that moved, ascending. A call goes from the first to the last
 * of them in a row of pages that have its rights afterwards; where the backend wants it otherwise,
 * in a row of pages that moved. Gives the first page of a refused call, or the one behind the
 * range.
 */
static QUICK_INLINE uint32_t quick_protect_rows(const struct quick *quick, const uint64_t *picked,
                                                enum quick_change change, struct quick_words words)
{
    struct quick_run run = {0, 0};
    bool open = false; /* the row reaches the end of the last word */
    FOR_QUICK_WORDS(word, words)
    {
        struct quick_moved moved = quick_moved(quick, word, picked[quick_at(quick, word)], change);
        while (open || moved.pages != 0) {
            uint32_t place = 0; /* of the row's first page in this word */
            if (!open) {
                if (run.end != 0 && !quick_call(quick, run, quick_rights(change)))
                    return run.first;
                place = (uint32_t)__builtin_ctzll(moved.pages);
                run.first = word * 64 + place;
            }
            uint64_t after = moved.ends >> place << place;
            open = after == 0;
            uint64_t row = open ? ~UINT64_C(0) : (after & -after) - 1;
            uint64_t covered = moved.pages & row;
            if (covered != 0)
                run.end = word * 64 + 64 - (uint32_t)__builtin_clzll(covered);
            moved.pages &= ~row;
            if (open)
                break;
        }
    }
    if (run.end != 0 && !quick_call(quick, run, quick_rights(change)))
        return run.first;
    return quick_last(quick) + 1;
}

static QUICK_INLINE uint32_t quick_protect(const struct quick *quick, const uint64_t *picked,
                                           enum quick_change change, struct quick_words words)
{
    if (words.first != words.last)
        return quick_protect_rows(quick, picked, change, words);
    struct quick_moved moved =
        quick_moved(quick, words.first, picked[quick_at(quick, words.first)], change);
    if (moved.pages == 0)
        return quick_last(quick) + 1;
    uint32_t first = (uint32_t)__builtin_ctzll(moved.pages);
    uint32_t before_end = (uint32_t)__builtin_clzll(moved.pages);
    uint64_t row = ~UINT64_C(0) << first & ~UINT64_C(0) >> before_end;
    if (TRK_UNLIKELY((row & moved.ends) != 0))
        return quick_protect_rows(quick, picked, change, words);
    struct quick_run run = {words.first * 64 + first, words.first * 64 + 64 - before_end};
    return quick_call(quick, run, quick_rights(change)) ? quick_last(quick) + 1 : run.first;
}

static QUICK_INLINE enum quick_end quick_change_words(const struct quick *quick,
                                                      enum quick_change change, uint64_t *picked,
                                                      struct quick_words words)
{
    struct region *region = quick->region;
    uint64_t all = 0, bad = 0;
    FOR_QUICK_WORDS(word, words)
    {
        picked[quick_at(quick, word)] =
            quick_pick(region, word, quick_inside(quick, word), change, &bad);
        all |= picked[quick_at(quick, word)];
    }
    if (TRK_UNLIKELY(bad != 0))
        return QUICK_LONG_WAY;
    if (all == 0)
        return QUICK_NOTHING;
    FOR_QUICK_WORDS(word, words)
    quick_move(region, word, picked[quick_at(quick, word)], change, false);
    region->pages_changes++;
    uint32_t refused = quick_protect(quick, picked, change, words);
    if (TRK_LIKELY(refused == quick_last(quick) + 1))
        return QUICK_DONE;
    struct quick copy = *quick;
    trk_quick_undo(&copy, picked, change, refused);
    return QUICK_REFUSED;
}

/* The same for any number of words: quick.c. */
enum quick_end trk_quick_change_long(const struct quick *quick, enum quick_change change,
                                     uint64_t *picked);

/*
 * Make a change on the range's pages, under both locks, in a region without extras. picked: room
 * for the pages, a word each. A copy is handed on where the way is long, so that the compiler can
 * keep the original in registers where it is short.
 */
static QUICK_INLINE enum quick_end quick_change(const struct quick *quick, enum quick_change change,
                                                uint64_t *picked)
{
    if (quick->one_word)
        return quick_change_words(quick, change, picked, quick_words(quick));
    struct quick copy = *quick;
    return trk_quick_change_long(&copy, change, picked);
}

/* The report of a refusal, with no lock held. */
struct quick_failure {
    enum quick_end end; /* QUICK_REFUSED or QUICK_WATCH */
    enum trk_op op;
    uint64_t guest_addr, size_bytes;
};

enum trk_status trk_quick_fail(const struct quick *quick, const struct quick_failure *failure);

static QUICK_INLINE enum trk_status quick_fail(const struct quick *quick,
                                               struct quick_failure failure)
{
    struct quick copy = *quick;
    return trk_quick_fail(&copy, &failure);
}

#endif
