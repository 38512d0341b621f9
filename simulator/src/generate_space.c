/*
 * Steps that change the guest's address space, and generations of its pages.
 */
#include "generate_draft.h"

#include <inttypes.h>

/* Whether all pages of a range are mapped so, or not so. */
static bool all_are(struct draft *draft, struct span span, enum space space, bool so)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if ((walk.page->space == space) != so)
            return false;
    return true;
}

static void set_space(struct draft *draft, struct span span, enum space space)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk)) {
        walk.page->space = space;
        walk.page->rights = RIGHTS_RW;
    }
    model_forget_lots(draft, span);
}

/* Pages of generations go with what is changed: keep to whole ones where they are on. */
static struct wish pages_wish(const struct draft *draft)
{
    return (struct wish){.known = true, .whole = true, .lots = draft->policy.generations};
}

void step_protect(struct draft *draft)
{
    static const struct {
        const char *word;
        uint8_t rights;
    } kinds[] = {{" r", RIGHT_READ},
                 {" rw", RIGHTS_RW},
                 {" none", 0},
                 {" rx", RIGHT_READ | RIGHT_EXEC},
                 {" rw", RIGHTS_RW}};
    struct span span;
    /* Views have rights of their own: the model knows the first view's alone. */
    if (!memory_pick(draft, pages_wish(draft), &span) ||
        memory_entry_at(draft, span.guest_addr)->alias != 0)
        return;
    uint32_t kind = draft_below(draft, 5);
    bool good = all_are(draft, span, SPACE_MAPPED, true);
    draft_begin(draft);
    draft_say(draft, "guest_protect ");
    draft_say_span(draft, span);
    draft_say(draft, "%s => %s", kinds[kind].word, good ? "ok" : "fail");
    draft_end(draft);
    if (!good)
        return;
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        walk.page->rights = kinds[kind].rights;
    model_forget_lots(draft, span);
    if (draft_one_in(draft, 2)) {
        draft_op_on(draft, "upload", span, "");
        model_upload(draft, span, false);
    }
    model_op_prot(draft, span.guest_addr);
}

static struct draft_entry *own_mapping(struct draft *draft)
{
    for (uint32_t i = 0; i < draft->entry_count; i++)
        if (draft->entries[i].name >= 'W' && draft->entries[i].pages[0].owner == draft->thread)
            return &draft->entries[i];
    return NULL;
}

void step_map(struct draft *draft)
{
    struct draft_entry *entry = own_mapping(draft);
    if (entry == NULL)
        return;
    struct span whole = memory_whole(draft, entry), span = whole;
    if (!draft->policy.generations && entry->page_count > 1 && draft_one_in(draft, 2)) {
        span.guest_addr += draft_below(draft, entry->page_count) * draft->policy.page_bytes;
        span.size_bytes = draft->policy.page_bytes;
    }
    bool good;
    switch (draft_below(draft, 4)) {
    case 0:
        good = all_are(draft, whole, SPACE_HOLE, true);
        draft_op(draft, "map %c => %s", entry->name, good ? "ok" : "fail");
        if (good)
            set_space(draft, whole, SPACE_MAPPED);
        break;
    case 1:
        good = all_are(draft, span, SPACE_HOLE, true);
        draft_op_on(draft, "reserve", span, good ? " => ok" : " => fail");
        if (good)
            set_space(draft, span, SPACE_RESERVED);
        break;
    case 2:
        good = all_are(draft, span, SPACE_RESERVED, true);
        draft_op_on(draft, "commit", span, good ? " => ok" : " => fail");
        if (good)
            set_space(draft, span, SPACE_MAPPED);
        break;
    default:
        good = all_are(draft, span, SPACE_HOLE, false);
        draft_op_on(draft, "drain", span, "");
        model_leave_gpu(draft, span, true);
        draft_op_on(draft, "unmap", span, good ? " => ok" : " => fail");
        if (good)
            set_space(draft, span, SPACE_HOLE);
        break;
    }
}

/* ---- generations ----------------------------------------------------------------------------- */

/* What a sum of one page of them is: the one that has a name, or a new one. */
static void say_sum(struct draft *draft, struct draft_lot *lot)
{
    if (!draft->policy.generations || !lot->known)
        draft_say(draft, " => 0");
    else if (lot->named == lot->generation)
        draft_say(draft, " => same g%u", lot->generation);
    else if (lot->named != 0)
        draft_say(draft, " => not g%u, new g%u", lot->named, lot->generation);
    else
        draft_say(draft, " => new g%u", lot->generation);
    lot->named = lot->known ? lot->generation : lot->named;
}

static bool readable(struct draft *draft, struct span span)
{
    struct page_walk walk = model_walk(draft, span);
    while (model_next(&walk))
        if (walk.page->space != SPACE_MAPPED || !(walk.page->rights & RIGHT_READ))
            return false;
    return true;
}

static bool pick_lot(struct draft *draft, struct span *span)
{
    bool found = memory_pick(draft, (struct wish){.lots = true, .plain = true}, span);
    span->size_bytes = LOT_BYTES;
    return found;
}

static void arm(struct draft *draft, struct span span)
{
    struct draft_lot *lot = model_lot(draft, span.guest_addr);
    struct page_walk walk = model_walk(draft, span);
    if (!lot->known)
        lot->generation = ++draft->generations;
    lot->known = true;
    while (model_next(&walk))
        lot->armed |= (walk.page->rights & RIGHT_WRITE) != 0;
}

void step_gen_track(struct draft *draft)
{
    struct span span;
    if (!pick_lot(draft, &span))
        return;
    bool good = readable(draft, span);
    if (draft->policy.generations && good)
        arm(draft, span);
    draft_begin(draft);
    draft_say(draft, "gen_track ");
    draft_say_span(draft, span);
    if (span.known && draft->policy.generations && !good)
        draft_say(draft, " => fail");
    else if (span.known)
        say_sum(draft, model_lot(draft, span.guest_addr));
    draft_end(draft);
}

void step_gen(struct draft *draft)
{
    struct span span;
    if (!pick_lot(draft, &span))
        return;
    draft_begin(draft);
    draft_say(draft, "gen ");
    draft_say_span(draft, span);
    if (span.known)
        say_sum(draft, model_lot(draft, span.guest_addr));
    draft_end(draft);
}

void step_gen_hle(struct draft *draft)
{
    struct span span;
    if (!pick_lot(draft, &span))
        return;
    draft_op_on(draft, "gen_hle", (struct span){span.guest_addr + 8, 8, true}, " => ok");
    struct draft_lot *lot = model_lot(draft, span.guest_addr);
    if (draft->policy.generations && lot->known)
        model_lot_moves(draft, lot);
}

/* One page of them through what moves it on, and what does not, asked about each time. */
void step_gen_moves(struct draft *draft)
{
    struct span span;
    if (!memory_pick(draft, (struct wish){.known = true, .lots = true, .plain = true}, &span))
        return;
    span.size_bytes = LOT_BYTES;
    struct draft_lot *lot = model_lot(draft, span.guest_addr);
    struct span bytes = {span.guest_addr + 64, 8, true};
    if (draft->policy.generations && readable(draft, span)) {
        arm(draft, span);
        draft_op_on(draft, "gen_track", span, "");
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (draft_one_in(draft, 2)) {
            draft_op_on(draft, "gen_hle", bytes, " => ok");
            if (draft->policy.generations && lot->known)
                model_lot_moves(draft, lot);
        } else if (draft_has(draft, FEATURE_HLE)) {
            draft_op_on(draft, "hle_write", bytes,
                        model_hle(draft, bytes) ? " 18 => ok" : " 18 => denied");
        } else {
            draft_op_on(draft, "download", span, "");
        }
        draft_begin(draft);
        draft_say(draft, "gen ");
        draft_say_span(draft, span);
        say_sum(draft, lot);
        draft_end(draft);
    }
    if (draft_has(draft, FEATURE_PROTECT) && readable(draft, span)) {
        struct page_walk walk = model_walk(draft, span);
        bool open = draft_one_in(draft, 2);
        draft_op_on(draft, "guest_protect", span, open ? " rw => ok" : " r => ok");
        while (model_next(&walk))
            walk.page->rights = open ? RIGHTS_RW : RIGHT_READ;
        model_forget_lots(draft, span);
        draft_op_on(draft, "gen", span, " => 0");
        model_op_prot(draft, span.guest_addr);
    }
}
