/* Bisecting: the search, and running what is asked. */
#include "bisect_probe.h"

#include "command.h"
#include "spawn.h"

/* ---- the search ------------------------------------------------------------------------------ */

/* Ask in the middle, and where that cannot be tested beside it, ever further off. */
static enum trk_bisect_answer ask_near(struct trk_bisect *bisect, uint64_t middle, uint64_t *at)
{
    uint64_t wide = bisect->bad - bisect->good;
    uint32_t skips = 0;
    /* Off by 0, 1, 2, 4 and so on, then by what is left: places that cannot be tested lie together.
     */
    for (uint64_t i = 0; i < wide + 64; i++) {
        uint64_t off = i == 0 ? 0 : i < 64 ? UINT64_C(1) << (i - 1) : i - 63;
        bool tried = i >= 64 && (off & (off - 1)) == 0;
        if (tried || off >= wide) {
            continue;
        }
        for (unsigned side = 0; side < (off > 0 ? 2u : 1u); side++) {
            *at = side == 0 ? middle + off : middle - off;
            if (*at >= bisect->bad || *at <= bisect->good) {
                continue;
            }
            bisect->probes++;
            enum trk_bisect_answer answer = bisect->ask(bisect->context, *at);
            if (answer != TRK_BISECT_SKIP) {
                return answer;
            }
            bisect->skipped++;
            if (++skips == TRK_BISECT_SKIPS_MOST) {
                bisect->gave_up = skips < wide - 1;
                return answer;
            }
        }
    }
    return TRK_BISECT_SKIP;
}

enum trk_bisect_answer trk_bisect_search(struct trk_bisect *bisect)
{
    while (bisect->bad - bisect->good > 1) {
        uint64_t at = 0;
        uint64_t middle = bisect->good + (bisect->bad - bisect->good) / 2;
        enum trk_bisect_answer answer = ask_near(bisect, middle, &at);
        if (answer == TRK_BISECT_GOOD) {
            bisect->good = at;
        } else if (answer == TRK_BISECT_BAD) {
            bisect->bad = at;
        } else {
            return answer;
        }
    }
    return TRK_BISECT_GOOD;
}

/* ---- commands -------------------------------------------------------------------------------- */

int trk_bisect_spawn(const char *const *argv)
{
    return trk_spawn_run(&(struct trk_spawn){.command = "bisect", .argv = argv});
}

enum trk_bisect_answer trk_bisect_verdict_of(int wait_status)
{
    bool cannot = wait_status != -1 && trk_exit_of_program(wait_status) == TRK_EXIT_DAMAGED;
    return cannot ? TRK_BISECT_SKIP : trk_bisect_answer_of(wait_status);
}

enum trk_bisect_answer trk_bisect_answer_of(int wait_status)
{
    if (wait_status == -1) {
        return TRK_BISECT_FAILED;
    }
    int code = trk_exit_of_program(wait_status);
    return code == 0                   ? TRK_BISECT_GOOD
           : code == TRK_BISECT_CANNOT ? TRK_BISECT_SKIP
                                       : TRK_BISECT_BAD;
}
