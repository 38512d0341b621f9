#include "core_apart.h"

#include <stdbool.h>
#include <stddef.h>

#include "coroutine.h"

static struct coroutine *stack; /* kept for the next call */
static struct {
    core_apart_fn *call; /* NULL: none is under way */
    void *context;
} now;

static void body(void *context)
{
    (void)context;
    now.call(now.context);
}

enum trk_status core_apart(core_apart_fn *call, void *context)
{
    if (stack == NULL && coroutine_create(&stack, body, NULL) != TRK_OK)
        return TRK_E_MEMORY;
    now.call = call;
    now.context = context;
    coroutine_restart(stack);
    coroutine_resume(stack);
    now.call = NULL;
    return coroutine_done(stack) ? TRK_OK : TRK_E_LOCK;
}

void core_apart_leave(void)
{
    while (now.call != NULL)
        coroutine_yield(stack);
}
