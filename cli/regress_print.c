/* What a regression came to, for people. */
#include <inttypes.h>
#include <string.h>

#include "regress.h"
#include "terminal.h"

static enum trk_terminal_tone tone_of(enum trk_regress_end end)
{
    return end == TRK_REGRESS_PASS                                        ? TRK_TONE_GOOD
           : end == TRK_REGRESS_LEFT_OUT || end == TRK_REGRESS_UNREADABLE ? TRK_TONE_DOUBT
                                                                          : TRK_TONE_BAD;
}

/* A word in a column of its own; colour does not count for its width. */
static void print_word(enum trk_regress_end end)
{
    const char *name = trk_regress_end_name(end);
    trk_terminal_word(tone_of(end), name);
    printf("%*s", 11 - (int)strlen(name), "");
}

static void print_core(const struct trk_regress_core *core)
{
    trk_terminal_text(stdout, core->about.name);
    if (core->about.build[0] != '\0') {
        fputs(", build ", stdout);
        trk_terminal_text(stdout, core->about.build);
    }
    printf(" (%.8s)", core->build);
}

static void print_again(const struct trk_regress *regress, const struct trk_regress_item *item,
                        uint64_t event)
{
    fputs("             again:  trk sim", stdout);
    if (regress->core.path != NULL) {
        fputs(" --core ", stdout);
        trk_terminal_quote(stdout, regress->core.path);
    }
    putchar(' ');
    trk_terminal_quote(stdout, item->path);
    putchar('\n');
    if (!item->scenario && event != TRK_NOT_KNOWN) {
        fputs("             around: trk dump ", stdout);
        trk_terminal_quote(stdout, item->path);
        printf(" %" PRIu64 "-%" PRIu64 "\n", event < 10 ? 0 : event - 10, event + 10);
    }
}

/* Where it went another way, and by which event. */
static void print_event(const struct trk_regress *regress, const struct trk_regress_item *item)
{
    const struct trk_regress_outcome *which;
    uint64_t event = trk_regress_first(item, &which);
    if (event != TRK_NOT_KNOWN) {
        printf("             %s %s: %" PRIu64 ", thread ",
               trk_regress_unchanged(item) ? "broken at" : "first changed",
               item->scenario ? "operation" : "event", event);
        trk_terminal_text(stdout, which->thread);
        fputs(": ", stdout);
        trk_terminal_text(stdout, which->event);
        putchar('\n');
    }
    if (which->text[0] != '\0') {
        fputs("             ", stdout);
        trk_terminal_text(stdout, which->text);
        putchar('\n');
    }
    print_again(regress, item, event);
}

static void print_item(const struct trk_regress *regress, const struct trk_regress_item *item)
{
    print_word(item->end);
    printf(" %-16s ", item->outcome.verdict[0] != '\0' ? item->outcome.verdict : "-");
    trk_terminal_text(stdout, item->name);
    putchar('\n');
    if (item->why[0] != '\0') {
        fputs("             ", stdout);
        trk_terminal_text(stdout, item->why);
        putchar('\n');
    }
    if (item->end == TRK_REGRESS_FAIL || item->end == TRK_REGRESS_CHANGED ||
        item->end == TRK_REGRESS_UNSTABLE) {
        print_event(regress, item);
    }
}

void trk_regress_print(const struct trk_regress *regress)
{
    for (size_t i = 0; i < regress->count; i++) {
        print_item(regress, &regress->items[i]);
    }
    fputs("core ", stdout);
    print_core(&regress->core);
    if (regress->two_cores) {
        fputs(", against ", stdout);
        print_core(&regress->other);
    } else if (regress->run != NULL) {
        fputs(", against the run ", stdout);
        trk_terminal_text(stdout, regress->kept.id[0] != '\0' ? regress->kept.id : regress->run);
    }
    printf("\n%zu traces and scenarios:", regress->count);
    for (int end = 0; end < TRK_REGRESS_END_COUNT; end++) {
        printf("%s %zu %s", end > 0 ? "," : "", regress->ends[end],
               trk_regress_end_name((enum trk_regress_end)end));
    }
    putchar('\n');
}
