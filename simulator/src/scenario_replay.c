/*
 * Running one schedule again, and saying where it leads elsewhere.
 */
#include <inttypes.h>
#include <stdio.h>

#include "scenario_schedule.h"

/* What is left of a line while it is followed. */
struct following {
    const struct repro *repro;
    struct trk_scenario_fault *fault;
    size_t turn;    /* the next one */
    uint64_t usual; /* steps since the last one */
    uint8_t check;
};

/* Say where the next turn was to be, and what stands there. */
static enum trk_status diverged(const struct driver *driver, const struct following *following,
                                const char *got)
{
    const struct repro_turn *turn = &following->repro->turns[following->turn];
    size_t step = driver->path.count + (size_t)(turn->usual - following->usual) + 1;
    char expected[PLACE_BYTES];
    place_words(turn->place, expected);
    *following->fault = (struct trk_scenario_fault){.where = "schedule"};
    snprintf(following->fault->text, sizeof following->fault->text,
             "diverged at step %zu: expected %s at %s, got %s%s", step,
             driver->run->threads[turn->thread].text->name, expected, got,
             following->repro->same_core ? "" : "; it was made with another core");
    return TRK_E_ARGUMENT;
}

/* The thread of a turn cannot go on, or stands elsewhere, or came there by another way. */
static enum trk_status look(const struct driver *driver, const struct following *following)
{
    const struct repro_turn *turn = &following->repro->turns[following->turn];
    const struct run_thread *thread = &driver->run->threads[turn->thread];
    uint8_t place = place_of(thread);
    char got[PLACE_BYTES], text[2 * PLACE_BYTES];
    place_words(place, got);
    if (thread->done)
        return diverged(driver, following, "it ended");
    snprintf(text, sizeof text, "it waiting at %s", got);
    if (!driver_can(driver, turn->thread))
        return diverged(driver, following, text);
    if (place != turn->place)
        return diverged(driver, following, got);
    if (repro_check(following->check, place) != turn->check)
        return diverged(driver, following, "it there by another way");
    return TRK_OK;
}

enum trk_status schedule_replay(struct driver *driver, const struct repro *repro,
                                struct trk_scenario_fault *fault)
{
    struct following following = {.repro = repro, .fault = fault};
    uint32_t enabled[TRK_SCENARIO_THREADS], count;
    enum trk_status primed = driver_prime(driver);
    if (primed != TRK_OK)
        return primed;
    while ((count = driver_choices(driver, enabled)) > 0) {
        uint32_t chosen = driver_usual(driver, enabled, count);
        bool turns =
            following.turn < repro->count && following.usual == repro->turns[following.turn].usual;
        enum trk_status status = turns ? look(driver, &following) : TRK_OK;
        if (status != TRK_OK)
            return status;
        if (turns)
            chosen = repro->turns[following.turn].thread;
        following.check =
            turns ? 0 : repro_check(following.check, place_of(&driver->run->threads[chosen]));
        following.usual = turns ? 0 : following.usual + 1;
        following.turn += turns;
        driver_step(driver, chosen, !turns);
    }
    return following.turn < repro->count ? diverged(driver, &following, "all of it over")
                                         : driver_finish(driver);
}
