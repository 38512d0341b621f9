/* Pages all over the rest of the memory: what an emulator meets whose guest has many small buffers.
 */
#include <stdlib.h>

#include "demo_state.h"

/* The player of the dice who shuffles; guests have their numbers. */
#define SHUFFLER (TRK_DEMO_THREADS_MAX + 1u)

enum trk_status demo_scattered_open(struct demo *demo, struct trk_error *error)
{
    const uint32_t count = demo_memory_rest(&demo->memory);
    if (demo->options.pages == 0) {
        return TRK_OK;
    }
    demo->scattered = calloc(count, sizeof *demo->scattered);
    if (demo->scattered == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory for the demo's pages");
    }
    for (uint32_t i = 0; i < count; i++) {
        demo->scattered[i] = demo_memory_rest_page(&demo->memory, i);
    }
    demo->shuffle = demo_dice_make(demo->options.seed, SHUFFLER);
    return TRK_OK;
}

void demo_scattered_close(struct demo *demo)
{
    free(demo->scattered);
    demo->scattered = NULL;
}

/* The first steps of a shuffle are enough: what is behind them is not used. */
void demo_scattered_choose(struct demo *demo)
{
    const uint32_t count = demo_memory_rest(&demo->memory);
    for (uint32_t i = 0; i < demo->options.pages; i++) {
        uint32_t other = i + demo_dice_roll(&demo->shuffle, count - i);
        uint32_t page = demo->scattered[i];
        demo->scattered[i] = demo->scattered[other];
        demo->scattered[other] = page;
    }
}

uint32_t demo_scattered_slot(const struct demo *demo, uint32_t i, uint32_t frame)
{
    return demo->scattered[i] * DEMO_PAGE_SLOTS + frame % DEMO_PAGE_SLOTS;
}

void demo_scattered_upload(struct demo *demo)
{
    for (uint32_t i = 0; i < demo->options.pages; i++) {
        const struct demo_area page = {demo->scattered[i], 1};
        demo_transfer_up_part(demo, &page);
    }
}
