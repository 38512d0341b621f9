/*
 * Goal: an expression means one policy, a policy prints as the shortest expression that means it,
 * and what means none is refused with the place where it stops. Method: tables of expressions.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "replayer/policy.h"

Test(policy, meanings)
{
    struct trk_transfer_policy policy;
    cr_assert_eq(trk_transfer_policy_parse(&policy, "per-range", NULL), TRK_OK);
    cr_expect_eq(policy.shape, TRK_SHAPE_PER_RANGE);
    cr_expect_eq(policy.path, TRK_PATH_COPY);
    cr_expect_eq(policy.queue, TRK_QUEUE_UNIVERSAL);
    cr_expect_eq(policy.threads, 1);
    cr_expect_eq(policy.slow, 0.0);
    cr_assert_eq(trk_transfer_policy_parse(&policy, "auto+scatter,queue=transfer,threads=2", NULL),
                 TRK_OK);
    cr_expect_eq(policy.shape, TRK_SHAPE_AUTO);
    cr_expect_eq(policy.path, TRK_PATH_SCATTER);
    cr_expect_eq(policy.queue, TRK_QUEUE_TRANSFER);
    cr_expect_eq(policy.threads, 2);
    cr_assert_eq(
        trk_transfer_policy_parse(&policy, "coalesce:64K+import,ring=1M,batch=8K,slow=5%", NULL),
        TRK_OK);
    cr_expect_eq(policy.shape_bytes, 65536);
    cr_expect_eq(policy.path, TRK_PATH_IMPORT);
    cr_expect_eq(policy.ring_bytes, 1u << 20);
    cr_expect_eq(policy.batch_bytes, 8192);
    cr_expect_float_eq(policy.slow, 0.05, 1e-12);
}

/* The expression, and how it prints; parsing that again gives the same policy. */
Test(policy, prints)
{
    static const char *const cases[][2] = {
        {"per-range", "per-range"},
        {"copy", "per-range"},
        {"per-range+copy", "per-range"},
        {"scatter", "scatter"},
        {"per-range+scatter", "scatter"},
        {"scatter+auto", "auto+scatter"},
        {"scatter+import", "import+scatter"},
        {"fetch", "fetch"},
        {"fetch+auto,threads=12", "auto+fetch,threads=12"},
        {"import+scatter", "import+scatter"},
        {"coalesce:65536", "coalesce:64K"},
        {"coalesce:1500", "coalesce:1500"},
        {"granule:16K", "granule:16K"},
        {"granule:1024M", "granule:1G"},
        {"whole,threads=1", "whole"},
        {"whole,queue=universal", "whole"},
        {"direct,threads=8", "direct,threads=8"},
        {"auto,slow=5%,threads=2", "auto,threads=2,slow=5%"},
        {"auto,slow=0%", "auto"},
        {"auto,batch=64K,queue=compute", "auto,queue=compute,batch=64K"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_transfer_policy policy, again;
        struct trk_error error = {.text = ""};
        char text[TRK_POLICY_TEXT_BYTES], back[TRK_POLICY_TEXT_BYTES];
        cr_assert_eq(trk_transfer_policy_parse(&policy, cases[i][0], &error), TRK_OK, "%s: %s",
                     cases[i][0], error.text);
        trk_transfer_policy_print(&policy, text);
        cr_expect_str_eq(text, cases[i][1]);
        cr_assert_eq(trk_transfer_policy_parse(&again, text, &error), TRK_OK, "%s", error.text);
        trk_transfer_policy_print(&again, back);
        cr_expect_str_eq(back, text);
    }
}

Test(policy, refused)
{
    static const struct {
        const char *text;
        const char *column; /* where it stops */
    } cases[] = {
        {"", "column 1 "},
        {"auot", "column 1 "},
        {"auto+", "column 6 "},
        {"auto+whole", "column 6 "},
        {"auto+copy+direct", "column 11 "},
        {"import+direct", "column 8 "},
        {"scatter+scatter", "column 9 "},
        {"scatter+fetch", "column 9 "},
        {"fetch+import", "column 7 "},
        {"coalesce", "column 9 "},
        {"coalesce:", "column 10 "},
        {"coalesce:x", "column 10 "},
        {"coalesce:0", "column 10 "},
        {"coalesce:-1", "column 10 "},
        {"coalesce:18446744073709551616", "column 10 "},
        {"coalesce:99999999G", "column 10 "},
        {"coalesce:4Q", "column 11 "},
        {"granule:5000", "column 9 "},
        {"auto ", "column "},
        {" auto", "column 1 "},
        {"auto,", "column 6 "},
        {"auto,thread=2", "column 6 "},
        {"auto,threads", "column 13 "},
        {"auto,threads=", "column 14 "},
        {"auto,threads=0", "column 14 "},
        {"auto,threads=65", "column 14 "},
        {"auto,threads=2x", "column 15 "},
        {"auto,queue=", "column 12 "},
        {"auto,queue=fast", "column 12 "},
        {"auto,ring=1", "column 11 "},
        {"auto,batch=1", "column 12 "},
        {"auto,slow=5", "column 12 "},
        {"auto,slow=101%", "column 11 "},
        {"auto,threads=2+scatter", "column 15 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_transfer_policy policy = {.threads = 77};
        struct trk_error error = {.text = ""};
        cr_expect_eq(trk_transfer_policy_parse(&policy, cases[i].text, &error), TRK_E_ARGUMENT,
                     "\"%s\"", cases[i].text);
        cr_expect_not_null(strstr(error.text, cases[i].column), "\"%s\": %s", cases[i].text,
                           error.text);
        cr_expect_eq(policy.threads, 77, "nothing is written");
    }
    char longest[400];
    struct trk_transfer_policy policy;
    struct trk_error error;
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    cr_expect_eq(trk_transfer_policy_parse(&policy, longest, &error), TRK_E_ARGUMENT);
    cr_expect_eq(trk_transfer_policy_parse(&policy, longest, NULL), TRK_E_ARGUMENT);
}

/* Every kind is in the list once, and prints as it stands there. */
Test(policy, list)
{
    const char *const *list = trk_transfer_policy_list();
    unsigned shapes = 0, paths = 0, queues = 0;
    for (size_t i = 0; list[i] != NULL; i++) {
        struct trk_transfer_policy policy;
        struct trk_error error = {.text = ""};
        char text[TRK_POLICY_TEXT_BYTES];
        cr_assert_lt(i, 64);
        cr_assert_eq(trk_transfer_policy_parse(&policy, list[i], &error), TRK_OK, "%s", error.text);
        trk_transfer_policy_print(&policy, text);
        cr_expect_str_eq(text, list[i]);
        shapes |= 1u << policy.shape;
        paths |= 1u << policy.path;
        queues |= 1u << policy.queue;
        for (size_t k = 0; k < i; k++) {
            cr_expect_str_neq(list[k], list[i]);
        }
    }
    cr_expect_eq(shapes, (2u << TRK_SHAPE_GRANULE) - 1, "a shape is missing");
    cr_expect_eq(paths, (2u << TRK_PATH_FETCH) - 1, "a path is missing");
    cr_expect_eq(queues, (2u << TRK_QUEUE_TRANSFER) - 1, "a queue is missing");
}
