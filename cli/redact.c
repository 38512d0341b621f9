#include "redact.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "event_print.h"
#include "redact_header.h"
#include "track/address.h"

#define NONE UINT32_MAX

/* The widest fault that a policy can ask for: its events do not say the width. */
#define FAULT_BYTES_MOST 8u

void trk_redact_init(struct trk_redact *redact, const struct trk_trace *trace)
{
    *redact = (struct trk_redact){.trace = trace, .low.least = NONE, .arena.least = NONE};
}

static bool in_low(uint64_t guest_addr)
{
    return guest_addr >= TRK_LOW_FIRST && guest_addr < TRK_LOW_END;
}

static bool in_arena(uint64_t guest_addr)
{
    return guest_addr >= TRK_ARENA_FIRST && guest_addr < TRK_ARENA_END;
}

static bool has_region(const struct trk_redact *redact, const struct trk_event *event)
{
    enum trk_domain_class class = trk_domain_class(event->domain);
    return trk_trace_event_in_hold(redact->trace, event) &&
           trk_domain_region(event->domain) != TRK_DOMAIN_SHARED &&
           (class == TRK_DOMAIN_REGION || class == TRK_DOMAIN_PAGES);
}

/* The range of this operation is the same wherever the guest's memory is. */
static bool is_formality(const struct trk_event *event)
{
    return event->type == TRK_EVENT_OP_BEGIN && event->context == TRK_OP_RESOURCE_LAYER;
}

/* Whether argument is a guest address, as the text form of the event says. */
static bool has_address(const struct trk_redact *redact, const struct trk_event *event)
{
    if (is_formality(event)) {
        return false;
    }
    /* Of a region with shared pages; its text form has the first page's address. */
    if (event->type == TRK_EVENT_PROTECT) {
        return event->argument != 0;
    }
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_trace_event_fields(redact->trace, event, fields);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].kind == TRK_FIELD_ADDRESS && strcmp(fields[i].key, "guest_addr") == 0) {
            return event->argument == fields[i].number;
        }
    }
    return false;
}

/* Whether it is the address of the other view of the JOIN_VIEWS that begins behind it. */
static bool has_other_view(const struct trk_event *event, const struct trk_event *begin)
{
    return event->type == TRK_EVENT_OPERAND && begin != NULL && begin->context == TRK_OP_JOIN_VIEWS;
}

/* 0: what it is about has no size of its own. */
static uint64_t size_of(const struct trk_redact *redact, const struct trk_event *event)
{
    uint64_t size_bytes;
    (void)trk_trace_event_range(redact->trace, event, &size_bytes);
    return size_bytes;
}

bool trk_redact_certain(const struct trk_redact *redact, const struct trk_event *event)
{
    struct trk_trace_type type;
    return trk_trace_type(redact->trace, event->type, &type) &&
           (type.known || (type.open && trk_trace_event_fits(redact->trace, event)));
}

/* ---- what is used, and how far it can move --------------------------------------------------- */

static uint64_t band_end(uint64_t guest_addr)
{
    return in_low(guest_addr) ? TRK_LOW_END : TRK_ARENA_END;
}

static void set_used(struct trk_redact *redact, uint32_t first, uint32_t last)
{
    for (uint32_t region = first; region <= last;) {
        uint32_t bits = 64 - region % 64;
        bits = bits > last - region + 1 ? last - region + 1 : bits;
        redact->used[region / 64] |= (UINT64_MAX >> (64 - bits)) << region % 64;
        region += bits;
    }
}

static bool is_used(const struct trk_redact *redact, uint32_t region)
{
    return (redact->used[region / 64] >> region % 64 & 1) != 0;
}

/* A range that runs out of its band is refused before it uses anything but its first address. */
static void note_range(struct trk_redact *redact, uint64_t guest_addr, uint64_t size_bytes)
{
    if (!in_low(guest_addr) && !in_arena(guest_addr)) {
        trk_redact_other_note(&redact->other, guest_addr, size_bytes);
        return;
    }
    struct trk_redact_band *band = in_low(guest_addr) ? &redact->low : &redact->arena;
    uint32_t first = trk_region_index(guest_addr);
    band->least = first < band->least ? first : band->least;
    if (size_bytes <= band_end(guest_addr) - guest_addr) {
        uint64_t last_addr = guest_addr + (size_bytes > 0 ? size_bytes - 1 : 0);
        set_used(redact, first, trk_region_index(last_addr));
    }
}

/* A wide fault at a band's end does something else there than in the middle. */
static void note_fault(struct trk_redact *redact, uint64_t guest_addr)
{
    note_range(redact, guest_addr, 0);
    if (in_low(guest_addr) || in_arena(guest_addr)) {
        struct trk_redact_band *band = in_low(guest_addr) ? &redact->low : &redact->arena;
        band->edge |= FAULT_BYTES_MOST > band_end(guest_addr) - guest_addr;
    }
}

void trk_redact_note_region(struct trk_redact *redact, uint32_t region)
{
    note_range(redact, trk_region_address(region), 0);
}

void trk_redact_note(struct trk_redact *redact, const struct trk_event *event,
                     const struct trk_event *begin)
{
    if (has_region(redact, event)) {
        trk_redact_note_region(redact, trk_domain_region(event->domain));
    }
    if (event->type == TRK_EVENT_FAULT) {
        note_fault(redact, event->argument);
    } else if (has_address(redact, event)) {
        note_range(redact, event->argument, size_of(redact, event));
    } else if (has_other_view(event, begin)) {
        note_range(redact, event->argument, trk_event_size(begin));
    }
}

static void join_band(struct trk_redact_band *band, const struct trk_redact_band *other)
{
    band->least = other->least < band->least ? other->least : band->least;
    band->edge |= other->edge;
}

void trk_redact_join(struct trk_redact *redact, const struct trk_redact *other)
{
    join_band(&redact->low, &other->low);
    join_band(&redact->arena, &other->arena);
    trk_redact_other_join(&redact->other, &other->other);
    for (size_t i = 0; i < sizeof redact->used / sizeof redact->used[0]; i++) {
        redact->used[i] |= other->used[i];
    }
}

bool trk_redact_alike(const struct trk_redact *a, const struct trk_redact *b)
{
    return (a->low.least == b->low.least || a->low.least == NONE || b->low.least == NONE) &&
           (a->arena.least == b->arena.least || a->arena.least == NONE || b->arena.least == NONE) &&
           trk_redact_other_alike(&a->other, &b->other);
}

/* The band [first, end) of regions: its lowest one that is used becomes region `to`. */
static void decide(const struct trk_redact *redact, struct trk_redact_band *band, uint32_t to,
                   uint32_t end)
{
    band->stays = end;
    while (band->edge && band->stays > to && is_used(redact, band->stays - 1)) {
        band->stays--;
    }
    band->regions =
        band->least != NONE && band->least > to && band->least < band->stays ? band->least - to : 0;
}

void trk_redact_decide(struct trk_redact *redact)
{
    uint32_t arena = trk_region_index(TRK_ARENA_FIRST);
    decide(redact, &redact->low, 1, arena); /* region 1: page 0 is never valid */
    decide(redact, &redact->arena, arena, TRK_REGION_COUNT);
    trk_redact_other_decide(&redact->other);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static uint64_t moved(const struct trk_redact *redact, uint64_t guest_addr)
{
    if (!in_low(guest_addr) && !in_arena(guest_addr)) {
        return trk_redact_other_moved(&redact->other, guest_addr);
    }
    const struct trk_redact_band *band = in_low(guest_addr) ? &redact->low : &redact->arena;
    bool stays = trk_region_index(guest_addr) >= band->stays;
    return stays ? guest_addr : guest_addr - band->regions * TRK_REGION_BYTES;
}

/*
 * The first address of a range, moved. One that runs out of its band was refused for that, and must
 * be refused again: it goes to the band's last region, from where it runs out, too.
 */
static uint64_t moved_range(const struct trk_redact *redact, uint64_t guest_addr,
                            uint64_t size_bytes)
{
    bool in_band = in_low(guest_addr) || in_arena(guest_addr);
    if (in_band && size_bytes > band_end(guest_addr) - guest_addr) {
        return band_end(guest_addr) - TRK_REGION_BYTES + guest_addr % TRK_REGION_BYTES;
    }
    return moved(redact, guest_addr);
}

uint32_t trk_redact_region(const struct trk_redact *redact, uint32_t region)
{
    return trk_region_index(moved(redact, trk_region_address(region)));
}

/* As what lies there moves; 0 where nothing else tells of it. */
static uint64_t moved_if_used(const struct trk_redact *redact, uint64_t guest_addr)
{
    bool guest = (in_low(guest_addr) || in_arena(guest_addr)) &&
                 is_used(redact, trk_region_index(guest_addr));
    return guest ? moved(redact, guest_addr) : 0;
}

void trk_redact_event(const struct trk_redact *redact, struct trk_event *event,
                      const struct trk_event *begin)
{
    trk_event_clear_unused(event); /* whatever it is, nothing reads it */
    if (is_formality(event) && event->argument != TRK_LOW_FIRST) {
        event->argument = 0; /* not our tracker's, and nobody's business */
    }
    if (has_address(redact, event)) {
        event->argument = moved_range(redact, event->argument, size_of(redact, event));
    } else if (has_other_view(event, begin)) {
        event->argument = moved_range(redact, event->argument, trk_event_size(begin));
    } else if (event->type == TRK_EVENT_OPERAND && begin == NULL) {
        event->argument = moved_if_used(redact, event->argument); /* of what is lost */
    }
    if (event->type == TRK_EVENT_LABEL) { /* what it says is the program's own */
        trk_event_set_size(event, 0);
        trk_event_set_number32(event, 0);
        event->argument = 0;
    }
    /*
     * Code in guest memory that events are about moves with it. Where other code lay, the host's or
     * what nothing else tells of, is nobody's business, and would tell how far the rest moved.
     */
    if (event->type == TRK_EVENT_FAULT_AT) {
        event->argument = moved_if_used(redact, event->argument);
        trk_event_set_size(event, 0);
        trk_event_set_number32(event, 0);
    }
    if (has_region(redact, event)) {
        event->domain = (event->domain & ~UINT32_C(0xffffff)) |
                        trk_redact_region(redact, trk_domain_region(event->domain));
    }
}

/* Which bands have moved, now or in a redaction before: sums of generations there are others. */
static void add_moved(const struct trk_redact *redact, const cJSON *header, cJSON *out)
{
    static const char *const bands[] = {"low", "arena", "other"};
    const bool now[] = {redact->low.regions > 0, redact->arena.regions > 0, redact->other.moves};
    const cJSON *before = cJSON_GetObjectItemCaseSensitive(header, "moved");
    bool unsaid = !before && (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "redacted")) ||
                              cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "recovered")));
    cJSON *moved = cJSON_AddArrayToObject(out, "moved");
    for (size_t i = 0; i < 3; i++) {
        bool has = now[i] || (unsaid && i < 2);
        const cJSON *item;
        cJSON_ArrayForEach(item, before)
        {
            has |= cJSON_IsString(item) && strcmp(item->valuestring, bands[i]) == 0;
        }
        if (has) {
            cJSON_AddItemToArray(moved, cJSON_CreateString(bands[i]));
        }
    }
}

char *trk_redact_header(const struct trk_redact *redact, const char *header_json)
{
    cJSON *header = cJSON_Parse(header_json);
    cJSON *out = cJSON_IsObject(header) ? cJSON_Duplicate(header, true) : cJSON_CreateObject();
    if (out) {
        trk_redact_prune(out);
    }
    cJSON_AddTrueToObject(out, "redacted");
    add_moved(redact, header, out);
    char *text = cJSON_PrintUnformatted(out);
    cJSON_Delete(header);
    cJSON_Delete(out);
    return text;
}

void trk_redact_name(char *name)
{
    if (strchr(name, '/')) {
        memcpy(name, "redacted", sizeof "redacted");
    }
}
