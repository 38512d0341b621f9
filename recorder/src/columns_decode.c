/* The decoder's half of columns.h. Everything it reads may be hostile. */
#include "bytes.h"
#include "columns_model.h"

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

struct decoder {
    struct trk_columns_model *model;
    const struct trk_schema_type *types;
    struct cursor column[TRK_COLUMN_COUNT];
    bool bad; /* a column ended early, or a number is out of its field's range */
};

/* A failed read gives 0 and marks the decoder, so that the chunk is refused at its end. */
static inline uint64_t get(struct decoder *decoder, enum trk_columns_id column)
{
    struct cursor *cursor = &decoder->column[column];
    uint64_t value = 0;
    const uint8_t *at = trk_bytes_get_leb(cursor->at, cursor->end, &value);
    if (TRK_UNLIKELY(at == NULL)) {
        decoder->bad = true;
        return 0;
    }
    cursor->at = at;
    return value;
}

static inline uint64_t get_limited(struct decoder *decoder, enum trk_columns_id column,
                                   uint64_t limit)
{
    uint64_t value = get(decoder, column);
    decoder->bad |= value > limit;
    return value;
}

static inline uint64_t get_difference(struct decoder *decoder, enum trk_columns_id column,
                                      uint64_t expected)
{
    return expected + (uint64_t)trk_bytes_unzigzag(get(decoder, column));
}

static inline uint32_t get_difference32(struct decoder *decoder, enum trk_columns_id column,
                                        uint32_t expected)
{
    return expected + (uint32_t)trk_bytes_unzigzag(get_limited(decoder, column, UINT32_MAX));
}

static inline uint8_t get_byte(struct decoder *decoder, enum trk_columns_id column)
{
    struct cursor *cursor = &decoder->column[column];
    if (TRK_UNLIKELY(cursor->at == cursor->end)) {
        decoder->bad = true;
        return 0;
    }
    return *cursor->at++;
}

static void get_other(struct decoder *decoder, struct trk_event *event)
{
    event->type = (uint8_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT8_MAX);
    event->flags = (uint8_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT8_MAX);
    event->context = (uint16_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT16_MAX);
    event->page = (uint16_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT16_MAX);
    event->pages = (uint16_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT16_MAX);
    event->domain = (uint32_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT32_MAX);
    event->seq = (uint32_t)get_limited(decoder, TRK_COLUMN_OTHER, UINT32_MAX);
    event->argument = get(decoder, TRK_COLUMN_OTHER);
}

static inline void get_argument(struct decoder *decoder, const struct trk_schema_type *type,
                                struct trk_event *event)
{
    struct trk_columns_model *model = decoder->model;
    if (type->argument == TRK_SCHEMA_ARGUMENT_ADDRESS) {
        event->argument = get_difference(decoder, TRK_COLUMN_ADDRESS, model->line[type->line]);
        trk_model_saw_address(model, type->line, event->argument);
    } else if (type->argument == TRK_SCHEMA_ARGUMENT_NUMBER) {
        event->argument = get_difference(decoder, TRK_COLUMN_NUMBER, model->number[event->type]);
        model->number[event->type] = event->argument;
    }
}

static inline void get_pair(struct decoder *decoder, const struct trk_schema_type *type,
                            struct trk_event *event)
{
    struct trk_columns_model *model = decoder->model;
    switch (type->pair) {
    case TRK_SCHEMA_PAIR_HOLD: {
        event->domain =
            get_difference32(decoder, TRK_COLUMN_DOMAIN, trk_model_domain(model, type->group));
        uint32_t known = model->used_count;
        struct trk_columns_domain *slot = trk_model_domain_slot(model, event->domain);
        event->seq = get_difference32(decoder, TRK_COLUMN_SEQ, slot->seq);
        trk_model_saw_domain(model, type->group, event->domain);
        trk_model_saw_hold(slot, model->used_count > known, event);
        break;
    }
    case TRK_SCHEMA_PAIR_SIZE:
        model->size = get_difference(decoder, TRK_COLUMN_SIZE, model->size);
        trk_event_set_size(event, model->size);
        break;
    case TRK_SCHEMA_PAIR_SIZE_STAMP:
        model->size = get_difference(decoder, TRK_COLUMN_SIZE, model->size);
        decoder->bad |= model->size > UINT32_MAX;
        event->seq = (uint32_t)model->size;
        model->stamp = get_difference32(decoder, TRK_COLUMN_STAMP, model->stamp);
        event->domain = model->stamp;
        break;
    case TRK_SCHEMA_PAIR_HASH:
        trk_event_set_size(event, get(decoder, TRK_COLUMN_HASH));
        break;
    case TRK_SCHEMA_PAIR_TIMELINE:
        model->timeline = get_difference32(decoder, TRK_COLUMN_DOMAIN, model->timeline);
        event->domain = model->timeline;
        break;
    default:
        break;
    }
}

static inline void get_span(struct decoder *decoder, const struct trk_schema_type *type,
                            struct trk_event *event)
{
    switch (type->span) {
    case TRK_SCHEMA_SPAN_PAGE:
    case TRK_SCHEMA_SPAN_RUN: {
        struct trk_columns_group *group = &decoder->model->group[type->group];
        uint64_t page = get_difference(decoder, TRK_COLUMN_PAGE, group->page);
        decoder->bad |= page > UINT16_MAX;
        group->page = (uint16_t)page;
        event->page = (uint16_t)page;
        if (type->span == TRK_SCHEMA_SPAN_RUN) {
            event->pages = (uint16_t)get_limited(decoder, TRK_COLUMN_PAGES, UINT16_MAX);
        }
        break;
    }
    case TRK_SCHEMA_SPAN_COUNT:
        event->pages = (uint16_t)get_limited(decoder, TRK_COLUMN_PAGES, UINT16_MAX);
        break;
    case TRK_SCHEMA_SPAN_ID:
        event->page = (uint16_t)get_limited(decoder, TRK_COLUMN_ID, UINT16_MAX);
        break;
    case TRK_SCHEMA_SPAN_ID_VALUE:
        event->page = (uint16_t)get_limited(decoder, TRK_COLUMN_ID, UINT16_MAX);
        event->pages = (uint16_t)get_limited(decoder, TRK_COLUMN_ID, UINT16_MAX);
        break;
    case TRK_SCHEMA_SPAN_NUMBER32:
        trk_event_set_number32(event, (uint32_t)get_limited(decoder, TRK_COLUMN_ID, UINT32_MAX));
        break;
    default:
        break;
    }
}

static inline void get_event(struct decoder *decoder, struct trk_event *event)
{
    uint8_t id = get_byte(decoder, TRK_COLUMN_TYPE);
    if (id == TRK_EVENT_NONE) {
        get_other(decoder, event);
        return;
    }
    const struct trk_schema_type *type = &decoder->types[id];
    decoder->bad |= !type->known;
    event->type = id;
    if (type->flags) {
        event->flags = get_byte(decoder, TRK_COLUMN_FLAGS);
    }
    if (type->context) {
        event->context = (uint16_t)get_limited(decoder, TRK_COLUMN_CONTEXT, UINT16_MAX);
    }
    get_argument(decoder, type, event);
    get_pair(decoder, type, event);
    get_span(decoder, type, event);
}

/* Find the columns: ids ascending, the encoding that belongs to the id, lengths inside. */
static bool split(struct decoder *decoder, const uint8_t *at, const uint8_t *end)
{
    unsigned last = 0;
    while (at < end) {
        if (end - at < 3) {
            return false;
        }
        unsigned id = at[0];
        if (id <= last || id >= TRK_COLUMN_COUNT || at[1] != trk_columns_encoding[id]) {
            return false;
        }
        uint64_t size_bytes;
        at = trk_bytes_get_leb(at + 2, end, &size_bytes);
        if (at == NULL || size_bytes > (uint64_t)(end - at)) {
            return false;
        }
        decoder->column[id] = (struct cursor){at, at + size_bytes};
        at += size_bytes;
        last = id;
    }
    return true;
}

enum trk_status trk_columns_decode(struct trk_columns *columns,
                                   const struct trk_columns_input *input, struct trk_record *out)
{
    struct decoder decoder = {
        .model = &columns->model,
        .types = input->types != NULL ? input->types : trk_schema_table,
    };
    if (!split(&decoder, input->bytes, input->bytes + input->size_bytes)) {
        return TRK_E_DAMAGED;
    }
    enum trk_status status =
        trk_columns_reset(columns, input->count, input->first_tsc >> input->clock_shift);
    if (status != TRK_OK) {
        return status;
    }
    for (size_t i = 0; i < input->count && !decoder.bad; i++) {
        columns->model.time = get_difference(&decoder, TRK_COLUMN_TIME, columns->model.time);
        out[i] = (struct trk_record){.tsc = columns->model.time << input->clock_shift};
        get_event(&decoder, &out[i].event);
    }
    /* Bytes left over are as wrong as bytes missing. */
    for (unsigned id = 1; id < TRK_COLUMN_COUNT; id++) {
        decoder.bad |= decoder.column[id].at != decoder.column[id].end;
    }
    return decoder.bad ? TRK_E_DAMAGED : TRK_OK;
}
