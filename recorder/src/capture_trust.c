/*
 * Decisions to believe that a page is clean: their keys, and the limit behind which none is
 * trusted.
 */
#include "recorder/capture.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture_trust.h"
#include "track/address.h"
#include "track/tracker.h"

#define SLOTS (1u << 16) /* pages whose ordinals are counted; a power of two */

uint32_t trk_capture_trusts_less;

static struct {
    bool limited;
    struct trk_trust_limit limit;
    _Atomic uint64_t made, frame;
    atomic_flag busy;
    struct {
        uint64_t page; /* number + 1; 0: free */
        uint64_t frame;
        uint32_t count;
    } slots[SLOTS];
} trust = {.busy = ATOMIC_FLAG_INIT};

/* A number of base 10, or 16 after 0x, that ends at `stop`; false: it is none. */
static bool read_number(const char **text, char stop, uint64_t *out)
{
    const char *at = *text;
    unsigned base = at[0] == '0' && at[1] == 'x' ? 16 : 10, digits = 0;
    uint64_t number = 0;
    for (at += base == 16 ? 2 : 0; *at != '\0' && *at != stop; at++, digits++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        if (digit >= base || number > (UINT64_MAX - digit) / base)
            return false;
        number = number * base + digit;
    }
    if (digits == 0 || *at != stop)
        return false;
    *text = at + (stop != '\0');
    *out = number;
    return true;
}

bool trk_trust_limit_read(const char *text, struct trk_trust_limit *out)
{
    uint64_t ordinal = 0;
    const char *at = text;
    *out = (struct trk_trust_limit){.keyed = false};
    if (read_number(&at, '\0', &out->number))
        return true;
    at = text;
    out->keyed = read_number(&at, ':', &out->frame) && read_number(&at, ':', &out->page_addr) &&
                 read_number(&at, '\0', &ordinal) && ordinal <= UINT32_MAX;
    out->ordinal = (uint32_t)ordinal;
    return out->keyed;
}

enum trk_status trk_capture_trust_open(struct trk_error *error)
{
    const char *text = getenv("TRK_TRUST_LIMIT");
    if (text == NULL || text[0] == '\0' || getenv("TRK_SESSION_FD") == NULL)
        return TRK_OK;
    if (!trk_trust_limit_read(text, &trust.limit))
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "TRK_TRUST_LIMIT: '%.80s' is neither a number nor "
                             "FRAME:PAGE:ORDINAL",
                             text);
    trust.limited = true;
    return TRK_OK;
}

void trk_capture_trust_begin(void)
{
    TRK_STORE_RELAXED(&trk_capture_trusts_less, trust.limited);
}

void trk_capture_trust_frame(uint64_t frame)
{
    atomic_store_explicit(&trust.frame, frame, memory_order_relaxed);
}

/* How many decisions about the page were made in this frame before. */
static uint32_t next_ordinal(uint64_t page, uint64_t frame)
{
    uint32_t ordinal = 0;
    size_t at = (size_t)(page * UINT64_C(0x9E3779B97F4A7C15) >> 40) & (SLOTS - 1);
    while (atomic_flag_test_and_set_explicit(&trust.busy, memory_order_acquire))
        continue;
    /* What another frame left may be taken: the row is searched as far as it was filled. */
    for (size_t tried = 0; tried < SLOTS; tried++, at = (at + 1) & (SLOTS - 1)) {
        if (trust.slots[at].page == page + 1 && trust.slots[at].frame == frame) {
            ordinal = ++trust.slots[at].count;
            break;
        }
        if (trust.slots[at].page == 0 || trust.slots[at].page == page + 1) {
            trust.slots[at].page = page + 1;
            trust.slots[at].frame = frame;
            trust.slots[at].count = 0;
            break;
        }
    }
    atomic_flag_clear_explicit(&trust.busy, memory_order_release);
    return ordinal;
}

static bool below_limit(uint64_t frame, uint64_t page_addr, uint32_t ordinal, uint64_t number)
{
    const struct trk_trust_limit *limit = &trust.limit;
    if (!limit->keyed)
        return number < limit->number;
    if (frame != limit->frame)
        return frame < limit->frame;
    if (page_addr != limit->page_addr)
        return page_addr < limit->page_addr;
    return ordinal < limit->ordinal;
}

bool trk_capture_trust_asked(uint32_t tracker_id, uint64_t guest_addr)
{
    uint64_t page_addr = guest_addr & ~(uint64_t)(TRK_HOST_PAGE_BYTES - 1);
    uint64_t frame = atomic_load_explicit(&trust.frame, memory_order_relaxed);
    uint32_t ordinal = next_ordinal(page_addr / TRK_HOST_PAGE_BYTES, frame);
    uint64_t number = atomic_fetch_add_explicit(&trust.made, 1, memory_order_relaxed);
    bool trusted = below_limit(frame, page_addr, ordinal, number);
    struct trk_event event = trk_event_of(TRK_EVENT_DECISION, page_addr);
    event.page = (uint16_t)tracker_id;
    event.context = trusted ? TRK_DECISION_SKIP : TRK_DECISION_DISTRUST;
    trk_capture_event(&event);
    return trusted;
}

void trk_capture_distrust_asked(struct trk_tracker *tracker, uint32_t tracker_id,
                                uint64_t guest_addr, uint64_t size_bytes)
{
    uint64_t first = guest_addr & ~(uint64_t)(TRK_HOST_PAGE_BYTES - 1);
    for (uint64_t at = first; at < guest_addr + size_bytes; at += TRK_HOST_PAGE_BYTES) {
        bool cpu = true, gpu = true;
        if (trk_tracker_is_cpu(tracker, at, TRK_HOST_PAGE_BYTES, &cpu) != TRK_OK || cpu ||
            trk_tracker_is_gpu(tracker, at, TRK_HOST_PAGE_BYTES, &gpu) != TRK_OK || gpu)
            continue;
        /* It may have become the CPU's meanwhile; only the GPU's pages refuse. */
        if (!trk_capture_trust_asked(tracker_id, at))
            (void)!trk_tracker_mark_cpu(tracker, at, TRK_HOST_PAGE_BYTES);
    }
}
