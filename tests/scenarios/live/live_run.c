#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "live.h"
#include "track/hle.h"
#include "track/pages.h"

void live_span_add(struct live_spans *spans, struct scenario_span span)
{
    if (spans->count < LIVE_SPANS_MOST)
        spans->spans[spans->count] = span;
    spans->count++;
}

/* The operation found these; a list of which only a part was kept is like none in a file. */
static void found_spans(struct live *live, const struct live_spans *spans)
{
    live->spans = *spans;
    live->found.spans = (struct span_list){
        .spans = live->spans.spans,
        .count = spans->count <= LIVE_SPANS_MOST ? spans->count : SIZE_MAX,
    };
}

static void verdict(struct live *live, const struct scenario_op *op, const char *word,
                    const char *text)
{
    if (live->verdict[0] != '\0')
        return;
    snprintf(live->verdict, sizeof live->verdict, "%s", word);
    if (text != NULL)
        snprintf(live->text, sizeof live->text, "%s", text);
    live->at = op;
}

void live_failure(void *context, const struct trk_failure *failure)
{
    struct live *live = context;
    if (live->found.failure == TRK_OK)
        live->found.failure = failure->failure_class;
}

/* ---- copies ---- */

enum way { UP, DOWN };

static void copy(struct live *live, uint64_t guest_addr, uint64_t size_bytes, enum way way)
{
    for (uint64_t at = guest_addr; at < guest_addr + size_bytes;) {
        uint64_t piece = SCENARIO_PAGE_BYTES - at % SCENARIO_PAGE_BYTES;
        if (piece > guest_addr + size_bytes - at)
            piece = guest_addr + size_bytes - at;
        const struct live_entry *entry = live_entry_at(live, at, piece);
        if (entry != NULL) {
            uint64_t offset = at - entry->text->guest_addr;
            if (way == UP)
                memcpy(entry->gpu + offset, entry->backing + offset, piece);
            else
                memcpy(entry->backing + offset, entry->gpu + offset, piece);
        }
        at += piece;
    }
}

/* A transfer under way: its operation's nested ones run in its callbacks. */
struct transfer {
    struct live *live;
    const struct scenario_op *op;
    struct live_spans spans;
};

/* The nested operations: those of in_range, or all others. What they find is their own. */
static void nested(struct live *live, const struct scenario_op *op, bool in_range)
{
    struct found outer = live->found;
    for (uint32_t i = 0; i < op->nested_count && live->verdict[0] == '\0'; i++) {
        const struct scenario_op *inner = &op->nested[i];
        if (inner->verb != VERB_IN_RANGE && !in_range)
            live_op(live, inner);
        for (uint32_t j = 0; inner->verb == VERB_IN_RANGE && in_range && j < inner->nested_count;
             j++)
            live_op(live, &inner->nested[j]);
    }
    live->found = outer;
}

static void upload_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct transfer *transfer = context;
    live_span_add(&transfer->spans, (struct scenario_span){guest_addr, size_bytes, 0});
    if (transfer->op->verb == VERB_UPLOAD)
        copy(transfer->live, guest_addr, size_bytes, UP);
    if (transfer->spans.count == 1)
        nested(transfer->live, transfer->op, true);
}

static void upload_completion(void *context)
{
    struct transfer *transfer = context;
    nested(transfer->live, transfer->op, false);
    for (uint32_t i = 0; transfer->op->verb == VERB_UPLOAD_AT_END && i < transfer->spans.count; i++)
        copy(transfer->live, transfer->spans.spans[i].guest_addr,
             transfer->spans.spans[i].size_bytes, UP);
}

static void download_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct transfer *transfer = context;
    live_span_add(&transfer->spans, (struct scenario_span){guest_addr, size_bytes, 0});
    copy(transfer->live, guest_addr, size_bytes, DOWN);
}

static void flush_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    copy(context, guest_addr, size_bytes, DOWN);
}

static struct trk_transfer transfer_of(const struct scenario_op *op)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = op->guest_addr,
                                 .size_bytes = op->size_bytes,
                                 .written = op->written,
                                 .clear = op->clear};
}

/* What a refused operation says was heard by live_failure. */
static void run_transfer(struct live *live, const struct scenario_op *op)
{
    struct transfer transfer = {.live = live, .op = op};
    struct trk_transfer core = transfer_of(op);
    enum trk_status status;
    bool upload = op->verb == VERB_UPLOAD || op->verb == VERB_UPLOAD_AT_END;
    core.context = &transfer;
    core.range = upload ? upload_range : download_range;
    core.completion = upload ? upload_completion : NULL;
    if (upload)
        status = trk_tracker_upload(live->tracker, &core);
    else if (op->verb == VERB_DRAIN)
        status = trk_tracker_drain(live->tracker, &core);
    else
        status = trk_tracker_download(live->tracker, &core);
    (void)status;
    found_spans(live, &transfer.spans);
}

/* A store is served by the flush, everything else by the read-back [M-57]. */
static void check_callback(struct live *live, bool flush)
{
    bool store = live->service.access == TRK_ACCESS_WRITE;
    if (live->service.under_way && store != flush)
        verdict(live, NULL, "wrong-callback",
                flush ? "a load was served by the flush" : "a store was served by the read-back");
}

void live_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct live *live = context;
    check_callback(live, true);
    struct trk_transfer drain = {.size = sizeof drain,
                                 .guest_addr = guest_addr,
                                 .size_bytes = size_bytes,
                                 .range = flush_range,
                                 .context = live};
    enum trk_status status = trk_tracker_drain(live->tracker, &drain);
    (void)status;
}

void live_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct live *live = context;
    check_callback(live, false);
    struct trk_transfer download = {.size = sizeof download,
                                    .guest_addr = guest_addr,
                                    .size_bytes = size_bytes,
                                    .clear = true,
                                    .range = flush_range,
                                    .context = live};
    enum trk_status status = trk_tracker_download(live->tracker, &download);
    (void)status;
}

struct invalidate {
    struct live *live;
    const struct scenario_op *op;
    uint64_t flushes;
};

static void invalidate_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct invalidate *invalidate = context;
    invalidate->flushes++;
    if (invalidate->op->has_nested)
        nested(invalidate->live, invalidate->op, false);
    else
        live_flush(invalidate->live, guest_addr, size_bytes);
}

/* ---- other verbs ---- */

static void hle_bytes(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct transfer *transfer = context;
    (void)guest_addr;
    (void)size_bytes;
    live_store(transfer->live, transfer->op);
}

static void run_hle_write(struct live *live, const struct scenario_op *op)
{
    struct transfer transfer = {.live = live, .op = op};
    struct trk_hle_write write = {.size = sizeof write,
                                  .guest_addr = op->guest_addr,
                                  .size_bytes = op->size_bytes,
                                  .write = hle_bytes,
                                  .context = &transfer};
    bool written = false;
    /* Memory that is not there the emulator knows of before it asks. */
    uint64_t last = op->guest_addr + op->size_bytes - 1;
    if (live_entry_at(live, op->guest_addr, 1) != NULL && live_entry_at(live, last, 1) != NULL &&
        trk_tracker_hle_write(live->tracker, &write, &written) != TRK_OK)
        return;
    if (!written)
        live->found.outcome = OUTCOME_DENIED;
}

static void run_bytes(struct live *live, const struct scenario_op *op)
{
    const struct live_entry *entry = live_entry_at(live, op->guest_addr, op->size_bytes);
    if (entry == NULL)
        return;
    uint64_t offset = op->guest_addr - entry->text->guest_addr;
    if (op->verb == VERB_GPU_READ)
        live_look(live, entry->gpu + offset, op->size_bytes);
    else if (op->verb == VERB_GPU_WRITE)
        memset(entry->gpu + offset, (int)op->value, op->size_bytes);
    else
        memset(entry->backing + offset, (int)op->value, op->size_bytes);
}

static enum trk_status run_change(struct live *live, const struct scenario_op *op)
{
    struct trk_tracker *tracker = live->tracker;
    uint64_t first = op->guest_addr, bytes = op->size_bytes;
    switch (op->verb) {
    case VERB_MARK_CPU:
        return trk_tracker_mark_cpu(tracker, first, bytes);
    case VERB_MARK_GPU:
        return trk_tracker_mark_gpu(tracker, first, bytes);
    case VERB_UNMARK_GPU:
        return trk_tracker_unmark_gpu(tracker, first, bytes);
    case VERB_UNTRACK:
        return trk_tracker_untrack(tracker, first, bytes);
    case VERB_WATCH:
        return trk_pages_watch(tracker, first, bytes);
    case VERB_UNWATCH:
        return trk_pages_unwatch(tracker, first, bytes);
    case VERB_WATCH_MASK:
        return trk_pages_watch_mask(tracker, first, op->mask, op->read_watch);
    case VERB_UNWATCH_MASK:
        return trk_pages_unwatch_mask(tracker, first, op->mask, op->read_watch);
    case VERB_LOCK:
        return trk_tracker_lock(tracker, first);
    case VERB_UNLOCK:
        return trk_tracker_unlock(tracker, first);
    case VERB_GEN_TRACK:
    case VERB_GEN:
    case VERB_GEN_HLE:
        return live_gen(live, op);
    case VERB_INJECT:
        if (!live_refuse_call(live, op->value))
            verdict(live, op, "mismatch", "more refusals than can wait");
        return TRK_OK;
    default:
        return trk_tracker_set_guest_protection(
            tracker, first & ~(SCENARIO_PAGE_BYTES - 1),
            (first % SCENARIO_PAGE_BYTES + bytes + SCENARIO_PAGE_BYTES - 1) &
                ~(SCENARIO_PAGE_BYTES - 1),
            op->rights);
    }
}

static void run_query(struct live *live, const struct scenario_op *op)
{
    bool answer = false;
    enum trk_status status =
        op->verb == VERB_IS_CPU
            ? trk_tracker_is_cpu(live->tracker, op->guest_addr, op->size_bytes, &answer)
            : trk_tracker_is_gpu(live->tracker, op->guest_addr, op->size_bytes, &answer);
    live->found.has_number = status == TRK_OK;
    live->found.number = answer;
}

bool live_knows(enum scenario_verb verb)
{
    switch (verb) {
    case VERB_MAP:
    case VERB_UNMAP:
    case VERB_COMMIT:
    case VERB_RESERVE:
    case VERB_SPARSE_READ:
    case VERB_HOST_PROTECT:
    case VERB_SIGNAL:
    case VERB_AWAIT:
    case VERB_ACQUIRE:
    case VERB_RELEASE:
    case VERB_GEN_REMAP:
        return false;
    default:
        return true;
    }
}

static void carry_out(struct live *live, const struct scenario_op *op)
{
    struct invalidate invalidate = {.live = live, .op = op};
    enum trk_status status = TRK_OK;
    switch (op->verb) {
    case VERB_STORE:
        live_store(live, op);
        break;
    case VERB_LOAD:
        live_load(live, op);
        break;
    case VERB_HLE_WRITE:
        run_hle_write(live, op);
        break;
    case VERB_SYS_READ:
        live_sys_read(live, op);
        break;
    case VERB_SYS_WRITE:
        live_sys_write(live, op);
        break;
    case VERB_RAW_WRITE:
    case VERB_GPU_READ:
    case VERB_GPU_WRITE:
        run_bytes(live, op);
        break;
    case VERB_COPY_UP:
    case VERB_COPY_DOWN:
        copy(live, op->guest_addr, op->size_bytes, op->verb == VERB_COPY_UP ? UP : DOWN);
        break;
    case VERB_IS_CPU:
    case VERB_IS_GPU:
        run_query(live, op);
        break;
    case VERB_UPLOAD:
    case VERB_UPLOAD_AT_END:
    case VERB_DOWNLOAD:
    case VERB_DRAIN:
        run_transfer(live, op);
        break;
    case VERB_INVALIDATE:
        status = trk_tracker_invalidate(live->tracker, op->guest_addr, op->size_bytes,
                                        invalidate_flush, &invalidate);
        live->found.number = invalidate.flushes;
        break;
    case VERB_PROT:
        live->found.rights = live_rights(live, op->guest_addr);
        break;
    case VERB_CALLS:
        found_spans(live, &live->calls);
        live->found.has_number = true;
        live->found.number = live->calls.count;
        live->calls.count = 0;
        break;
    case VERB_FRAME:
        break;
    case VERB_REPEAT:
        for (uint64_t i = 0; i < op->value; i++)
            nested(live, op, false);
        break;
    default:
        status = run_change(live, op);
        break;
    }
    (void)status; /* failures were heard by live_failure */
}

static void judge(struct live *live, const struct scenario_op *op)
{
    const struct found *found = &live->found;
    char word[32];
    if (found->failure == TRK_E_LIVELOCK && !scenario_expects(op, RESULT_FATAL))
        verdict(live, op, "livelock", "the core says so");
    if (found->failure != TRK_OK && !scenario_expects(op, RESULT_FATAL)) {
        snprintf(word, sizeof word, "fatal:%s", trk_status_name(found->failure));
        verdict(live, op, word, "");
    }
    if (found->outcome == OUTCOME_UNHANDLED && !scenario_expects(op, RESULT_UNHANDLED))
        verdict(live, op, "unhandled-fault", "nobody took it");
    if (!live_judge(live, op))
        verdict(live, op, "mismatch", NULL);
    uint64_t loose = live_loose_page(live);
    if (loose != 0) {
        snprintf(live->text, sizeof live->text, "0x%" PRIx64 " lets through too much", loose);
        verdict(live, op, "protection-loose", NULL);
    }
}

void live_op(struct live *live, const struct scenario_op *op)
{
    if (live->verdict[0] != '\0')
        return;
    memset(&live->found, 0, sizeof live->found);
    carry_out(live, op);
    if (live->verdict[0] == '\0')
        judge(live, op);
}
