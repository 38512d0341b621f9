#include "flight_state.h"

#include <stdlib.h>

struct trk_flight_state *trk_flight_state_use(struct trk_flight_state *state)
{
    if (state != NULL)
        atomic_fetch_add_explicit(&state->users, 1, memory_order_relaxed);
    return state;
}

void trk_flight_state_release(struct trk_flight_state *state)
{
    if (state == NULL || atomic_fetch_sub_explicit(&state->users, 1, memory_order_acq_rel) != 1)
        return;
    free(state->snapshot);
    free(state->ordinals);
    free(state->prologue);
    free(state);
}

uint64_t trk_flight_state_before(const struct trk_flight_state *state, size_t stream)
{
    return state != NULL && stream < state->stream_count ? state->ordinals[stream] : 0;
}

uint64_t trk_flight_state_prologue(const struct trk_flight_state *state, size_t stream)
{
    uint64_t count = 0;
    for (size_t i = 0; state != NULL && i < state->prologue_count; ++i)
        count += state->prologue[i].stream == stream;
    return count;
}
