/*
 * Operations of a window, as a scenario file spells them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "explore_script.h"

/* ---- addresses and values -------------------------------------------------------------------- */

static void amount(struct growing *text, uint64_t bytes)
{
    if (bytes % SCENARIO_PAGE_BYTES == 0)
        growing_add(text, "%" PRIu64 "P", bytes / SCENARIO_PAGE_BYTES);
    else
        growing_add(text, "%" PRIu64, bytes);
}

static void address(struct script *script, uint64_t guest_addr)
{
    for (uint32_t i = 0; i < script->entry_count; i++) {
        uint64_t offset = guest_addr - script->entries[i].guest_addr;
        if (offset >= script->entries[i].size_bytes)
            continue;
        growing_add(&script->text, "%c", (char)('A' + i));
        if (offset != 0) {
            growing_add(&script->text, "+");
            amount(&script->text, offset);
        }
        return;
    }
    growing_add(&script->text, "0x%" PRIx64, guest_addr);
}

void script_range(struct script *script, uint64_t guest_addr, uint64_t size_bytes)
{
    address(script, guest_addr);
    growing_add(&script->text, " ");
    amount(&script->text, size_bytes);
}

uint32_t script_value(uint32_t stamp)
{
    return stamp == 0 ? 251 : 1 + (uint32_t)((uint64_t)(stamp * UINT32_C(2654435761)) * 250 >> 32);
}

/* ---- what stands between operations ---------------------------------------------------------- */

static void separate(struct script *script)
{
    const struct growing *text = &script->text;
    if (text->size > 0 && !(text->size >= 2 && text->text[text->size - 2] == '{'))
        growing_add(&script->text, " ; ");
}

/* The name of the event that is signalled behind an item; a shape has no numbers of the trace. */
static void edge_name(struct script *script, uint32_t item)
{
    const struct item *from = &script->window->projection->items[item];
    bool shape = script->request->kind == SCRIPT_SHAPE;
    uint64_t number = shape ? item - script->window->first : from->last;
    growing_add(&script->text, "after-%s%" PRIu64, from->kind == ITEM_OPEN ? "begin-" : "", number);
}

static void awaits(struct script *script, uint32_t item)
{
    const struct window *window = script->window;
    for (uint32_t i = 0; i < window->edge_count; i++) {
        if (window->edges[i].to != item)
            continue;
        separate(script);
        growing_add(&script->text, "await ");
        edge_name(script, window->edges[i].from);
    }
}

static void signals(struct script *script, uint32_t item)
{
    const struct window *window = script->window;
    for (uint32_t i = 0; i < window->edge_count; i++) {
        if (window->edges[i].from != item)
            continue;
        separate(script);
        growing_add(&script->text, "signal ");
        edge_name(script, item);
        return;
    }
}

/* ---- one operation --------------------------------------------------------------------------- */

static void injections(struct script *script, const struct item *item)
{
    for (uint32_t i = 0; i < item->drops; i++) {
        separate(script);
        growing_add(&script->text, "inject drop-copy");
    }
    if (item->delayed) {
        separate(script);
        growing_add(&script->text, "inject delay-gpu");
    }
    if (item->no_flush) {
        separate(script);
        growing_add(&script->text, "inject drop-flush");
    }
}

static void mask(struct script *script, const struct item *item)
{
    const struct projection *projection = script->window->projection;
    uint64_t base = trk_region_address(trk_region_index(projection->first_addr));
    uint64_t page = (projection->first_addr - base) / SCENARIO_PAGE_BYTES;
    const char *comma = "";
    growing_add(&script->text, " 0x%" PRIx64 " {", base);
    for (uint32_t i = 0; i < projection->page_count; i++) {
        if ((item->mask >> i & 1) == 0)
            continue;
        growing_add(&script->text, "%s%" PRIu64, comma, page + i);
        comma = ",";
    }
    growing_add(&script->text, "} %s", item->read_watch ? "r" : "w");
}

static bool reads(const struct item *item)
{
    return item->verb == VERB_LOAD || item->verb == VERB_SPARSE_READ;
}

/* What a read saw, if the window knows where those bytes come from. */
static void result(struct script *script, const struct item *item)
{
    const struct window *window = script->window;
    const struct projection *projection = window->projection;
    bool known = false;
    if (script->request->kind != SCRIPT_CHECKED || !reads(item) || item->stamp == 0)
        return;
    for (uint32_t i = window->first; i < window->end; i++)
        known |= projection->items[i].stamp == item->stamp && !reads(&projection->items[i]);
    for (uint32_t i = 0; i < window->newer_count; i++)
        known |= projection->items[window->newer[i].item].stamp == item->stamp;
    growing_add(&script->text, " => %" PRIu32, known ? script_value(item->stamp) : 0);
}

static void arguments(struct script *script, const struct item *item)
{
    struct growing *text = &script->text;
    switch (item->verb) {
    case VERB_WATCH_MASK:
    case VERB_UNWATCH_MASK:
        mask(script, item);
        return;
    case VERB_FRAME:
        return;
    case VERB_LOCK:
    case VERB_UNLOCK:
        growing_add(text, " ");
        address(script, script->window->projection->first_addr);
        return;
    default:
        growing_add(text, " ");
        script_range(script, item->guest_addr, item->size_bytes);
        break;
    }
    switch (item->verb) {
    case VERB_STORE:
    case VERB_HLE_WRITE:
    case VERB_RAW_WRITE:
    case VERB_GPU_WRITE:
        growing_add(text, " %" PRIu32,
                    script->request->kind == SCRIPT_SHAPE ? 1 : script_value(item->stamp));
        break;
    case VERB_GUEST_PROTECT:
        growing_add(text, " %s", scenario_rights_word(item->rights));
        break;
    case VERB_UPLOAD:
    case VERB_UPLOAD_AT_END:
        growing_add(text, item->written ? " written" : "");
        break;
    case VERB_DOWNLOAD:
        growing_add(text, item->clear ? " clear" : "");
        break;
    default:
        break;
    }
    result(script, item);
}

/* ---- nesting --------------------------------------------------------------------------------- */

static void operation(struct script *script, uint32_t index);

static uint32_t close_of(const struct window *window, uint32_t open)
{
    const struct item *items = window->projection->items;
    for (uint32_t i = open + 1; i < window->end; i++)
        if (items[i].kind == ITEM_CLOSE && items[i].outer == open)
            return i;
    return SCENARIO_NONE;
}

/* The next operation nested in one, behind item `at`, of its range callbacks or of the others;
 * SCENARIO_NONE: there is none. */
static uint32_t next_nested(const struct window *window, uint32_t open, uint32_t at, bool in_range)
{
    const struct item *items = window->projection->items;
    for (uint32_t i = at + 1; i < window->end; i++)
        if (items[i].outer == open && items[i].kind != ITEM_CLOSE &&
            items[i].in_range == in_range && window_says(window->projection, i))
            return i;
    return SCENARIO_NONE;
}

static void nested(struct script *script, uint32_t open, bool in_range)
{
    uint32_t at = open;
    while ((at = next_nested(script->window, open, at, in_range)) != SCENARIO_NONE)
        operation(script, at);
}

static void braces(struct script *script, uint32_t open)
{
    const struct window *window = script->window;
    const struct item *item = &window->projection->items[open];
    struct growing *text = &script->text;
    size_t before = text->size;
    growing_add(text, " { ");
    size_t empty = text->size;
    if (!item->conditional)
        signals(script, open);
    if (next_nested(window, open, open, true) != SCENARIO_NONE) {
        separate(script);
        growing_add(text, "in_range { ");
        nested(script, open, true);
        growing_add(text, " }");
    }
    nested(script, open, false);
    uint32_t close = close_of(window, open);
    if (close != SCENARIO_NONE && !item->conditional)
        awaits(script, close);
    if (text->size == empty && !item->flushed && !item->no_copy_braces && !text->no_memory) {
        text->size = before;
        text->text[before] = '\0';
        return;
    }
    growing_add(text, text->size == empty ? "}" : " }");
}

static void operation(struct script *script, uint32_t index)
{
    const struct projection *projection = script->window->projection;
    const struct item *item = &projection->items[index];
    awaits(script, index);
    if (item->kind == ITEM_OPEN && item->conditional)
        signals(script, index);
    injections(script, item);
    separate(script);
    if (script->request->kind != SCRIPT_SHAPE)
        growing_add(&script->text, "e%" PRIu64 ": ", item->event);
    growing_add(&script->text, "%s", scenario_verb_word(item->verb));
    arguments(script, item);
    if (item->kind != ITEM_OPEN) {
        signals(script, index);
        return;
    }
    braces(script, index);
    uint32_t close = close_of(script->window, index);
    if (close != SCENARIO_NONE)
        signals(script, close);
}

/* The steps of a text that stand in no braces, one by one. */
static void split(char *text, script_add_fn *add, void *list)
{
    unsigned depth = 0;
    char *first = text;
    for (char *at = text; *at != '\0'; at++) {
        depth += *at == '{';
        depth -= *at == '}';
        if (depth > 0 || at[0] != ' ' || at[1] != ';')
            continue;
        at[0] = '\0';
        add(list, first);
        first = at + 3;
        at += 2;
    }
    if (*first != '\0')
        add(list, first);
}

void script_thread(struct script *script, uint32_t stream, script_add_fn *add, void *list)
{
    const struct window *window = script->window;
    const struct item *items = window->projection->items;
    for (uint32_t i = window->first; i < window->end; i++) {
        if (items[i].stream != stream || items[i].outer != SCENARIO_NONE ||
            items[i].kind == ITEM_CLOSE || !window_says(window->projection, i))
            continue;
        growing_clear(&script->text);
        operation(script, i);
        if (!script->text.no_memory)
            split(script->text.text, add, list);
    }
}
