/*
 * What encoder and decoder expect of the next event, from those before it in the chunk.
 *
 * Both run the same model over the same events, so that only the difference to the expectation
 * has to be written. It is reset for each chunk. Rules: [F-22] to [F-25].
 */
#ifndef RECORDER_COLUMNS_MODEL_H
#define RECORDER_COLUMNS_MODEL_H

#include <stdint.h>
#include <string.h>

#include "columns.h"
#include "schema.h"

/* A domain seen in this chunk, and the hold that its next event is expected to be in. */
struct trk_columns_domain {
    uint32_t domain;
    uint32_t chunk; /* the slot is empty unless this is the model's chunk */
    uint32_t seq;
    /* For the summary [F-34]. */
    uint32_t first; /* hold of the first event */
    uint32_t ended; /* newest hold that ended */
    uint32_t ends;  /* holds that ended */
};

struct trk_columns_group {
    uint32_t domain;  /* last one seen */
    uint32_t page;    /* expected next */
    uint64_t address; /* the latest address when that domain was seen */
};

struct trk_columns_model {
    struct trk_columns_domain *domains; /* open addressing */
    uint32_t domain_mask;               /* number of slots less one */
    uint32_t *used;                     /* slots that are not empty, in order of appearance */
    uint32_t used_count;
    uint32_t chunk;
    uint64_t time;
    uint64_t address; /* latest, of any line */
    uint64_t line[TRK_SCHEMA_LINES];
    uint64_t number[256]; /* last argument by type */
    uint64_t size;
    uint32_t stamp;
    uint32_t timeline;
    struct trk_columns_group group[TRK_SCHEMA_GROUP_COUNT];
};

struct trk_columns {
    struct trk_columns_model model;
    uint8_t *column[TRK_COLUMN_COUNT]; /* encoder: room for a full chunk each */
    size_t events_max;                 /* encoder: that there is room for */
    uint8_t *payload;
    uint8_t *summary; /* of the newest chunk that was encoded or decoded */
    size_t summary_room;
};

/* Pages and regions as the predictions cut addresses; a wrong guess costs bytes, nothing else. */
#define TRK_MODEL_PAGE_SHIFT   12
#define TRK_MODEL_REGION_SHIFT 22
#define TRK_MODEL_REGION_PAGES 1024u

/* The one encoding that each column has in this version [F-19]. columns.c. */
extern const uint8_t trk_columns_encoding[TRK_COLUMN_COUNT];

/* Make room for a chunk of that many events and forget the last chunk. columns.c. */
TRK_MUST_USE enum trk_status trk_columns_reset(struct trk_columns *columns, size_t events,
                                               uint64_t first_time);

/* A domain's slot; a domain not seen yet expects hold 1. */
static inline struct trk_columns_domain *trk_model_domain_slot(struct trk_columns_model *model,
                                                               uint32_t domain)
{
    uint32_t at = (domain * 0x9E3779B1u) >> 7 & model->domain_mask;
    struct trk_columns_domain *slot = &model->domains[at];
    while (slot->chunk == model->chunk && slot->domain != domain) {
        at = (at + 1) & model->domain_mask;
        slot = &model->domains[at];
    }
    if (slot->chunk != model->chunk) {
        *slot = (struct trk_columns_domain){.domain = domain, .chunk = model->chunk, .seq = 1};
        model->used[model->used_count++] = at;
    }
    return slot;
}

/* The domain moves by as many regions as the latest address did. */
static inline uint32_t trk_model_domain(const struct trk_columns_model *model, unsigned group)
{
    const struct trk_columns_group *last = &model->group[group];
    return last->domain + (uint32_t)(model->address >> TRK_MODEL_REGION_SHIFT) -
           (uint32_t)(last->address >> TRK_MODEL_REGION_SHIFT);
}

static inline void trk_model_saw_domain(struct trk_columns_model *model, unsigned group,
                                        uint32_t domain)
{
    model->group[group].domain = domain;
    model->group[group].address = model->address;
}

/* Holds go on until the event that ends them; the next event is then expected in the next. */
static inline void trk_model_saw_hold(struct trk_columns_domain *slot, bool is_new,
                                      const struct trk_event *event)
{
    slot->first = is_new ? event->seq : slot->first;
    slot->seq = event->seq;
    if (trk_event_ends_hold(event)) {
        slot->seq++;
        slot->ended = event->seq;
        slot->ends++;
    }
}

/* An operation or fault names its first page by its address. */
static inline void trk_model_saw_address(struct trk_columns_model *model, unsigned line,
                                         uint64_t address)
{
    uint32_t page = (uint32_t)(address >> TRK_MODEL_PAGE_SHIFT) % TRK_MODEL_REGION_PAGES;
    model->line[line] = address;
    model->address = address;
    model->group[TRK_SCHEMA_GROUP_REGION].page = page;
    model->group[TRK_SCHEMA_GROUP_PAGES].page = page;
}

#endif
