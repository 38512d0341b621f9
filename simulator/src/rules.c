/*
 * The model's rules for a page.
 */
#include "rules.h"

static struct breach breach(enum trk_verdict_kind kind, const char *detail)
{
    return (struct breach){kind, detail};
}

static struct breach none(void)
{
    return breach(TRK_VERDICT_OK, "");
}

/* What the host may allow at most. */
static unsigned rights_allowed(const struct trk_page_view *view)
{
    unsigned allowed = view->guest_rights;
    if (view->gpu_dirty || view->read_watch)
        return TRK_RIGHTS_NONE;
    if (!view->cpu_dirty || view->write_watches > 0 || view->armed)
        allowed &= ~TRK_RIGHT_WRITE;
    return allowed;
}

struct breach rules_page(const struct trk_page_view *view)
{
    if (view->cpu_dirty && view->gpu_dirty)
        return breach(TRK_VERDICT_ILLEGAL_STATE, "owned by both sides");
    if (view->host_rights & ~rights_allowed(view))
        return breach(TRK_VERDICT_PROTECTION_LOOSE, "host allows more than the state");
    if (view->writable != view->cpu_dirty)
        return breach(TRK_VERDICT_ILLEGAL_STATE, "writable is not cpu_dirty");
    if (view->readable == view->gpu_dirty)
        return breach(TRK_VERDICT_ILLEGAL_STATE, "readable is gpu_dirty");
    if (view->write_watches < !view->cpu_dirty || view->read_watch < view->gpu_dirty)
        return breach(TRK_VERDICT_ILLEGAL_STATE, "watch missing");
    return none();
}

static struct breach require(bool holds, const char *detail)
{
    return holds ? none() : breach(TRK_VERDICT_ILLEGAL_STATE, detail);
}

struct breach rules_after(const struct asked *asked, const struct trk_page_view *view)
{
    bool to_cpu = asked->op == TRK_OP_MARK_CPU || asked->op == TRK_OP_UNTRACK ||
                  asked->op == TRK_OP_INVALIDATE ||
                  (asked->op == TRK_OP_FAULT && asked->access == TRK_ACCESS_WRITE);
    if (to_cpu) {
        if (view->gpu_dirty)
            return breach(TRK_VERDICT_ILLEGAL_STATE, "retained by the GPU");
        return require(view->cpu_dirty, "not handed to the CPU");
    }
    if (asked->op == TRK_OP_MARK_GPU ||
        (asked->op == TRK_OP_UPLOAD && (asked->flags & TRK_OP_FLAG_WRITTEN)))
        return require(view->gpu_dirty, "not handed to the GPU");
    if (asked->op == TRK_OP_UPLOAD)
        return require(!view->cpu_dirty, "left dirty by an upload");
    if (asked->op == TRK_OP_UNMARK_GPU || asked->op == TRK_OP_DRAIN || asked->op == TRK_OP_FAULT ||
        (asked->op == TRK_OP_DOWNLOAD && (asked->flags & TRK_OP_FLAG_CLEAR)))
        return require(!view->gpu_dirty, "left to the GPU by a download");
    return none();
}

unsigned rules_watches(const struct trk_page_view *view)
{
    return view->write_watches + (unsigned)view->read_watch;
}

unsigned rules_watches_explained(const struct trk_page_view *view)
{
    unsigned writes = !view->cpu_dirty && view->write_watches > 0;
    return writes + (view->gpu_dirty && view->read_watch);
}
