/*
 * The annotations that are more than one event.
 */
#include "recorder/annotate.h"

#include "capture_emit.h"
#include "track/address.h"

void trk_capture_pages(enum trk_page_moment moment, uint64_t guest_addr, const void *bytes,
                       uint64_t size_bytes)
{
    if (!trk_capture_wants_hashes())
        return;
    uint64_t skip = -guest_addr & (TRK_HOST_PAGE_BYTES - 1); /* to the first whole page */
    for (; skip + TRK_HOST_PAGE_BYTES <= size_bytes; skip += TRK_HOST_PAGE_BYTES) {
        struct trk_event event = {
            .argument = guest_addr + skip, .type = TRK_EVENT_PAGE, .flags = (uint8_t)moment};
        trk_event_set_size(&event, trk_capture_page((const char *)bytes + skip));
        trk_capture_event(&event);
    }
}

/* Up to `most` bytes of a text as a number, lowest first; moves behind them. */
static uint64_t text_bytes(const char **text, const char *end, unsigned most)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < most && *text < end; i++)
        word |= (uint64_t)(unsigned char)*(*text)++ << 8 * i;
    return word;
}

void trk_capture_label_text(uint16_t object, const char *text)
{
    const char *end = text;
    while (end < text + TRK_LABEL_BYTES_MAX && *end != '\0')
        end++;
    for (unsigned piece = 0; piece == 0 || text < end; piece++) {
        struct trk_event event = trk_event_of(TRK_EVENT_LABEL, text_bytes(&text, end, 8));
        trk_event_set_size(&event, text_bytes(&text, end, 8));
        trk_event_set_number32(&event, (uint32_t)text_bytes(&text, end, 4));
        event.flags = (uint8_t)(piece | (text == end ? TRK_LABEL_LAST : 0));
        event.context = object;
        trk_capture_event(&event);
    }
}
