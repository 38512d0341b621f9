#include "event_fields.h"

#include "track/address.h"
#include "track/policy.h"
#include "track/status.h"

/* The text in a LABEL's fields. */
static void add_label(struct fields *fields, const char *key, const struct trk_event *event)
{
    assert(fields->count < TRK_EVENT_FIELDS_MOST);
    struct trk_event_field *field = &fields->at[fields->count++];
    *field = (struct trk_event_field){.key = key, .kind = TRK_FIELD_TEXT};
    const uint64_t words[] = {event->argument, trk_event_size(event), trk_event_number32(event)};
    for (size_t i = 0; i < TRK_LABEL_PIECE_BYTES; i++) {
        field->text[i] = (char)(unsigned char)(words[i / 8] >> i % 8 * 8);
    }
}

static const char *const access_words[] = {"read", "write", "execute"};
static const char *const look_words[] = {"closed", "permitted", "forbidden", "unknown"};
static const char *const callback_words[] = {NULL, "completion", "flush", "read-back", "write"};
static const char *const fault_words[] = {"unhandled", "served", "retry"};
static const char *const copy_words[] = {"up", "down"};
static const char *const agent_words[] = {"cpu", "gpu", "hle", "kernel", "foreign"};
static const char *const moment_words[] = {"armed", "copied"};
static const char *const request_words[] = {"done", "ignored", "failed"};
static const char *const rights_words[] = {"---", "r--", "-w-", "rw-", "--x", "r-x", "-wx", "rwx"};
static const char *const class_words[] = {NULL,    "region",        "generations",
                                          "pages", "address-space", "owner"};
static const char *const origin_words[] = {NULL,  "fault",   "hle",    "kernel",
                                           "gpu", "mapping", "foreign"};
static const char *const lock_words[] = {"tracker", "region", "word", "page"};
static const char *const decision_words[] = {"not-ours",  "retry", "open",    "flush",
                                             "read-back", "skip",  "distrust"};
static const char *const change_words[] = {"created", "changed", "destroyed"};
static const char *const backend_words[] = {"simulated", "mprotect", "userfaultfd"};

static void add_rights(struct fields *fields, uint64_t rights)
{
    add_word(fields, "rights", WORD_OF(rights_words, rights));
}

static void add_range(struct fields *fields, uint64_t guest_addr, uint64_t size_bytes)
{
    add_address(fields, "guest_addr", guest_addr);
    add_number(fields, "size", size_bytes);
}

static void add_domain(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, "domain", WORD_OF(class_words, trk_domain_class(event->domain)));
    add_number(fields, "tracker", trk_domain_tracker(event->domain));
    if (trk_domain_class(event->domain) == TRK_DOMAIN_OWNER) {
        add_number(fields, "lock", trk_domain_region(event->domain));
    } else if (trk_domain_region(event->domain) == TRK_DOMAIN_SHARED) {
        add_word(fields, "region", "shared");
    } else {
        add_address(fields, "region", trk_region_address(trk_domain_region(event->domain)));
    }
    add_number(fields, "hold", event->seq);
}

static uint64_t page_address(const struct trk_event *event)
{
    bool shared = trk_domain_region(event->domain) == TRK_DOMAIN_SHARED;
    uint64_t region_addr =
        shared ? event->argument : trk_region_address(trk_domain_region(event->domain));
    return region_addr + event->page * TRK_HOST_PAGE_BYTES;
}

static void add_pages(struct fields *fields, const struct trk_event *event)
{
    add_address(fields, "guest_addr", page_address(event));
    add_number(fields, "pages", event->pages);
}

static void op_begin_fields(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, "op", trk_op_name(event->context));
    add_range(fields, event->argument, trk_event_size(event));
    add_number(fields, "tracker", event->page);
    if (event->context == TRK_OP_GUEST_PROTECT || event->context == TRK_OP_GEN_MAP) {
        add_rights(fields, event->pages);
    } else if (event->pages != TRK_ORIGIN_NOT_SAID) {
        add_word(fields, "origin", WORD_OF(origin_words, event->pages));
    }
    add_flag(fields, "written", event->flags & TRK_OP_FLAG_WRITTEN);
    add_flag(fields, "clear", event->flags & TRK_OP_FLAG_CLEAR);
    add_flag(fields, "read", event->flags & TRK_OP_FLAG_READ);
    add_flag(fields, "flush", event->flags & TRK_OP_FLAG_FLUSH);
    add_flag(fields, "read_back", event->flags & TRK_OP_FLAG_READ_BACK);
}

static void op_end_fields(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, "op", trk_op_name(event->context));
    add_word(fields, "status", trk_status_name((enum trk_status)event->flags));
    if (event->context == TRK_OP_FAULT) {
        add_word(fields, "outcome", WORD_OF(fault_words, event->argument));
    } else {
        add_number(fields, "result", event->argument);
    }
}

static void fault_fields(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, "access", WORD_OF(access_words, event->flags));
    add_address(fields, "guest_addr", event->argument);
    add_word(fields, "look", WORD_OF(look_words, event->context));
    if (trk_event_in_hold(event)) {
        add_domain(fields, event);
    } else {
        add_number(fields, "tracker", trk_domain_tracker(event->domain));
    }
}

static void policy_fields(struct fields *fields, uint64_t word)
{
    struct trk_policy policy;
    if (trk_policy_unpack(word, &policy) != TRK_OK) {
        add_address(fields, "policy", word);
        return;
    }
    add_word(fields, "invalidate", trk_invalidate_policy_name(policy.invalidate));
    add_word(fields, "download", trk_download_policy_name(policy.download));
    add_word(fields, "arena", trk_arena_name(policy.arena));
    add_number(fields, "fault_width", policy.fault_width_bytes);
    add_number(fields, "page_size", policy.page_size_bytes);
    add_flag(fields, "generations", policy.generations);
}

static void tracker_fields(struct fields *fields, const struct trk_event *event)
{
    add_number(fields, "tracker", event->page);
    add_word(fields, "backend", WORD_OF(backend_words, event->context));
    policy_fields(fields, event->argument);
}

static void foreign_fields(struct fields *fields, const struct trk_event *event)
{
    add_number(fields, "tracker", event->page);
    add_word(fields, "backend", WORD_OF(backend_words, event->context));
    add_flag(fields, "notes_locks", event->flags & TRK_NOTES_LOCKS);
    add_flag(fields, "notes_protection", event->flags & TRK_NOTES_PROTECTION);
    add_flag(fields, "notes_handed", event->flags & TRK_NOTES_HANDED);
    add_flag(fields, "closes_loads", event->flags & TRK_NOTES_LOADS);
    if (event->argument != 0) {
        policy_fields(fields, event->argument);
    } else {
        add_word(fields, "policy", "none");
        add_number(fields, "page_size", trk_event_size(event));
    }
}

static void protect_fields(struct fields *fields, const struct trk_event *event)
{
    add_domain(fields, event);
    add_pages(fields, event);
    add_rights(fields, event->flags & 7u);
    add_flag(fields, "failed", event->flags & TRK_EVENT_FAILED);
    add_flag(fields, "hold_end", event->flags & TRK_EVENT_HOLD_END);
}

void trk_event_fields_raw(struct fields *fields, const struct trk_event *event)
{
    add_number(fields, "id", event->type);
    add_address(fields, "argument", event->argument);
    add_number(fields, "seq", event->seq);
    add_address(fields, "raw_domain", event->domain);
    add_number(fields, "page", event->page);
    add_number(fields, "pages", event->pages);
    add_number(fields, "flags", event->flags);
    add_number(fields, "context", event->context);
}

static void core_fields(struct fields *fields, const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
        op_begin_fields(fields, event);
        break;
    case TRK_EVENT_LOCK:
        add_domain(fields, event);
        break;
    case TRK_EVENT_UNLOCK:
    case TRK_EVENT_WATCH:
        add_domain(fields, event);
        add_number(fields, "changed", event->pages);
        break;
    case TRK_EVENT_RANGE:
        add_domain(fields, event);
        add_pages(fields, event);
        break;
    case TRK_EVENT_PROTECT:
        protect_fields(fields, event);
        break;
    case TRK_EVENT_CALLBACK:
        add_word(fields, "callback", WORD_OF(callback_words, event->context));
        break;
    case TRK_EVENT_OP_END:
        op_end_fields(fields, event);
        break;
    case TRK_EVENT_FAULT:
        fault_fields(fields, event);
        break;
    case TRK_EVENT_FAIL:
        add_word(fields, "class", trk_status_name((enum trk_status)event->context));
        add_word(fields, "op", trk_op_name(event->flags));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_MASK:
        add_number(fields, "word", event->page);
        add_address(fields, "bits", event->argument);
        break;
    case TRK_EVENT_STATE:
        add_domain(fields, event);
        add_address(fields, "hash", event->argument);
        break;
    case TRK_EVENT_OPERAND:
        add_address(fields, "operand", event->argument);
        break;
    default:
        trk_event_fields_raw(fields, event);
    }
}

static void map_fields(struct fields *fields, const struct trk_event *event)
{
    add_range(fields, event->argument, trk_event_size(event));
    add_number(fields, "frame", trk_event_number32(event));
    add_rights(fields, event->context);
    add_flag(fields, "alias", event->flags & TRK_MAP_ALIAS);
    add_flag(fields, "untracked", event->flags & TRK_MAP_UNTRACKED);
}

/* What only a foreign tracker and its owner say. */
static void owner_fields(struct fields *fields, const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_FOREIGN:
        foreign_fields(fields, event);
        break;
    case TRK_EVENT_LOCKS:
        add_number(fields, "tracker", event->page);
        add_word(fields, "each", WORD_OF(lock_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_HOST_PROTECT:
        add_number(fields, "tracker", event->page);
        add_range(fields, event->argument, trk_event_size(event));
        add_rights(fields, event->flags & 7u);
        add_flag(fields, "failed", event->flags & TRK_EVENT_FAILED);
        add_number(fields, "errno", event->context);
        if (event->flags & TRK_EVENT_HAS_FORMER)
            add_word(fields, "former",
                     WORD_OF(rights_words, event->flags >> TRK_EVENT_FORMER_SHIFT & 7u));
        break;
    case TRK_EVENT_HANDED:
        add_number(fields, "tracker", event->page);
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_DECISION:
        add_number(fields, "tracker", event->page);
        add_address(fields, "guest_addr", event->argument);
        add_word(fields, "decision", WORD_OF(decision_words, event->context));
        break;
    case TRK_EVENT_ACCESS:
        add_word(fields, "agent", WORD_OF(agent_words, event->flags));
        add_word(fields, "access", WORD_OF(access_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_OBJECT:
        add_number(fields, "object", event->page);
        add_word(fields, "change", WORD_OF(change_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_LABEL:
        add_number(fields, "object", event->context);
        add_number(fields, "piece", event->flags & ~TRK_LABEL_LAST);
        add_flag(fields, "last", event->flags & TRK_LABEL_LAST);
        add_label(fields, "text", event);
        break;
    default:
        trk_event_fields_detail(fields, event);
    }
}

static void gpu_fields(struct fields *fields, const struct trk_event *event)
{
    if (event->type == TRK_EVENT_IMAGE) {
        add_range(fields, event->argument, trk_event_size(event));
        add_number(fields, "width", event->page);
        add_number(fields, "height", event->pages);
        add_number(fields, "texel", event->flags);
        add_number(fields, "resource", event->context);
    } else {
        add_number(fields, "accesses", event->argument);
        add_number(fields, "tick", trk_event_number32(event));
        add_number(fields, "shader", event->context);
    }
}

static void annotation_fields(struct fields *fields, const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_TRACKER:
        tracker_fields(fields, event);
        break;
    case TRK_EVENT_COPY_BEGIN:
    case TRK_EVENT_COPY_END:
        add_word(fields, "direction", WORD_OF(copy_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        add_number(fields, "resource", event->page);
        break;
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
        add_range(fields, event->argument, event->seq);
        add_number(fields, "stamp", event->domain);
        add_number(fields, "tick", trk_event_number32(event));
        break;
    case TRK_EVENT_IMAGE:
    case TRK_EVENT_DISPATCH:
        gpu_fields(fields, event);
        break;
    case TRK_EVENT_GUEST_PROTECT:
        add_range(fields, event->argument, trk_event_size(event));
        add_rights(fields, event->context);
        break;
    case TRK_EVENT_MAP:
    case TRK_EVENT_UNMAP:
        map_fields(fields, event);
        break;
    case TRK_EVENT_INVALIDATE_REQUEST:
        add_range(fields, event->argument, trk_event_size(event));
        add_word(fields, "outcome", WORD_OF(request_words, event->context));
        break;
    case TRK_EVENT_PAGE:
        add_word(fields, "moment", WORD_OF(moment_words, event->flags));
        add_address(fields, "guest_addr", event->argument);
        add_address(fields, "hash", trk_event_size(event));
        break;
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
        add_word(fields, "agent", WORD_OF(agent_words, event->flags));
        add_range(fields, event->argument, event->seq);
        add_number(fields, "stamp", event->domain);
        break;
    case TRK_EVENT_SIGNAL:
    case TRK_EVENT_AWAIT:
        add_number(fields, "timeline", event->domain);
        add_number(fields, "value", event->argument);
        break;
    case TRK_EVENT_GPU_COMPLETE:
        add_number(fields, "tick", event->argument);
        break;
    case TRK_EVENT_DROP:
        add_number(fields, "number", event->argument);
        if (event->context != TRK_EVENT_NONE)
            add_word(fields, "of", trk_event_type_name((uint8_t)event->context));
        add_number(fields, "ticks", trk_event_size(event));
        break;
    case TRK_EVENT_FRAME:
    case TRK_EVENT_MARK:
        add_number(fields, "number", event->argument);
        break;
    default:
        owner_fields(fields, event);
    }
}

size_t trk_event_text_fields(const struct trk_event *event,
                             struct trk_event_field out[TRK_EVENT_FIELDS_MOST])
{
    struct fields fields = {.at = out};
    if (event->type < TRK_EVENT_FIRST_ANNOTATION) {
        core_fields(&fields, event);
    } else {
        annotation_fields(&fields, event);
    }
    return fields.count;
}

size_t trk_event_text_raw(const struct trk_event *event,
                          struct trk_event_field out[TRK_EVENT_FIELDS_MOST])
{
    struct trk_event_field all[TRK_EVENT_FIELDS_MOST];
    struct fields fields = {.at = all};
    size_t count = 0;
    trk_event_fields_raw(&fields, event);
    for (size_t i = 0; i < fields.count; i++) {
        if (all[i].number != 0) {
            out[count++] = all[i];
        }
    }
    return count;
}
