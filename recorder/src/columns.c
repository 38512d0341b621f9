#include "columns.h"

#include <stdlib.h>

#include "bytes.h"
#include "columns_model.h"
#include "recorder/writer.h"

/* The column of others holds whole events: eight numbers of at most 33 bytes together. */
#define OTHER_EVENT_MAX 33u
/* Column id, encoding and length. */
#define COLUMN_HEAD_MAX (2u + TRK_BYTES_LEB_MAX)

/* Of the table of domains; grows with the chunks. */
#define SLOTS_MIN 64u

/* The room that a column needs for so many events. */
static size_t column_max(unsigned id, size_t events)
{
    return events * (id == TRK_COLUMN_OTHER ? OTHER_EVENT_MAX : TRK_BYTES_LEB_MAX);
}

const uint8_t trk_columns_encoding[TRK_COLUMN_COUNT] = {
    [TRK_COLUMN_TYPE] = TRK_ENCODING_BYTES,     [TRK_COLUMN_TIME] = TRK_ENCODING_ZIGZAG,
    [TRK_COLUMN_DOMAIN] = TRK_ENCODING_ZIGZAG,  [TRK_COLUMN_SEQ] = TRK_ENCODING_ZIGZAG,
    [TRK_COLUMN_PAGE] = TRK_ENCODING_ZIGZAG,    [TRK_COLUMN_PAGES] = TRK_ENCODING_LEB,
    [TRK_COLUMN_FLAGS] = TRK_ENCODING_BYTES,    [TRK_COLUMN_CONTEXT] = TRK_ENCODING_LEB,
    [TRK_COLUMN_ADDRESS] = TRK_ENCODING_ZIGZAG, [TRK_COLUMN_SIZE] = TRK_ENCODING_ZIGZAG,
    [TRK_COLUMN_STAMP] = TRK_ENCODING_ZIGZAG,   [TRK_COLUMN_NUMBER] = TRK_ENCODING_ZIGZAG,
    [TRK_COLUMN_ID] = TRK_ENCODING_LEB,         [TRK_COLUMN_OTHER] = TRK_ENCODING_LEB,
    [TRK_COLUMN_HASH] = TRK_ENCODING_LEB,
};

enum trk_status trk_columns_create_decoder(struct trk_columns **out)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? TRK_OK : TRK_E_MEMORY;
}

enum trk_status trk_columns_create_encoder(struct trk_columns **out, size_t events)
{
    *out = NULL;
    struct trk_columns *columns;
    enum trk_status status = trk_columns_create_decoder(&columns);
    if (status != TRK_OK) {
        return status;
    }
    size_t total = 0;
    for (unsigned id = 1; id < TRK_COLUMN_COUNT; id++) {
        columns->column[id] = malloc(column_max(id, events));
        if (columns->column[id] == NULL) {
            trk_columns_destroy(columns);
            return TRK_E_MEMORY;
        }
        total += column_max(id, events) + COLUMN_HEAD_MAX;
    }
    columns->events_max = events;
    columns->payload = malloc(total);
    if (columns->payload == NULL || trk_columns_reset(columns, events, 0) != TRK_OK) {
        trk_columns_destroy(columns);
        return TRK_E_MEMORY;
    }
    *out = columns;
    return TRK_OK;
}

void trk_columns_destroy(struct trk_columns *columns)
{
    if (columns == NULL) {
        return;
    }
    for (unsigned id = 1; id < TRK_COLUMN_COUNT; id++) {
        free(columns->column[id]);
    }
    free(columns->payload);
    free(columns->summary);
    free(columns->model.domains);
    free(columns->model.used);
    free(columns);
}

enum trk_status trk_columns_reset(struct trk_columns *columns, size_t events, uint64_t first_time)
{
    struct trk_columns_model *model = &columns->model;
    /* At most half full, however many domains the chunk names. */
    size_t slots = SLOTS_MIN;
    while (slots < 2 * events) {
        slots *= 2;
    }
    struct trk_columns_domain *domains = model->domains;
    uint32_t *used = model->used;
    uint32_t chunk = model->chunk + 1;
    uint32_t mask = model->domain_mask;
    if (domains == NULL || used == NULL || slots > (size_t)mask + 1) {
        free(domains);
        free(used);
        domains = calloc(slots, sizeof *domains);
        used = malloc(slots * sizeof *used);
        mask = (uint32_t)(slots - 1);
        chunk = 1;
    } else if (chunk == 0) { /* after 2^32 chunks the old marks would count again */
        memset(domains, 0, ((size_t)mask + 1) * sizeof *domains);
        chunk = 1;
    }
    memset(model, 0, sizeof *model);
    model->domains = domains;
    model->used = used;
    model->domain_mask = domains != NULL ? mask : 0;
    model->chunk = chunk;
    model->time = first_time;
    return domains != NULL && used != NULL ? TRK_OK : TRK_E_MEMORY;
}
