/*
 * Coroutines: stacks of their own on one host thread.
 *
 * A coroutine runs only between coroutine_resume and its own coroutine_yield; one that is not
 * wanted any more is destroyed where it stands, and nothing on its stack is cleaned up. Its body
 * must therefore own no memory that only its stack knows.
 */
#ifndef SIMULATOR_COROUTINE_H
#define SIMULATOR_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

#include "track/status.h"

struct coroutine;

typedef void coroutine_body(void *context);

/**
 * Create a coroutine; nothing runs yet.
 *
 * @return TRK_OK or TRK_E_MEMORY.
 *
 * Allocates: a mapping, with a guard page below the stack.
 */
TRK_MUST_USE enum trk_status coroutine_create(struct coroutine **out, coroutine_body *body,
                                              void *context);

/* NULL is accepted. Not from inside it. */
void coroutine_destroy(struct coroutine *coroutine);

/* Run it until it yields or its body returns. Not when it is done; never one from inside another.
 */
void coroutine_resume(struct coroutine *coroutine);

/* From inside the body: go back to where coroutine_resume was called. */
void coroutine_yield(struct coroutine *coroutine);

/* Whether the body has returned. */
bool coroutine_done(const struct coroutine *coroutine);

/* ---- going back to a former state ------------------------------------------------------------ */

typedef void coroutine_piece_fn(void *context, void *memory, size_t size_bytes);

/*
 * Whether a stack that is put back goes on as it would have. Under sanitizers it does not: they
 * know more of a stack than what lies on it. Then a coroutine begins anew and is led there.
 */
bool coroutine_can_go_back(void);
/* Let it begin anew. Not from inside it. */
void coroutine_restart(struct coroutine *coroutine);
/* Visit all that it is while it does not run: its stack, as far as it is in use. */
void coroutine_pieces(struct coroutine *coroutine, coroutine_piece_fn *piece, void *context);
/*
 * Zero what former calls have left below the stack's end, as far as calls usually go: what a
 * function does not set is then the same whatever ran before.
 */
void coroutine_clean(struct coroutine *coroutine);
/* Copy memory that may lie on a stack, which sanitizers guard. */
void coroutine_copy(void *to, const void *from, size_t size_bytes);

#endif
