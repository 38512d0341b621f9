/*
 * Goal: the demo refuses options that it cannot run, and knows its bugs by name.
 * Method: a table of options, each wrong in one place. No device is needed for that.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "demo.h"

Test(demo_options, bugs_are_listed)
{
    size_t count = 0;
    for (const struct trk_demo_bug *bug = trk_demo_bugs; bug->name != NULL; bug++) {
        cr_expect_eq(trk_demo_bug_find(bug->name), bug);
        cr_expect_str_not_empty(bug->about);
        cr_expect_str_not_empty(bug->verdict);
        count++;
    }
    cr_expect_eq(count, TRK_DEMO_BUG_COUNT - 1, "each bug has a case in test_demo.c");
    cr_expect_null(trk_demo_bug_find("no-such-bug"));
    cr_expect_null(trk_demo_bug_find(""));
}

struct refusal_case {
    const char *name;
    struct trk_demo_options options;
    enum trk_status status;
};

static const struct refusal_case refusal_cases[] = {
    {"another version's options",
     {.size = 8, .frames = 3, .threads = 2, .megabytes = 2},
     TRK_E_ARGUMENT},
    {"no frame",
     {.size = sizeof(struct trk_demo_options), .threads = 2, .megabytes = 2},
     TRK_E_ARGUMENT},
    {"no guest",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .megabytes = 2},
     TRK_E_ARGUMENT},
    {"no memory",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .threads = 2},
     TRK_E_ARGUMENT},
    {"too many guests",
     {.size = sizeof(struct trk_demo_options),
      .frames = 3,
      .threads = TRK_DEMO_THREADS_MAX + 1,
      .megabytes = 2},
     TRK_E_ARGUMENT},
    {"odd memory",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .threads = 2, .megabytes = 3},
     TRK_E_ARGUMENT},
    {"too much memory",
     {.size = sizeof(struct trk_demo_options), .frames = 3, .threads = 2, .megabytes = 1026},
     TRK_E_ARGUMENT},
    {"a bug in a single frame",
     {.size = sizeof(struct trk_demo_options),
      .frames = 1,
      .threads = 2,
      .megabytes = 2,
      .bug = TRK_DEMO_BUG_FLUSH_LEAVES_PAGE},
     TRK_E_ARGUMENT},
    {"a device that is not there",
     {.size = sizeof(struct trk_demo_options),
      .frames = 3,
      .threads = 2,
      .megabytes = 2,
      .device = 4096},
     TRK_E_UNSUPPORTED},
};

Test(demo_options, refusals)
{
    for (size_t i = 0; i < sizeof refusal_cases / sizeof *refusal_cases; i++) {
        const struct refusal_case *given = &refusal_cases[i];
        struct trk_demo_result result;
        struct trk_error error = {.status = TRK_OK};
        cr_expect_eq(trk_demo_run(&given->options, &result, &error), given->status, "%s",
                     given->name);
        cr_expect_eq(error.status, given->status, "%s", given->name);
        cr_expect_str_not_empty(error.text, "%s", given->name);
    }
}
