/* The encoder's half of columns.h. */
#include <assert.h>

#include "bytes.h"
#include "columns_model.h"

struct encoder {
    struct trk_columns_model *model;
    uint8_t *at[TRK_COLUMN_COUNT]; /* end of each column so far */
};

static inline void put(struct encoder *encoder, enum trk_columns_id column, uint64_t value)
{
    encoder->at[column] = trk_bytes_put_leb(encoder->at[column], value);
}

static inline void put_difference(struct encoder *encoder, enum trk_columns_id column,
                                  uint64_t value, uint64_t expected)
{
    put(encoder, column, trk_bytes_zigzag((int64_t)(value - expected)));
}

static inline void put_byte(struct encoder *encoder, enum trk_columns_id column, uint8_t value)
{
    *encoder->at[column]++ = value;
}

/* [F-25] Differences of 32-bit numbers wrap in 32 bits. */
static inline void put_difference32(struct encoder *encoder, enum trk_columns_id column,
                                    uint32_t value, uint32_t expected)
{
    put(encoder, column, trk_bytes_zigzag((int32_t)(value - expected)));
}

static void put_other(struct encoder *encoder, const struct trk_event *event)
{
    put_byte(encoder, TRK_COLUMN_TYPE, TRK_EVENT_NONE);
    put(encoder, TRK_COLUMN_OTHER, event->type);
    put(encoder, TRK_COLUMN_OTHER, event->flags);
    put(encoder, TRK_COLUMN_OTHER, event->context);
    put(encoder, TRK_COLUMN_OTHER, event->page);
    put(encoder, TRK_COLUMN_OTHER, event->pages);
    put(encoder, TRK_COLUMN_OTHER, event->domain);
    put(encoder, TRK_COLUMN_OTHER, event->seq);
    put(encoder, TRK_COLUMN_OTHER, event->argument);
}

static inline void put_argument(struct encoder *encoder, const struct trk_schema_type *type,
                                const struct trk_event *event)
{
    struct trk_columns_model *model = encoder->model;
    if (type->argument == TRK_SCHEMA_ARGUMENT_ADDRESS) {
        put_difference(encoder, TRK_COLUMN_ADDRESS, event->argument, model->line[type->line]);
        trk_model_saw_address(model, type->line, event->argument);
    } else if (type->argument == TRK_SCHEMA_ARGUMENT_NUMBER) {
        put_difference(encoder, TRK_COLUMN_NUMBER, event->argument, model->number[event->type]);
        model->number[event->type] = event->argument;
    }
}

static inline void put_pair(struct encoder *encoder, const struct trk_schema_type *type,
                            const struct trk_event *event)
{
    struct trk_columns_model *model = encoder->model;
    switch (type->pair) {
    case TRK_SCHEMA_PAIR_HOLD: {
        uint32_t known = model->used_count;
        struct trk_columns_domain *slot = trk_model_domain_slot(model, event->domain);
        put_difference32(encoder, TRK_COLUMN_DOMAIN, event->domain,
                         trk_model_domain(model, type->group));
        put_difference32(encoder, TRK_COLUMN_SEQ, event->seq, slot->seq);
        trk_model_saw_domain(model, type->group, event->domain);
        trk_model_saw_hold(slot, model->used_count > known, event);
        break;
    }
    case TRK_SCHEMA_PAIR_SIZE:
        put_difference(encoder, TRK_COLUMN_SIZE, trk_event_size(event), model->size);
        model->size = trk_event_size(event);
        break;
    case TRK_SCHEMA_PAIR_SIZE_STAMP:
        put_difference(encoder, TRK_COLUMN_SIZE, event->seq, model->size);
        model->size = event->seq;
        put_difference32(encoder, TRK_COLUMN_STAMP, event->domain, model->stamp);
        model->stamp = event->domain;
        break;
    case TRK_SCHEMA_PAIR_HASH:
        put(encoder, TRK_COLUMN_HASH, trk_event_size(event));
        break;
    case TRK_SCHEMA_PAIR_TIMELINE:
        put_difference32(encoder, TRK_COLUMN_DOMAIN, event->domain, model->timeline);
        model->timeline = event->domain;
        break;
    default:
        break;
    }
}

static inline void put_span(struct encoder *encoder, const struct trk_schema_type *type,
                            const struct trk_event *event)
{
    switch (type->span) {
    case TRK_SCHEMA_SPAN_PAGE:
    case TRK_SCHEMA_SPAN_RUN: {
        struct trk_columns_group *group = &encoder->model->group[type->group];
        put_difference(encoder, TRK_COLUMN_PAGE, event->page, group->page);
        group->page = event->page;
        if (type->span == TRK_SCHEMA_SPAN_RUN) {
            put(encoder, TRK_COLUMN_PAGES, event->pages);
        }
        break;
    }
    case TRK_SCHEMA_SPAN_COUNT:
        put(encoder, TRK_COLUMN_PAGES, event->pages);
        break;
    case TRK_SCHEMA_SPAN_ID:
        put(encoder, TRK_COLUMN_ID, event->page);
        break;
    case TRK_SCHEMA_SPAN_ID_VALUE:
        put(encoder, TRK_COLUMN_ID, event->page);
        put(encoder, TRK_COLUMN_ID, event->pages);
        break;
    case TRK_SCHEMA_SPAN_NUMBER32:
        put(encoder, TRK_COLUMN_ID, trk_event_number32(event));
        break;
    default:
        break;
    }
}

static inline void put_event(struct encoder *encoder, const struct trk_event *event)
{
    const struct trk_schema_type *type = &trk_schema_table[event->type];
    if (!trk_schema_fits(event)) {
        put_other(encoder, event);
        return;
    }
    put_byte(encoder, TRK_COLUMN_TYPE, event->type);
    if (type->flags) {
        put_byte(encoder, TRK_COLUMN_FLAGS, event->flags);
    }
    if (type->context) {
        put(encoder, TRK_COLUMN_CONTEXT, event->context);
    }
    put_argument(encoder, type, event);
    put_pair(encoder, type, event);
    put_span(encoder, type, event);
}

size_t trk_columns_encode(struct trk_columns *columns, const struct trk_record *records,
                          size_t count, unsigned clock_shift, const uint8_t **payload)
{
    assert(count > 0 && count <= columns->events_max);
    struct encoder encoder = {.model = &columns->model};
    for (unsigned id = 1; id < TRK_COLUMN_COUNT; id++) {
        encoder.at[id] = columns->column[id];
    }
    enum trk_status status = trk_columns_reset(columns, count, records[0].tsc >> clock_shift);
    assert(status == TRK_OK); /* the table was made for a full chunk */
    (void)status;
    for (size_t i = 0; i < count; i++) {
        uint64_t time = records[i].tsc >> clock_shift;
        put_difference(&encoder, TRK_COLUMN_TIME, time, columns->model.time);
        columns->model.time = time;
        put_event(&encoder, &records[i].event);
    }
    uint8_t *at = columns->payload;
    for (unsigned id = 1; id < TRK_COLUMN_COUNT; id++) {
        size_t size_bytes = (size_t)(encoder.at[id] - columns->column[id]);
        if (size_bytes == 0) {
            continue;
        }
        at = trk_bytes_put8(at, (uint8_t)id);
        at = trk_bytes_put8(at, trk_columns_encoding[id]);
        at = trk_bytes_put_leb(at, size_bytes);
        memcpy(at, columns->column[id], size_bytes);
        at += size_bytes;
    }
    *payload = columns->payload;
    return (size_t)(at - columns->payload);
}
