#include "event_fields.h"

#include "track/address.h"
#include "track/policy.h"
#include "track/status.h"

static const struct {
    const char *name;
    enum trk_event_field_kind kind;
} keys[] = {
#define KEY(id, text, of) [TRK_KEY_##id] = {text, TRK_FIELD_##of},
    TRK_EVENT_KEYS(KEY)
#undef KEY
};

const char *trk_event_key_name(enum trk_event_key id)
{
    return keys[id].name;
}

enum trk_event_field_kind trk_event_key_kind(enum trk_event_key id)
{
    return keys[id].kind;
}

/* The text in a LABEL's fields. */
static void add_label(struct fields *fields, enum trk_event_key id, const struct trk_event *event)
{
    assert(fields->count < TRK_EVENT_FIELDS_MOST);
    struct trk_event_field *field = &fields->at[fields->count++];
    *field =
        (struct trk_event_field){.id = id, .key = trk_event_key_name(id), .kind = TRK_FIELD_TEXT};
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
    add_word(fields, TRK_KEY_RIGHTS, WORD_OF(rights_words, rights));
}

static void add_range(struct fields *fields, uint64_t guest_addr, uint64_t size_bytes)
{
    add_address(fields, TRK_KEY_GUEST_ADDR, guest_addr);
    add_number(fields, TRK_KEY_SIZE, size_bytes);
}

static void add_domain(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, TRK_KEY_DOMAIN, WORD_OF(class_words, trk_domain_class(event->domain)));
    add_number(fields, TRK_KEY_TRACKER, trk_domain_tracker(event->domain));
    if (trk_domain_class(event->domain) == TRK_DOMAIN_OWNER) {
        add_number(fields, TRK_KEY_LOCK, trk_domain_region(event->domain));
    } else if (trk_domain_region(event->domain) == TRK_DOMAIN_SHARED) {
        add_word(fields, TRK_KEY_REGION, "shared");
    } else {
        add_address(fields, TRK_KEY_REGION, trk_region_address(trk_domain_region(event->domain)));
    }
    add_number(fields, TRK_KEY_HOLD, event->seq);
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
    add_address(fields, TRK_KEY_GUEST_ADDR, page_address(event));
    add_number(fields, TRK_KEY_PAGES, event->pages);
}

static void op_begin_fields(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, TRK_KEY_OP, trk_op_name(event->context));
    add_range(fields, event->argument, trk_event_size(event));
    add_number(fields, TRK_KEY_TRACKER, event->page);
    if (event->context == TRK_OP_GUEST_PROTECT || event->context == TRK_OP_GEN_MAP) {
        add_rights(fields, event->pages);
    } else if (event->pages != TRK_ORIGIN_NOT_SAID) {
        add_word(fields, TRK_KEY_ORIGIN, WORD_OF(origin_words, event->pages));
    }
    add_flag(fields, TRK_KEY_WRITTEN, event->flags & TRK_OP_FLAG_WRITTEN);
    add_flag(fields, TRK_KEY_CLEAR, event->flags & TRK_OP_FLAG_CLEAR);
    add_flag(fields, TRK_KEY_READ, event->flags & TRK_OP_FLAG_READ);
    add_flag(fields, TRK_KEY_FLUSH, event->flags & TRK_OP_FLAG_FLUSH);
    add_flag(fields, TRK_KEY_READ_BACK, event->flags & TRK_OP_FLAG_READ_BACK);
}

static void op_end_fields(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, TRK_KEY_OP, trk_op_name(event->context));
    add_word(fields, TRK_KEY_STATUS, trk_status_name((enum trk_status)event->flags));
    if (event->context == TRK_OP_FAULT) {
        add_word(fields, TRK_KEY_OUTCOME, WORD_OF(fault_words, event->argument));
    } else {
        add_number(fields, TRK_KEY_RESULT, event->argument);
    }
}

static void fault_fields(struct fields *fields, const struct trk_event *event)
{
    add_word(fields, TRK_KEY_ACCESS, WORD_OF(access_words, event->flags));
    add_address(fields, TRK_KEY_GUEST_ADDR, event->argument);
    add_word(fields, TRK_KEY_LOOK, WORD_OF(look_words, event->context));
    if (trk_event_in_hold(event)) {
        add_domain(fields, event);
    } else {
        add_number(fields, TRK_KEY_TRACKER, trk_domain_tracker(event->domain));
    }
}

static void policy_fields(struct fields *fields, uint64_t word)
{
    struct trk_policy policy;
    if (trk_policy_unpack(word, &policy) != TRK_OK) {
        add_address(fields, TRK_KEY_POLICY, word);
        return;
    }
    add_word(fields, TRK_KEY_INVALIDATE, trk_invalidate_policy_name(policy.invalidate));
    add_word(fields, TRK_KEY_DOWNLOAD, trk_download_policy_name(policy.download));
    add_word(fields, TRK_KEY_ARENA, trk_arena_name(policy.arena));
    add_number(fields, TRK_KEY_FAULT_WIDTH, policy.fault_width_bytes);
    add_number(fields, TRK_KEY_PAGE_SIZE, policy.page_size_bytes);
    add_flag(fields, TRK_KEY_GENERATIONS, policy.generations);
}

static void tracker_fields(struct fields *fields, const struct trk_event *event)
{
    add_number(fields, TRK_KEY_TRACKER, event->page);
    add_word(fields, TRK_KEY_BACKEND, WORD_OF(backend_words, event->context));
    policy_fields(fields, event->argument);
}

static void foreign_fields(struct fields *fields, const struct trk_event *event)
{
    add_number(fields, TRK_KEY_TRACKER, event->page);
    add_word(fields, TRK_KEY_BACKEND, WORD_OF(backend_words, event->context));
    add_flag(fields, TRK_KEY_NOTES_LOCKS, event->flags & TRK_NOTES_LOCKS);
    add_flag(fields, TRK_KEY_NOTES_PROTECTION, event->flags & TRK_NOTES_PROTECTION);
    add_flag(fields, TRK_KEY_NOTES_HANDED, event->flags & TRK_NOTES_HANDED);
    add_flag(fields, TRK_KEY_CLOSES_LOADS, event->flags & TRK_NOTES_LOADS);
    if (event->argument != 0) {
        policy_fields(fields, event->argument);
    } else {
        add_word(fields, TRK_KEY_POLICY, "none");
        add_number(fields, TRK_KEY_PAGE_SIZE, trk_event_size(event));
    }
}

static void protect_fields(struct fields *fields, const struct trk_event *event)
{
    add_domain(fields, event);
    add_pages(fields, event);
    add_rights(fields, event->flags & 7u);
    add_flag(fields, TRK_KEY_FAILED, event->flags & TRK_EVENT_FAILED);
    add_flag(fields, TRK_KEY_HOLD_END, event->flags & TRK_EVENT_HOLD_END);
}

void trk_event_fields_raw(struct fields *fields, const struct trk_event *event)
{
    add_number(fields, TRK_KEY_ID, event->type);
    add_address(fields, TRK_KEY_ARGUMENT, event->argument);
    add_number(fields, TRK_KEY_SEQ, event->seq);
    add_address(fields, TRK_KEY_RAW_DOMAIN, event->domain);
    add_number(fields, TRK_KEY_PAGE, event->page);
    add_number(fields, TRK_KEY_PAGES, event->pages);
    add_number(fields, TRK_KEY_FLAGS, event->flags);
    add_number(fields, TRK_KEY_CONTEXT, event->context);
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
        add_number(fields, TRK_KEY_CHANGED, event->pages);
        break;
    case TRK_EVENT_RANGE:
        add_domain(fields, event);
        add_pages(fields, event);
        break;
    case TRK_EVENT_PROTECT:
        protect_fields(fields, event);
        break;
    case TRK_EVENT_CALLBACK:
        add_word(fields, TRK_KEY_CALLBACK, WORD_OF(callback_words, event->context));
        break;
    case TRK_EVENT_OP_END:
        op_end_fields(fields, event);
        break;
    case TRK_EVENT_FAULT:
        fault_fields(fields, event);
        break;
    case TRK_EVENT_FAIL:
        add_word(fields, TRK_KEY_CLASS, trk_status_name((enum trk_status)event->context));
        add_word(fields, TRK_KEY_OP, trk_op_name(event->flags));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_MASK:
        add_number(fields, TRK_KEY_WORD, event->page);
        add_address(fields, TRK_KEY_BITS, event->argument);
        break;
    case TRK_EVENT_STATE:
        add_domain(fields, event);
        add_address(fields, TRK_KEY_HASH, event->argument);
        break;
    case TRK_EVENT_OPERAND:
        add_address(fields, TRK_KEY_OPERAND, event->argument);
        break;
    default:
        trk_event_fields_raw(fields, event);
    }
}

static void map_fields(struct fields *fields, const struct trk_event *event)
{
    add_range(fields, event->argument, trk_event_size(event));
    add_number(fields, TRK_KEY_FRAME, trk_event_number32(event));
    add_rights(fields, event->context);
    add_flag(fields, TRK_KEY_ALIAS, event->flags & TRK_MAP_ALIAS);
    add_flag(fields, TRK_KEY_UNTRACKED, event->flags & TRK_MAP_UNTRACKED);
}

/* What only a foreign tracker and its owner say. */
static void owner_fields(struct fields *fields, const struct trk_event *event)
{
    switch (event->type) {
    case TRK_EVENT_FOREIGN:
        foreign_fields(fields, event);
        break;
    case TRK_EVENT_LOCKS:
        add_number(fields, TRK_KEY_TRACKER, event->page);
        add_word(fields, TRK_KEY_EACH, WORD_OF(lock_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_HOST_PROTECT:
        add_number(fields, TRK_KEY_TRACKER, event->page);
        add_range(fields, event->argument, trk_event_size(event));
        add_rights(fields, event->flags & 7u);
        add_flag(fields, TRK_KEY_FAILED, event->flags & TRK_EVENT_FAILED);
        add_number(fields, TRK_KEY_ERRNO, event->context);
        if (event->flags & TRK_EVENT_HAS_FORMER)
            add_word(fields, TRK_KEY_FORMER,
                     WORD_OF(rights_words, event->flags >> TRK_EVENT_FORMER_SHIFT & 7u));
        break;
    case TRK_EVENT_HANDED:
        add_number(fields, TRK_KEY_TRACKER, event->page);
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_DECISION:
        add_number(fields, TRK_KEY_TRACKER, event->page);
        add_address(fields, TRK_KEY_GUEST_ADDR, event->argument);
        add_word(fields, TRK_KEY_DECISION, WORD_OF(decision_words, event->context));
        break;
    case TRK_EVENT_ACCESS:
        add_word(fields, TRK_KEY_AGENT, WORD_OF(agent_words, event->flags));
        add_word(fields, TRK_KEY_ACCESS, WORD_OF(access_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_OBJECT:
        add_number(fields, TRK_KEY_OBJECT, event->page);
        add_word(fields, TRK_KEY_CHANGE, WORD_OF(change_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        break;
    case TRK_EVENT_LABEL:
        add_number(fields, TRK_KEY_OBJECT, event->context);
        add_number(fields, TRK_KEY_PIECE, event->flags & ~TRK_LABEL_LAST);
        add_flag(fields, TRK_KEY_LAST, event->flags & TRK_LABEL_LAST);
        add_label(fields, TRK_KEY_TEXT, event);
        break;
    default:
        trk_event_fields_detail(fields, event);
    }
}

static void gpu_fields(struct fields *fields, const struct trk_event *event)
{
    if (event->type == TRK_EVENT_IMAGE) {
        add_range(fields, event->argument, trk_event_size(event));
        add_number(fields, TRK_KEY_WIDTH, event->page);
        add_number(fields, TRK_KEY_HEIGHT, event->pages);
        add_number(fields, TRK_KEY_TEXEL, event->flags);
        add_number(fields, TRK_KEY_RESOURCE, event->context);
    } else {
        add_number(fields, TRK_KEY_ACCESSES, event->argument);
        add_number(fields, TRK_KEY_TICK, trk_event_number32(event));
        add_number(fields, TRK_KEY_SHADER, event->context);
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
        add_word(fields, TRK_KEY_DIRECTION, WORD_OF(copy_words, event->context));
        add_range(fields, event->argument, trk_event_size(event));
        add_number(fields, TRK_KEY_RESOURCE, event->page);
        break;
    case TRK_EVENT_GPU_WRITE:
    case TRK_EVENT_GPU_READ:
        add_range(fields, event->argument, event->seq);
        add_number(fields, TRK_KEY_STAMP, event->domain);
        add_number(fields, TRK_KEY_TICK, trk_event_number32(event));
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
        add_word(fields, TRK_KEY_OUTCOME, WORD_OF(request_words, event->context));
        break;
    case TRK_EVENT_PAGE:
        add_word(fields, TRK_KEY_MOMENT, WORD_OF(moment_words, event->flags));
        add_address(fields, TRK_KEY_GUEST_ADDR, event->argument);
        add_address(fields, TRK_KEY_HASH, trk_event_size(event));
        break;
    case TRK_EVENT_WITNESS_STORE:
    case TRK_EVENT_WITNESS_CHECK:
        add_word(fields, TRK_KEY_AGENT, WORD_OF(agent_words, event->flags));
        add_range(fields, event->argument, event->seq);
        add_number(fields, TRK_KEY_STAMP, event->domain);
        break;
    case TRK_EVENT_SIGNAL:
    case TRK_EVENT_AWAIT:
        add_number(fields, TRK_KEY_TIMELINE, event->domain);
        add_number(fields, TRK_KEY_VALUE, event->argument);
        break;
    case TRK_EVENT_GPU_COMPLETE:
        add_number(fields, TRK_KEY_TICK, event->argument);
        break;
    case TRK_EVENT_DROP:
        add_number(fields, TRK_KEY_NUMBER, event->argument);
        if (event->context != TRK_EVENT_NONE)
            add_word(fields, TRK_KEY_OF, trk_event_type_name((uint8_t)event->context));
        add_number(fields, TRK_KEY_TICKS, trk_event_size(event));
        break;
    case TRK_EVENT_FRAME:
    case TRK_EVENT_MARK:
        add_number(fields, TRK_KEY_NUMBER, event->argument);
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
