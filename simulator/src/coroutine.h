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

#endif
