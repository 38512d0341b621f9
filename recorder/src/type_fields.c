/*
 * What events say whose types a file describes, by that description [F-36].
 */
#include "type_fields.h"

#include "reader.h"
#include "track/address.h"

static const struct trk_schema_type *shape_of(const struct trk_trace *trace,
                                              const struct trk_event *event)
{
    return &trace->types[event->type];
}

bool trk_trace_event_range(const struct trk_trace *trace, const struct trk_event *event,
                           uint64_t *size_bytes)
{
    const struct trk_schema_type *type = shape_of(trace, event);
    bool any = type->argument == TRK_SCHEMA_ARGUMENT_ADDRESS;
    *size_bytes = any ? trk_schema_size(type, event) : 0;
    return any;
}

bool trk_trace_event_in_hold(const struct trk_trace *trace, const struct trk_event *event)
{
    const struct trk_schema_type *type = shape_of(trace, event);
    bool known = trk_schema_table[event->type].known;
    return known ? trk_event_in_hold(event)
                 : type->pair == TRK_SCHEMA_PAIR_HOLD && event->domain >> 28 != 0;
}

bool trk_trace_event_fits(const struct trk_trace *trace, const struct trk_event *event)
{
    return trk_schema_fits_type(shape_of(trace, event), event);
}

static size_t add(struct trk_event_field *out, size_t count, enum trk_event_field_kind kind,
                  enum trk_event_key id, uint64_t number)
{
    out[count] = (struct trk_event_field){
        .id = id, .key = trk_event_key_name(id), .kind = kind, .number = number};
    return count + 1;
}

static size_t add_pair(const struct trk_schema_type *type, const struct trk_event *event,
                       struct trk_event_field *out, size_t count)
{
    enum trk_domain_class class = trk_domain_class(event->domain);
    switch (type->pair) {
    case TRK_SCHEMA_PAIR_HOLD:
        if ((class == TRK_DOMAIN_REGION || class == TRK_DOMAIN_PAGES) &&
            trk_domain_region(event->domain) < TRK_REGION_COUNT) {
            count = add(out, count, TRK_FIELD_ADDRESS, TRK_KEY_REGION,
                        trk_region_address(trk_domain_region(event->domain)));
        } else {
            count = add(out, count, TRK_FIELD_ADDRESS, TRK_KEY_DOMAIN, event->domain);
        }
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_HOLD, event->seq);
    case TRK_SCHEMA_PAIR_SIZE:
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_SIZE, trk_event_size(event));
    case TRK_SCHEMA_PAIR_SIZE_STAMP:
        count = add(out, count, TRK_FIELD_NUMBER, TRK_KEY_SIZE, event->seq);
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_STAMP, event->domain);
    case TRK_SCHEMA_PAIR_TIMELINE:
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_TIMELINE, event->domain);
    case TRK_SCHEMA_PAIR_HASH:
        return add(out, count, TRK_FIELD_ADDRESS, TRK_KEY_HASH, trk_event_size(event));
    default:
        return count;
    }
}

static size_t add_span(const struct trk_schema_type *type, const struct trk_event *event,
                       struct trk_event_field *out, size_t count)
{
    switch (type->span) {
    case TRK_SCHEMA_SPAN_PAGE:
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_PAGE, event->page);
    case TRK_SCHEMA_SPAN_RUN:
        count = add(out, count, TRK_FIELD_NUMBER, TRK_KEY_PAGE, event->page);
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_COUNT, event->pages);
    case TRK_SCHEMA_SPAN_COUNT:
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_COUNT, event->pages);
    case TRK_SCHEMA_SPAN_ID:
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_ID, event->page);
    case TRK_SCHEMA_SPAN_ID_VALUE:
        count = add(out, count, TRK_FIELD_NUMBER, TRK_KEY_ID, event->page);
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_VALUE, event->pages);
    case TRK_SCHEMA_SPAN_NUMBER32:
        return add(out, count, TRK_FIELD_NUMBER, TRK_KEY_NUMBER32, trk_event_number32(event));
    default:
        return count;
    }
}

size_t trk_schema_event_fields(const struct trk_schema_type *type, const struct trk_event *event,
                               struct trk_event_field out[TRK_EVENT_FIELDS_MOST])
{
    size_t count = 0;
    if (trk_schema_table[event->type].known || !trk_schema_fits_type(type, event)) {
        return trk_event_text_fields(event, out);
    }
    if (type->argument == TRK_SCHEMA_ARGUMENT_ADDRESS) {
        count = add(out, count, TRK_FIELD_ADDRESS, TRK_KEY_GUEST_ADDR, event->argument);
    } else if (type->argument == TRK_SCHEMA_ARGUMENT_NUMBER) {
        count = add(out, count, TRK_FIELD_NUMBER, TRK_KEY_NUMBER, event->argument);
    }
    count = add_pair(type, event, out, count);
    count = add_span(type, event, out, count);
    if (type->flags) {
        count = add(out, count, TRK_FIELD_ADDRESS, TRK_KEY_FLAGS, event->flags);
    }
    return type->context ? add(out, count, TRK_FIELD_NUMBER, TRK_KEY_CONTEXT, event->context)
                         : count;
}

size_t trk_trace_event_fields(const struct trk_trace *trace, const struct trk_event *event,
                              struct trk_event_field out[TRK_EVENT_FIELDS_MOST])
{
    return trk_schema_event_fields(shape_of(trace, event), event, out);
}
