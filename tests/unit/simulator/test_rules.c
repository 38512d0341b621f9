/*
 * Goal: each rule for a page refuses the states that break it, and only these.
 *
 * Method: a table of pages; the three legal states in all their variants first.
 */
#include <criterion/criterion.h>

#include "rules.h"

#define R TRK_RIGHT_READ
#define W TRK_RIGHT_WRITE
#define X TRK_RIGHT_EXEC

struct page_case {
    const char *name;
    struct trk_page_view view;
    enum trk_verdict_kind kind;
};

/* cpu, gpu, writable, readable, registered, write watches, read watch, guest, host, armed */
static const struct page_case pages[] = {
    {"untouched", {1, 0, 1, 1, 0, 0, 0, R | W, R | W, 0}, TRK_VERDICT_OK},
    {"clean", {0, 0, 0, 1, 1, 1, 0, R | W, R, 0}, TRK_VERDICT_OK},
    {"gpu", {0, 1, 0, 0, 1, 1, 1, R | W, 0, 0}, TRK_VERDICT_OK},
    {"cpu, watched by another", {1, 0, 1, 1, 1, 3, 0, R | W, R, 0}, TRK_VERDICT_OK},
    {"cpu, read-watched by another", {1, 0, 1, 1, 1, 0, 1, R | W, 0, 0}, TRK_VERDICT_OK},
    {"clean, execute kept", {0, 0, 0, 1, 1, 1, 0, R | X, R | X, 0}, TRK_VERDICT_OK},
    {"cpu, closed by the guest", {1, 0, 1, 1, 1, 0, 0, 0, 0, 0}, TRK_VERDICT_OK},
    {"tighter than it must be", {1, 0, 1, 1, 1, 0, 0, R | W, 0, 0}, TRK_VERDICT_OK},
    {"both", {1, 1, 1, 1, 1, 1, 1, R | W, 0, 0}, TRK_VERDICT_ILLEGAL_STATE},
    {"clean but writable", {0, 0, 1, 1, 1, 1, 0, R | W, R, 0}, TRK_VERDICT_ILLEGAL_STATE},
    {"cpu but not writable", {1, 0, 0, 1, 1, 0, 0, R | W, R | W, 0}, TRK_VERDICT_ILLEGAL_STATE},
    {"gpu but readable", {0, 1, 0, 1, 1, 1, 1, R | W, 0, 0}, TRK_VERDICT_ILLEGAL_STATE},
    {"clean without a watch", {0, 0, 0, 1, 1, 0, 0, R | W, R, 0}, TRK_VERDICT_ILLEGAL_STATE},
    {"gpu without a read watch", {0, 1, 0, 0, 1, 1, 0, R | W, 0, 0}, TRK_VERDICT_ILLEGAL_STATE},
    {"clean, host lets write",
     {0, 0, 0, 1, 1, 1, 0, R | W, R | W, 0},
     TRK_VERDICT_PROTECTION_LOOSE},
    {"gpu, host lets read", {0, 1, 0, 0, 1, 1, 1, R | W, R, 0}, TRK_VERDICT_PROTECTION_LOOSE},
    {"host lets what the guest forbids",
     {1, 0, 1, 1, 1, 0, 0, R, R | W, 0},
     TRK_VERDICT_PROTECTION_LOOSE},
    {"watched, host lets write",
     {1, 0, 1, 1, 1, 1, 0, R | W, R | W, 0},
     TRK_VERDICT_PROTECTION_LOOSE},
    {"armed", {1, 0, 1, 1, 0, 0, 0, R | W, R, 1}, TRK_VERDICT_OK},
    {"armed, host lets write",
     {1, 0, 1, 1, 0, 0, 0, R | W, R | W, 1},
     TRK_VERDICT_PROTECTION_LOOSE},
};

Test(rules, pages)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct breach breach = rules_page(&pages[i].view);
        cr_expect_eq(breach.kind, pages[i].kind, "%s: %s", pages[i].name, breach.detail);
        cr_expect_eq(breach.detail[0] == '\0', breach.kind == TRK_VERDICT_OK);
    }
}

struct after_case {
    const char *name;
    struct asked asked;
    bool cpu, clean, gpu; /* allowed afterwards */
};

static const struct after_case afters[] = {
    {"is_cpu", {TRK_OP_IS_CPU, 0, 0}, true, true, true},
    {"mark_cpu", {TRK_OP_MARK_CPU, 0, 0}, true, false, false},
    {"untrack", {TRK_OP_UNTRACK, 0, 0}, true, false, false},
    {"invalidate", {TRK_OP_INVALIDATE, TRK_OP_FLAG_FLUSH, 0}, true, false, false},
    {"store fault", {TRK_OP_FAULT, 0, TRK_ACCESS_WRITE}, true, false, false},
    {"load fault", {TRK_OP_FAULT, 0, TRK_ACCESS_READ}, true, true, false},
    {"mark_gpu", {TRK_OP_MARK_GPU, 0, 0}, false, false, true},
    {"written upload", {TRK_OP_UPLOAD, TRK_OP_FLAG_WRITTEN, 0}, false, false, true},
    {"upload", {TRK_OP_UPLOAD, 0, 0}, false, true, true},
    {"unmark_gpu", {TRK_OP_UNMARK_GPU, 0, 0}, true, true, false},
    {"drain", {TRK_OP_DRAIN, 0, 0}, true, true, false},
    {"download", {TRK_OP_DOWNLOAD, 0, 0}, true, true, true},
    {"clearing download", {TRK_OP_DOWNLOAD, TRK_OP_FLAG_CLEAR, 0}, true, true, false},
    {"watch", {TRK_OP_WATCH, 0, 0}, true, true, true},
};

Test(rules, after)
{
    for (size_t i = 0; i < sizeof afters / sizeof *afters; i++) {
        const struct after_case *one = &afters[i];
        const bool allowed[] = {one->cpu, one->clean, one->gpu};
        for (size_t state = 0; state < 3; state++) {
            struct trk_page_view view = pages[state].view;
            struct breach breach = rules_after(&one->asked, &view);
            cr_expect_eq(breach.kind == TRK_VERDICT_OK, allowed[state], "%s, page %s", one->name,
                         pages[state].name);
        }
    }
}

Test(rules, watches)
{
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(rules_watches(&pages[i].view), rules_watches_explained(&pages[i].view));
    cr_expect_eq(rules_watches(&pages[3].view) - rules_watches_explained(&pages[3].view), 3);
    cr_expect_eq(rules_watches(&pages[4].view) - rules_watches_explained(&pages[4].view), 1);
}
