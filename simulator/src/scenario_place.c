/*
 * Where a thread stands, in a byte of a schedule's line.
 */
#include <stdio.h>

#include "scenario_schedule.h"
#include "track/sim_build.h"

#define NUMBER_BITS 5u
#define NUMBER_MASK ((1u << NUMBER_BITS) - 1)

/* Regions are numbered by the order of their addresses among those that a program reaches. */
static uint32_t region_rank(const struct scenario_run *run, uint32_t region)
{
    uint32_t rank = 0;
    while (rank < run->reach_count && run->reach[rank] != region)
        rank++;
    return rank;
}

uint8_t place_of(const struct run_thread *thread)
{
    uint32_t kind = thread->point, number = 0, region = 0;
    if (thread->before != NULL) {
        kind = POINT_OPERATION;
        number = thread->before->number;
    } else if (thread->wait_lock != NULL) {
        enum trk_sim_lock lock =
            core_insides->lock_kind(thread->run->tracker, thread->wait_lock, &region);
        kind = lock == TRK_SIM_LOCK_REGION  ? POINT_LOCK
               : lock == TRK_SIM_LOCK_PAGES ? POINT_MANAGER
                                            : POINT_OTHER;
        number = kind == POINT_OTHER ? (uint32_t)lock : region_rank(thread->run, region);
    } else if (kind == POINT_PROTECT || kind == POINT_FAULT) {
        number = thread->point_page;
    } else if (thread->text != NULL) {
        number = thread->next_op;
    }
    return (uint8_t)(kind << NUMBER_BITS | (number & NUMBER_MASK));
}

void place_words(uint8_t place, char out[PLACE_BYTES])
{
    static const char *const words[] = {
        [POINT_OPERATION] = "operation ",      [POINT_LOCK] = "lock r",
        [POINT_MANAGER] = "page manager r",    [POINT_OTHER] = "other lock ",
        [POINT_PROTECT] = "protect p",         [POINT_FAULT] = "fault p",
        [POINT_RETRY] = "retry in operation ", [POINT_CALLBACK] = "callback in operation ",
    };
    snprintf(out, PLACE_BYTES, "%s%u", words[place >> NUMBER_BITS], place & NUMBER_MASK);
}
