#include <string.h>

#include "plan_internal.h"
#include "schedule.h"

static enum trk_status entry_add(struct schedule *schedule, struct schedule_chunk *chunk,
                                 uint32_t window, const struct schedule_entry *entry)
{
    void *entries = plan_grow(schedule->entries, schedule->entry_count, &schedule->entry_capacity,
                              sizeof *schedule->entries);
    if (entries == NULL) {
        return TRK_E_MEMORY;
    }
    schedule->entries = entries;
    struct schedule_dispatch *last =
        chunk->dispatch_count > 0 ? &schedule->dispatches[schedule->dispatch_count - 1] : NULL;
    if (last == NULL || last->window != window) {
        void *dispatches = plan_grow(schedule->dispatches, schedule->dispatch_count,
                                     &schedule->dispatch_capacity, sizeof *schedule->dispatches);
        if (dispatches == NULL) {
            return TRK_E_MEMORY;
        }
        schedule->dispatches = dispatches;
        last = &schedule->dispatches[schedule->dispatch_count++];
        *last = (struct schedule_dispatch){window, (uint32_t)chunk->entry_count, 0};
        chunk->dispatch_count++;
    }
    last->count++;
    schedule->entries[schedule->entry_count++] = *entry;
    chunk->entry_count++;
    return TRK_OK;
}

enum trk_status schedule_entries(struct schedule *schedule, struct schedule_chunk *chunk, bool up,
                                 const struct schedule_options *options)
{
    chunk->first_entry = schedule->entry_count;
    chunk->first_dispatch = schedule->dispatch_count;
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct schedule_piece piece = schedule->pieces[chunk->first_piece + i];
        uint64_t done = 0;
        while (done < piece.size_bytes && schedule_in_units(&piece)) {
            uint64_t place = piece.offset + done, stage = piece.stage + done;
            uint64_t window = place / options->window_bytes;
            uint64_t inside = place - window * options->window_bytes;
            uint64_t size = piece.size_bytes - done;
            size = size < SCHEDULE_ENTRY_BYTES ? size : SCHEDULE_ENTRY_BYTES;
            size = size < options->window_bytes - inside ? size : options->window_bytes - inside;
            if (chunk->in_place) {
                stage = inside;
            }
            struct schedule_entry entry = {
                .target = (uint32_t)((up ? inside : stage) / SCHEDULE_UNIT_BYTES),
                .source = (uint32_t)((up ? stage : inside) / SCHEDULE_UNIT_BYTES),
                .units = (uint32_t)(size / SCHEDULE_UNIT_BYTES),
            };
            if (entry_add(schedule, chunk, (uint32_t)window, &entry) != TRK_OK) {
                return TRK_E_MEMORY;
            }
            done += size;
        }
    }
    return TRK_OK;
}
