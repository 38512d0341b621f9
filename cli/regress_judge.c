/* How the items of a regression end. */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "regress.h"

bool trk_regress_lasts(const struct trk_regress_outcome *outcome)
{
    return outcome->verdict[0] != '\0' && strcmp(outcome->verdict, "crashed") != 0;
}

bool trk_regress_same(const struct trk_regress_outcome *one,
                      const struct trk_regress_outcome *other)
{
    return strcmp(one->verdict, other->verdict) == 0 && strcmp(one->detail, other->detail) == 0 &&
           strcmp(one->thread, other->thread) == 0 && one->event_at == other->event_at &&
           one->event_visible == other->event_visible;
}

bool trk_regress_unchanged(const struct trk_regress_item *item)
{
    return item->compared && trk_regress_same(&item->outcome, &item->other);
}

/* Whether there is nothing to judge a side by. */
static bool cannot_tell(const struct trk_regress_outcome *outcome)
{
    return strcmp(outcome->verdict, "unknown") == 0;
}

uint64_t trk_regress_first(const struct trk_regress_item *item,
                           const struct trk_regress_outcome **which)
{
    const struct trk_regress_outcome *mine = &item->outcome, *other = &item->other;
    *which = mine;
    /* Both sides follow the same log: until the first of the two events they did the same. One that
     * cannot be judged says nothing of what it did. */
    if (item->compared && !cannot_tell(other) && other->event_at < mine->event_at) {
        *which = other;
    }
    return (*which)->event_at;
}

const char *trk_regress_schedule(const struct trk_regress *regress,
                                 const struct trk_regress_item *item)
{
    return !item->scenario ? "recorded" : regress->walks > 0 ? "walk" : "file";
}

void trk_regress_seeds(const struct trk_regress *regress, const struct trk_regress_item *item,
                       char out[48])
{
    bool walks = item->scenario && regress->walks > 0;
    snprintf(out, 48, "%" PRIu64 "+%" PRIu64, walks ? regress->seed : 0,
             walks ? regress->walks : 1);
}

/* Whether it is as its manifest or file expects. */
static bool as_expected(const struct trk_regress_item *item)
{
    return item->expected[0] == '\0' ? item->outcome.met
                                     : strcmp(item->outcome.verdict, item->expected) == 0;
}

static void leave_out(struct trk_regress_item *item, const char *side,
                      const struct trk_regress_outcome *outcome)
{
    item->end = TRK_REGRESS_LEFT_OUT;
    snprintf(item->why, sizeof item->why, "nothing to judge %s by: %.140s", side, outcome->text);
}

static void judge(struct trk_regress_item *item)
{
    const struct trk_regress_outcome *outcome = &item->outcome, *other = &item->other;
    const char *unreadable = item->unreadable[0] != '\0'      ? item->unreadable
                             : outcome->unreadable[0] != '\0' ? outcome->unreadable
                             : item->compared                 ? other->unreadable
                                                              : "";
    if (unreadable[0] != '\0') {
        item->end = TRK_REGRESS_UNREADABLE;
        snprintf(item->why, sizeof item->why, "%s", unreadable);
        return;
    }
    if (item->end == TRK_REGRESS_UNSTABLE) {
        return;
    }
    const char *left_out =
        outcome->left_out[0] != '\0' || !item->compared ? outcome->left_out : other->left_out;
    const bool differs = item->compared && !trk_regress_same(outcome, other);
    if (left_out[0] != '\0') {
        item->end = TRK_REGRESS_LEFT_OUT;
        snprintf(item->why, sizeof item->why, "%s", left_out);
    } else if (differs && !cannot_tell(outcome) && !cannot_tell(other)) {
        item->end = TRK_REGRESS_CHANGED;
        snprintf(item->why, sizeof item->why, "was %s, is %s", other->verdict, outcome->verdict);
    } else if (!differs && as_expected(item)) {
        item->end = TRK_REGRESS_PASS;
    } else if (cannot_tell(outcome)) {
        leave_out(item, "this core", outcome);
    } else if (as_expected(item)) {
        leave_out(item, "the other side", other);
    } else {
        item->end = TRK_REGRESS_FAIL;
        snprintf(item->why, sizeof item->why, "expected %.60s, is %s%s%s%s",
                 item->expected[0] != '\0' ? item->expected : "what its file says",
                 outcome->verdict, outcome->detail[0] != '\0' ? " (" : "", outcome->detail,
                 outcome->detail[0] != '\0' ? ")" : "");
    }
}

void trk_regress_judge(struct trk_regress *regress)
{
    memset(regress->ends, 0, sizeof regress->ends);
    for (size_t i = 0; i < regress->count; i++) {
        judge(&regress->items[i]);
        regress->ends[regress->items[i].end]++;
    }
}

const char *trk_regress_end_name(enum trk_regress_end end)
{
    static const char *const names[TRK_REGRESS_END_COUNT] = {
        [TRK_REGRESS_PASS] = "pass",         [TRK_REGRESS_FAIL] = "fail",
        [TRK_REGRESS_CHANGED] = "changed",   [TRK_REGRESS_UNSTABLE] = "unstable",
        [TRK_REGRESS_LEFT_OUT] = "left-out", [TRK_REGRESS_UNREADABLE] = "unreadable",
    };
    return names[end];
}

int trk_regress_exit_code(const struct trk_regress *regress)
{
    if (regress->ends[TRK_REGRESS_UNSTABLE] > 0) {
        return TRK_EXIT_INTERNAL;
    }
    if (regress->ends[TRK_REGRESS_FAIL] + regress->ends[TRK_REGRESS_CHANGED] > 0) {
        return TRK_EXIT_BROKEN;
    }
    return regress->ends[TRK_REGRESS_PASS] == regress->count ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}
