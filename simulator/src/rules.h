/*
 * The model's rules for a page, each a plain function of what is known of it.
 *
 * Rules: [M-8] [M-33] [M-38]; scenario-format, Verdicts.
 */
#ifndef SIMULATOR_RULES_H
#define SIMULATOR_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/sim.h"
#include "track/event.h"
#include "track/pages.h"

/* A rule that a page breaks; kind OK when it breaks none. */
struct breach {
    enum trk_verdict_kind kind;
    const char *detail; /* a constant */
};

/* Whether a page is in one of the three states, and its host protection follows from it. */
struct breach rules_page(const struct trk_page_view *view);

/* What the operation was asked for, as far as it decides what must be true after it. */
struct asked {
    enum trk_op op;
    unsigned flags;         /* TRK_OP_FLAG_* */
    enum trk_access access; /* fault */
};

/* Whether a page is in a state that the operation leaves, in the hold in which it changed pages. */
struct breach rules_after(const struct asked *asked, const struct trk_page_view *view);

/* How many watches the page's own state explains, of those it has. */
unsigned rules_watches_explained(const struct trk_page_view *view);
unsigned rules_watches(const struct trk_page_view *view);

#endif
