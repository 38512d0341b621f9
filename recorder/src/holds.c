#include "holds.h"

#include <stdlib.h>

void trk_holds_deinit(struct trk_holds *holds)
{
    free(holds->slots);
    *holds = (struct trk_holds){.slots = NULL};
}

static struct trk_holds_domain *place(struct trk_holds_domain *slots, size_t count, uint32_t domain)
{
    size_t at = (size_t)(domain * UINT32_C(2654435761) >> 8) & (count - 1);
    while (slots[at].domain != 0 && slots[at].domain != domain) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

static enum trk_status grow(struct trk_holds *holds)
{
    size_t count = holds->slot_count == 0 ? 64 : 2 * holds->slot_count;
    struct trk_holds_domain *slots = calloc(count, sizeof *slots);
    if (slots == NULL) {
        return TRK_E_MEMORY;
    }
    for (size_t i = 0; i < holds->slot_count; i++) {
        if (holds->slots[i].domain != 0) {
            *place(slots, count, holds->slots[i].domain) = holds->slots[i];
        }
    }
    free(holds->slots);
    holds->slots = slots;
    holds->slot_count = count;
    return TRK_OK;
}

enum trk_status trk_holds_add(struct trk_holds *holds, const struct trk_summary_domain *domain)
{
    if (domain->domain >> 28 == 0) { /* of a fault over no region: it is in no hold */
        return TRK_OK;
    }
    if (2 * (holds->count + 1) > holds->slot_count && grow(holds) != TRK_OK) {
        return TRK_E_MEMORY;
    }
    struct trk_holds_domain *slot = place(holds->slots, holds->slot_count, domain->domain);
    if (slot->domain == 0) {
        holds->count++;
        *slot = (struct trk_holds_domain){domain->domain, domain->first, domain->ended, 0};
    }
    /* Numbers wrap: what is before what is seen from their difference. */
    if ((int32_t)(domain->first - slot->first) < 0) {
        slot->first = domain->first;
    }
    if (domain->ends > 0 && (slot->ends == 0 || (int32_t)(domain->ended - slot->ended) > 0)) {
        slot->ended = domain->ended;
    }
    slot->ends += domain->ends;
    return TRK_OK;
}

uint64_t trk_holds_missing(const struct trk_holds_domain *slot)
{
    if (slot->ends == 0) {
        return 0;
    }
    uint32_t span = slot->ended - slot->first + 1;
    return slot->ends < span ? span - slot->ends : 0;
}
