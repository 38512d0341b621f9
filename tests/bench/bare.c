#include "bare.h"

#include <stdlib.h>
#include <string.h>

#include "track/address.h"

#define STREAMS   1024u
#define NESTED    8u
#define TRACKERS  16u
#define NUMBERS   (1u << 24) /* of regions, as domains have them */
#define PAGE_BITS 12u

struct region {
    uint64_t cpu[TRK_REGION_WORDS], gpu[TRK_REGION_WORDS];
    uint64_t readable[TRK_REGION_WORDS], writable[TRK_REGION_WORDS];
    uint64_t first_addr;
    uint32_t hold, pages_hold; /* the newest */
    struct region *next;       /* of all */
};

struct operation {
    uint64_t first_addr, end_addr;
    uint16_t op;
    uint8_t flags;
    uint8_t tracker;
    bool answer;
};

struct stream {
    uint32_t depth;
    struct operation operations[NESTED];
};

struct bare {
    struct region **tables[TRACKERS]; /* by a region's number; touched where it is used */
    struct region *all;
    bool failed;
    struct stream streams[STREAMS];
};

struct bare *bare_create(void)
{
    return calloc(1, sizeof(struct bare));
}

void bare_destroy(struct bare *bare)
{
    if (bare == NULL)
        return;
    while (bare->all != NULL) {
        struct region *region = bare->all;
        bare->all = region->next;
        free(region);
    }
    for (size_t i = 0; i < TRACKERS; i++)
        free(bare->tables[i]);
    free(bare);
}

bool bare_failed(const struct bare *bare)
{
    return bare->failed;
}

static void region_reset(struct region *region)
{
    memset(region->cpu, 0xff, sizeof region->cpu);
    memset(region->gpu, 0, sizeof region->gpu);
    memset(region->readable, 0xff, sizeof region->readable);
    memset(region->writable, 0xff, sizeof region->writable);
}

void bare_reset(struct bare *bare)
{
    for (struct region *region = bare->all; region != NULL; region = region->next)
        region_reset(region);
    for (size_t i = 0; i < STREAMS; i++)
        bare->streams[i].depth = 0;
}

static __attribute__((noinline, cold)) struct region *region_make(struct bare *bare,
                                                                  uint32_t tracker, uint32_t number)
{
    struct region *region = calloc(1, sizeof *region);
    if (bare->tables[tracker] == NULL)
        bare->tables[tracker] = calloc(NUMBERS, sizeof(struct region *));
    if (region == NULL || bare->tables[tracker] == NULL) {
        free(region);
        bare->failed = true;
        return NULL;
    }
    region->first_addr = trk_region_address(number);
    region->next = bare->all;
    bare->all = region;
    bare->tables[tracker][number] = region;
    region_reset(region);
    return region;
}

static inline struct region *region_of(struct bare *bare, uint32_t tracker, uint32_t number)
{
    struct region **table = bare->tables[tracker];
    if (__builtin_expect(table != NULL && table[number] != NULL, 1))
        return table[number];
    return region_make(bare, tracker, number);
}

/* Bits of a word from first up to end, both counted from the region's first page. */
static inline uint64_t word_mask(uint32_t word, uint32_t first, uint32_t end)
{
    uint64_t mask = ~UINT64_C(0);
    if (word == first / 64)
        mask &= ~UINT64_C(0) << (first % 64);
    if (word == (end - 1) / 64)
        mask &= ~UINT64_C(0) >> (63 - (end - 1) % 64);
    return mask;
}

/* What an operation makes of a word's pages. */
static inline void change_word(struct region *region, uint32_t word, uint64_t mask,
                               const struct operation *operation)
{
    uint64_t *cpu = &region->cpu[word], *gpu = &region->gpu[word];
    switch (operation->op) {
    case TRK_OP_UPLOAD:
        *cpu &= ~mask;
        if (operation->flags & TRK_OP_FLAG_WRITTEN)
            *gpu |= mask;
        break;
    case TRK_OP_MARK_GPU:
        *gpu |= mask;
        break;
    case TRK_OP_DOWNLOAD:
    case TRK_OP_UNMARK_GPU:
        *gpu &= ~mask;
        break;
    case TRK_OP_DRAIN:
        *cpu |= *gpu & mask;
        *gpu &= ~mask;
        break;
    case TRK_OP_UNTRACK:
        *gpu &= ~mask;
        *cpu |= mask;
        break;
    case TRK_OP_MARK_CPU:
    case TRK_OP_INVALIDATE:
    case TRK_OP_FAULT:
    case TRK_OP_HLE_WRITE:
        *cpu |= mask;
        break;
    default:
        break;
    }
}

/* The range's pages of a region; the number of changes where somebody counts. */
static inline uint32_t change(struct region *region, const struct operation *operation, bool count)
{
    uint64_t from = region->first_addr, to = from + TRK_REGION_BYTES;
    from = operation->first_addr > from ? operation->first_addr : from;
    to = operation->end_addr < to ? operation->end_addr : to;
    if (from >= to)
        return 0;
    uint32_t first = (uint32_t)((from - region->first_addr) >> PAGE_BITS);
    uint32_t end = (uint32_t)((to - 1 - region->first_addr) >> PAGE_BITS) + 1;
    uint32_t changes = 0;
    for (uint32_t word = first / 64; word <= (end - 1) / 64; word++) {
        uint64_t cpu = region->cpu[word], gpu = region->gpu[word];
        change_word(region, word, word_mask(word, first, end), operation);
        if (count) {
            /* A drain makes two sets different, and is one change. */
            uint64_t moved = cpu ^ region->cpu[word], turned = gpu ^ region->gpu[word];
            if (operation->op == TRK_OP_DRAIN)
                moved = 0;
            changes += (uint32_t)(__builtin_popcountll(moved) + __builtin_popcountll(turned));
        }
    }
    return changes;
}

static inline bool any(struct bare *bare, const struct operation *operation, bool gpu)
{
    uint64_t found = 0;
    for (uint64_t at = operation->first_addr; at < operation->end_addr && found == 0;) {
        uint32_t number = trk_region_index(at);
        struct region *region = region_of(bare, operation->tracker, number);
        if (region == NULL)
            return false;
        uint64_t to = region->first_addr + TRK_REGION_BYTES;
        to = operation->end_addr < to ? operation->end_addr : to;
        uint32_t first = (uint32_t)((at - region->first_addr) >> PAGE_BITS);
        uint32_t end = (uint32_t)((to - 1 - region->first_addr) >> PAGE_BITS) + 1;
        const uint64_t *set = gpu ? region->gpu : region->cpu;
        for (uint32_t word = first / 64; word <= (end - 1) / 64; word++)
            found |= set[word] & word_mask(word, first, end);
        at = to;
    }
    return found != 0;
}

static inline void begin(struct bare *bare, struct stream *stream, const struct operation *what)
{
    if (stream->depth == NESTED) {
        bare->failed = true;
        return;
    }
    struct operation *operation = &stream->operations[stream->depth++];
    *operation = *what;
    if (what->op == TRK_OP_IS_CPU || what->op == TRK_OP_IS_GPU)
        operation->answer = any(bare, what, what->op == TRK_OP_IS_GPU);
}

static inline void protect(struct region *region, const struct trk_event *event)
{
    uint32_t first = event->page, end = first + event->pages;
    for (uint32_t word = first / 64; first < end && word <= (end - 1) / 64; word++) {
        uint64_t mask = word_mask(word, first, end);
        uint64_t *readable = &region->readable[word], *writable = &region->writable[word];
        *readable = event->flags & TRK_RIGHT_READ ? *readable | mask : *readable & ~mask;
        *writable = event->flags & TRK_RIGHT_WRITE ? *writable | mask : *writable & ~mask;
    }
}

/* A record of a hold: the region's, or its page manager's. */
static inline uint64_t take_hold(struct bare *bare, const struct stream *stream,
                                 const struct trk_event *event, bool check)
{
    uint32_t number = trk_domain_region(event->domain);
    if (number == TRK_DOMAIN_SHARED)
        number = trk_region_index(event->argument);
    struct region *region = region_of(bare, trk_domain_tracker(event->domain), number);
    uint32_t changes = 0;
    if (region == NULL)
        return 0;
    switch (event->type) {
    case TRK_EVENT_LOCK:
        region->hold = event->seq;
        break;
    case TRK_EVENT_UNLOCK:
        if (event->pages != 0 && stream->depth > 0)
            changes = change(region, &stream->operations[stream->depth - 1], check);
        break;
    case TRK_EVENT_PROTECT:
        if (!(event->flags & TRK_EVENT_FAILED))
            protect(region, event);
        region->pages_hold = event->seq;
        break;
    default:
        region->pages_hold = event->seq;
        break;
    }
    return check && event->type == TRK_EVENT_UNLOCK && changes != event->pages;
}

static inline uint64_t take_end(struct stream *stream, const struct trk_event *event, bool check)
{
    if (stream->depth == 0)
        return 0;
    const struct operation *operation = &stream->operations[--stream->depth];
    bool asked = event->context == TRK_OP_IS_CPU || event->context == TRK_OP_IS_GPU;
    if (check)
        return asked && operation->answer != (event->argument != 0);
    return asked && operation->answer;
}

static inline __attribute__((always_inline)) uint64_t
run(struct bare *bare, const struct bare_record *records, size_t count, bool check)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        const struct trk_event *event = &records[i].event;
        struct stream *stream = &bare->streams[records[i].stream % STREAMS];
        switch (event->type) {
        case TRK_EVENT_OP_BEGIN:
            begin(bare, stream,
                  &(struct operation){.first_addr = event->argument,
                                      .end_addr = event->argument + trk_event_size(event),
                                      .op = event->context,
                                      .flags = event->flags,
                                      .tracker = (uint8_t)(event->page % TRACKERS)});
            break;
        case TRK_EVENT_FAULT:
            begin(bare, stream,
                  &(struct operation){.first_addr = event->argument,
                                      .end_addr = event->argument + 1,
                                      .op = TRK_OP_FAULT,
                                      .tracker = (uint8_t)trk_domain_tracker(event->domain)});
            if (trk_event_in_hold(event))
                take_hold(bare, stream, event, check);
            break;
        case TRK_EVENT_LOCK:
        case TRK_EVENT_UNLOCK:
        case TRK_EVENT_PROTECT:
        case TRK_EVENT_WATCH:
            sum += take_hold(bare, stream, event, check);
            break;
        case TRK_EVENT_OP_END:
            sum += take_end(stream, event, check);
            break;
        default:
            break;
        }
    }
    return sum;
}

uint64_t bare_replay(struct bare *bare, const struct bare_record *records, size_t count)
{
    return run(bare, records, count, false);
}

uint64_t bare_wrong(struct bare *bare, const struct bare_record *records, size_t count)
{
    bare_reset(bare);
    return run(bare, records, count, true);
}
