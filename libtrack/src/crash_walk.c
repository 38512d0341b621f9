/*
 * The walk along the guest's frame pointers.
 *
 * A frame is two words: where the caller's frame is, and where the caller goes on. It is believed
 * only if it lies in the stack above the last one, can be read, and its return address lies in a
 * module; the first that is not believed ends the walk.
 *
 * Rules: [M-61].
 */
#include "crash_parts.h"
#include "peek.h"

#define FRAMES_MAX      20u
#define STACK_BYTES_MAX (UINT64_C(1) << 20)

static void print_frame(struct crash_text *text, unsigned index, uint64_t host_addr,
                        const struct crash_place *place)
{
    trk_crash_text_add(text, "#");
    trk_crash_text_decimal(text, index);
    trk_crash_text_add(text, index < 10 ? "  0x" : " 0x");
    trk_crash_text_hex(text, host_addr, 16);
    trk_crash_text_add(text, " +0x");
    trk_crash_text_hex(text, place->offset_bytes, 0);
    trk_crash_text_add(text, " ");
    trk_crash_text_add(text, place->module);
    trk_crash_text_add(text, "\n");
}

void trk_crash_walk(struct crash_text *text, uint64_t stack_addr, uint64_t frame_addr)
{
    uint64_t least = stack_addr;
    for (unsigned index = 0; index < FRAMES_MAX; index++) {
        uint64_t frame[2]; /* the caller's frame, the return address */
        struct crash_place place;
        if (frame_addr < least || frame_addr - stack_addr > STACK_BYTES_MAX - sizeof frame ||
            trk_peek(frame_addr, frame, sizeof frame) != sizeof frame ||
            !trk_crash_module_find(frame[1], &place))
            return;
        if (index == 0)
            trk_crash_text_add(text, "Guest stack walk:\n");
        print_frame(text, index, frame[1], &place);
        least = frame_addr + 1;
        frame_addr = frame[0];
    }
}
