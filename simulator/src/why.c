/*
 * Who has the current bytes: the oracle's books, read at one moment.
 */
#include "simulator/why.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "losses.h"
#include "newest.h"
#include "story.h"

struct looking {
    const struct trk_trace *trace;
    struct judge judge;
    struct losses_passed passed;
    struct trk_why_report *report;
    struct newest newest; /* of the byte */
    bool missing;         /* events since its newest store may be, or their order is a guess */
    bool windowed;        /* the trace begins in the middle */
    uint32_t registered;  /* a bit each tracker that has the byte registered */
};

const char *trk_why_copy_name(enum trk_why_copy copy)
{
    static const char *const names[] = {"unknown", "current", "older", "unclear"};
    return names[copy];
}

bool trk_why_all_threads(const struct trk_trace *trace)
{
    struct trk_trace_state state = trk_trace_state(trace);
    return trk_trace_gapless(trace) || (state.ended && !state.cut);
}

static struct story_name name_of(const struct looking *looking, uint32_t stream)
{
    const struct trk_trace_stream *in_file = trk_trace_stream(looking->trace, stream);
    struct story_name name;
    if (in_file != NULL && in_file->name[0] != '\0')
        snprintf(name.text, sizeof name.text, "%s", in_file->name);
    else
        snprintf(name.text, sizeof name.text, "thread %" PRIu32, stream);
    return name;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The end of a register or an unregister of the byte, which is about to be taken. */
static void follow_registered(struct looking *looking, const struct trk_trace_event *next)
{
    const struct trk_event *event = &next->event;
    struct trk_why_report *report = looking->report;
    if (event->type == TRK_EVENT_TRACKER && event->page < SAID_TRACKERS)
        looking->registered &= ~(1u << event->page); /* declared anew */
    const struct judge_operation *operation =
        event->type == TRK_EVENT_OP_END && event->flags == TRK_OK
            ? judge_operation_of(&looking->judge, next->stream)
            : NULL;
    if (operation == NULL || operation->op != event->context ||
        (operation->op != TRK_OP_REGISTER && operation->op != TRK_OP_UNREGISTER) ||
        versions_tracked_addr(looking->judge.versions, report->guest_addr) -
                operation->guest_addr >=
            operation->size_bytes)
        return;
    uint32_t bit = 1u << operation->tracker;
    bool had = (looking->registered & bit) != 0;
    looking->registered &= ~bit;
    if (operation->op == TRK_OP_REGISTER) {
        looking->registered |= bit;
        report->unregistered = TRK_NOT_KNOWN;
    } else if (had && looking->registered == 0) {
        report->unregistered = next->number;
    }
}

/* A fault on the page, which was taken just now. */
static void follow_faults(struct looking *looking, const struct trk_trace_event *next)
{
    struct trk_why_fault *fault = &looking->report->fault;
    const struct trk_event *event = &next->event;
    if (event->type != TRK_EVENT_FAULT ||
        versions_tracked_addr(looking->judge.versions, event->argument) / TRK_HOST_PAGE_BYTES !=
            versions_tracked_addr(looking->judge.versions, looking->report->guest_addr) /
                TRK_HOST_PAGE_BYTES)
        return;
    fault->event = next->number;
    fault->guest_addr = event->argument;
    fault->access = (enum trk_access)event->flags;
    fault->pc = judge_fault_pc(&looking->judge, next->stream, next->number);
    snprintf(fault->thread, sizeof fault->thread, "%s", name_of(looking, next->stream).text);
}

/* Take events up to one; report->event is the last. */
static enum trk_status read_events(struct looking *looking, struct trk_trace *trace, uint64_t event,
                                   struct trk_error *error)
{
    struct trk_trace_event next;
    enum trk_status status = TRK_OK;
    bool dropped = false;
    while (status == TRK_OK &&
           (looking->report->event == TRK_NOT_KNOWN || looking->report->event < event)) {
        status = trk_trace_next(trace, &next, error);
        if (status != TRK_OK)
            break;
        struct finding finding = {.found = false}; /* what breaks is told by others */
        dropped |= next.event.type == TRK_EVENT_DROP;
        losses_pass(&looking->passed, &next);
        if (looking->passed.among)
            judge_among_losses(&looking->judge);
        else if (looking->passed.end > 0)
            judge_behind_losses(&looking->judge, looking->passed.end);
        follow_registered(looking, &next);
        status = judge_take(&looking->judge, &next, &finding);
        follow_faults(looking, &next);
        looking->report->event = next.number;
    }
    bool ended = status == TRK_E_END;
    if (ended && event != UINT64_MAX)
        return trk_error_set(error, TRK_E_ARGUMENT, "the trace has no event %" PRIu64, event);
    if (ended)
        status = TRK_OK;
    looking->report->complete =
        !dropped && looking->passed.end == 0 && (!ended || trk_trace_state(trace).complete);
    return status == TRK_E_MEMORY ? trk_error_set(error, status, "no memory") : status;
}

/* ---- the byte -------------------------------------------------------------------------------- */

static void find_byte(struct looking *looking)
{
    struct trk_why_report *report = looking->report;
    newest_find(&looking->judge, report->guest_addr, &looking->newest);
    const struct shadow_history *history = looking->newest.history;
    looking->missing = history != NULL && history->store_count > 0 &&
                       versions_in_doubt(looking->judge.versions, history->stores[0].event);
    if (looking->missing) {
        looking->newest.guest = looking->newest.gpu = TRK_WHY_UNCLEAR;
        looking->newest.lost = looking->newest.doubted = false;
    }
    report->first_addr = looking->newest.first_addr;
    report->size_bytes = looking->newest.size_bytes;
    report->untracked = looking->newest.untracked;
    report->guest = looking->newest.guest;
    report->gpu = looking->newest.gpu;
}

static void add_stores(struct looking *looking)
{
    static const char *const agents[] = {
        [TRK_AGENT_CPU] = "by a guest's access",      [TRK_AGENT_GPU] = "by the GPU",
        [TRK_AGENT_HLE] = "by the emulator",          [TRK_AGENT_KERNEL] = "by the kernel",
        [TRK_AGENT_FOREIGN] = "by a foreign mapping",
    };
    struct trk_why_report *report = looking->report;
    const struct shadow_history *history = looking->newest.history;
    if (history == NULL || history->store_count == 0)
        return;
    for (uint32_t i = 0; i < history->store_count && i < TRK_WHY_STORES; i++) {
        const struct shadow_store *store = &history->stores[i];
        struct trk_why_store *to = &report->stores[report->store_count++];
        to->event = store->event;
        to->stamp = store->stamp;
        snprintf(to->thread, sizeof to->thread, "%s", name_of(looking, store->stream).text);
        snprintf(to->by, sizeof to->by, "%s%s", agents[store->agent],
                 store->flags & SHADOW_STORE_UNTRACKED ? ", unwatched view" : "");
    }
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* What is not there, or was before the trace, may have met the page. */
static bool state_known(const struct looking *looking)
{
    return newest_made(&looking->newest) || (!looking->windowed && looking->report->complete);
}

/* Behind what made it, events that may have made another are missing, or in a guessed order. */
static bool state_doubted(const struct looking *looking)
{
    return newest_made(&looking->newest) &&
           versions_in_doubt(looking->judge.versions, looking->newest.said->event - 1);
}

static void say_state(struct looking *looking)
{
    static const char *const words[] = {"cpu", "clean", "gpu"};
    static const char *const texts[] = {
        [SAID_CPU] = "open to the CPU: its dirty bit is set, the next upload takes it",
        [SAID_CLEAN] = "CLEAN: no dirty bit, a store must fault",
        [SAID_GPU] = "the GPU's: any access must fault",
    };
    struct trk_why_report *report = looking->report;
    const struct said_page *said = looking->newest.said;
    report->state_word = newest_made(&looking->newest) ? words[looking->newest.state]
                         : state_known(looking)        ? "none"
                                                       : NULL;
    if (!state_known(looking) && looking->windowed)
        snprintf(report->state, sizeof report->state,
                 "not known: the trace begins in the middle, and no operation of the tracker has "
                 "met it since");
    else if (!state_known(looking))
        snprintf(report->state, sizeof report->state,
                 "not known: events are missing, and no operation of the tracker that is left has "
                 "met it");
    else if (!newest_made(&looking->newest))
        snprintf(report->state, sizeof report->state,
                 "the CPU's: no operation of the tracker has met it");
    else
        snprintf(report->state, sizeof report->state, "%s; since event %" PRIu64 ", %s of %s%s",
                 texts[looking->newest.state], said->event - 1, trk_op_name(said->op),
                 name_of(looking, said->stream).text,
                 state_doubted(looking) ? ", unless what is missing made another" : "");
}

static void say_under_way(struct looking *looking)
{
    struct trk_why_report *report = looking->report;
    uint32_t stream;
    const struct judge_operation *operation =
        newest_under_way(&looking->judge, report->guest_addr, &stream);
    if (operation != NULL)
        snprintf(report->under_way, sizeof report->under_way, "%s of %s, since event %" PRIu64,
                 trk_op_name(operation->op), name_of(looking, stream).text, operation->event);
}

static void say_writer(struct looking *looking)
{
    struct trk_why_report *report = looking->report;
    const struct trk_why_store *store = &report->stores[0];
    if (report->store_count == 0) {
        snprintf(report->writer, sizeof report->writer, "nobody that the trace knows of");
        return;
    }
    int used = snprintf(report->writer, sizeof report->writer, "%s, %s, event %" PRIu64,
                        store->thread, store->by, store->event);
    if (store->stamp != 0 && used > 0 && (size_t)used < sizeof report->writer)
        snprintf(report->writer + used, sizeof report->writer - (size_t)used, ": stamp %" PRIu32,
                 store->stamp);
}

/* What a side has. up: its newest bytes come by uploads, and it is the GPU's. */
static void say_side(const struct looking *looking, bool gpu, char text[TRK_WHY_TEXT_BYTES])
{
    const struct shadow_history *history = looking->newest.history;
    enum trk_why_copy what = gpu ? looking->report->gpu : looking->report->guest;
    if (history == NULL || looking->report->store_count == 0) {
        snprintf(text, TRK_WHY_TEXT_BYTES, "not known: no store to these bytes is in the trace");
        return;
    }
    if (looking->missing) {
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "not clear: events since the store are missing, or their order is a guess");
        return;
    }
    const struct shadow_copy *copy = gpu ? &history->up[0] : &history->down[0];
    uint32_t copies = gpu ? history->up_count : history->down_count;
    bool own = newest_by_gpu(&history->stores[0]) == gpu;
    if (own && history->overwritten != 0)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "older: it was written there, and the copy %s that ended at event %" PRIu64
                 " put older bytes over it",
                 gpu ? "to the GPU" : "home", history->overwritten);
    else if (own && looking->newest.doubted)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "not clear: it was written there, and the copy %s that ended at event %" PRIu64
                 " may have put older bytes over it",
                 gpu ? "to the GPU" : "home", history->doubted);
    else if (own)
        snprintf(text, TRK_WHY_TEXT_BYTES, "current: it was written there");
    else if (copies == 0)
        snprintf(text, TRK_WHY_TEXT_BYTES, "older: no copy of these bytes to there is known");
    else if (what == TRK_WHY_CURRENT)
        snprintf(text, TRK_WHY_TEXT_BYTES, "current: copied there by %s, event %" PRIu64,
                 name_of(looking, copy->stream).text, copy->begin);
    else if (history->overwritten != 0 && copy->end > history->overwritten &&
             what == TRK_WHY_UNCLEAR)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "not clear: the copy by %s, events %" PRIu64 "-%" PRIu64
                 ", ran beside one that put older bytes over the newest",
                 name_of(looking, copy->stream).text, copy->begin, copy->end);
    else if (history->overwritten != 0 && copy->end > history->overwritten)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "older: the last copy there, by %s, event %" PRIu64
                 ", brought what was put over the newest bytes",
                 name_of(looking, copy->stream).text, copy->begin);
    else if (looking->newest.doubted && copy->begin > history->stores[0].event &&
             what == TRK_WHY_UNCLEAR && (copy->flags & SHADOW_COPY_FETCHED) == 0)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "not clear: the last copy there, by %s, event %" PRIu64
                 ", brought what may have been put over the newest bytes",
                 name_of(looking, copy->stream).text, copy->begin);
    else if ((copy->flags & SHADOW_COPY_FETCHED) != 0 && what == TRK_WHY_UNCLEAR)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "not clear: %s was to bring these bytes there, event %" PRIu64
                 ", and no copy is noted yet",
                 name_of(looking, copy->stream).text, copy->begin);
    else if (what == TRK_WHY_UNCLEAR)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "not clear: the copy by %s, events %" PRIu64 "-%" PRIu64 ", ran beside the store",
                 name_of(looking, copy->stream).text, copy->begin, copy->end);
    else if ((copy->flags & SHADOW_COPY_EARLY) != 0 && copy->end > history->stores[0].event)
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "older: the copy by %s, event %" PRIu64 ", came before the GPU had run its work",
                 name_of(looking, copy->stream).text, copy->begin);
    else
        snprintf(text, TRK_WHY_TEXT_BYTES,
                 "older: the last copy there, by %s, event %" PRIu64 ", was before the store",
                 name_of(looking, copy->stream).text, copy->begin);
}

static const char for_lost[] =
    "these bytes to be stored anew: neither guest memory nor the GPU's copy has them";

static const char for_doubted[] =
    "not known: a copy may have put older bytes over the newest, and neither side has them then";

static const char missing_since[] = "not known: events since the store are missing";

/* Of a side that is not current: what must happen depends on the page's state. */
static const char *for_gpu(const struct looking *looking)
{
    if (looking->report->store_count == 0)
        return "not known";
    if (looking->newest.lost)
        return for_lost;
    if (looking->report->gpu == TRK_WHY_CURRENT)
        return "nothing: the GPU's copy is current";
    if (looking->newest.doubted)
        return for_doubted;
    if (looking->missing)
        return missing_since;
    if (!state_known(looking) || state_doubted(looking))
        return "not known: it depends on the page's state";
    switch (looking->newest.state) {
    case SAID_CPU:
        return "an upload of the page: it is open, so the next one takes and copies it";
    case SAID_CLEAN:
        return "an invalidate of the page, and an upload then: by the tracker's word there is "
               "nothing to upload, so no upload will bring these bytes";
    default:
        return "an invalidate of the page, which would have had to come before the store, and an "
               "upload: the tracker takes the GPU's copy for the newer one";
    }
}

static const char *for_cpu(const struct looking *looking)
{
    if (looking->report->store_count == 0)
        return "not known";
    if (looking->newest.lost)
        return for_lost;
    if (looking->report->guest == TRK_WHY_CURRENT)
        return "nothing: guest memory is current";
    if (looking->newest.doubted)
        return for_doubted;
    if (looking->missing)
        return missing_since;
    if (!state_known(looking) || state_doubted(looking))
        return "not known: it depends on the page's state";
    if (looking->newest.state == SAID_GPU && looking->report->unregistered != TRK_NOT_KNOWN)
        return "a download: the page is the GPU's, but these bytes are registered no more, so no "
               "fault brings them home";
    if (looking->newest.state == SAID_GPU)
        return "a read-back: the page is the GPU's, so a load faults and brings the bytes home, or "
               "a download does";
    return "a download by hand: by the tracker's word the bytes are home already, so a load sees "
           "the older ones and no fault tells of it";
}

static void say(struct looking *looking)
{
    struct trk_why_report *report = looking->report;
    say_state(looking);
    say_under_way(looking);
    say_writer(looking);
    say_side(looking, false, report->guest_text);
    say_side(looking, true, report->gpu_text);
    bool again = report->unregistered != TRK_NOT_KNOWN && report->store_count > 0 &&
                 report->gpu != TRK_WHY_CURRENT && !looking->newest.lost && !looking->missing &&
                 state_known(looking) && !state_doubted(looking);
    snprintf(report->for_gpu, sizeof report->for_gpu, "%s%s",
             again ? "a register of these bytes, which are mapped for the GPU no more, and " : "",
             for_gpu(looking));
    snprintf(report->for_cpu, sizeof report->for_cpu, "%s", for_cpu(looking));
}

enum trk_status trk_why_trace(struct trk_trace *trace, uint64_t guest_addr, uint64_t event,
                              struct trk_why_report *report, struct trk_error *error)
{
    struct looking looking = {.trace = trace, .report = report};
    memset(report, 0, sizeof *report);
    report->guest_addr = guest_addr;
    report->event = report->unregistered = report->fault.event = TRK_NOT_KNOWN;
    size_t streams = trk_trace_stream_count(trace);
    const uint8_t *end;
    looking.windowed = trk_trace_snapshot(trace, &end) != NULL;
    report->all_threads = trk_why_all_threads(trace);
    if (streams > ORDER_STREAMS_MAX)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "more than %u threads", ORDER_STREAMS_MAX);
    enum trk_status status = judge_init(&looking.judge, (uint32_t)streams, 1);
    if (status != TRK_OK)
        (void)trk_error_set(error, status, "no memory");
    if (status == TRK_OK)
        status = trk_trace_rewind(trace, error);
    if (status == TRK_OK && !trk_trace_state(trace).complete)
        status = losses_find_all(&looking.passed.losses, trace);
    if (status == TRK_OK)
        judge_disorder(&looking.judge, &looking.passed.losses.disorder);
    if (status == TRK_OK)
        status = read_events(&looking, trace, event, error);
    if (status == TRK_OK) {
        find_byte(&looking);
        add_stores(&looking);
        say(&looking);
    }
    judge_deinit(&looking.judge);
    losses_deinit(&looking.passed.losses);
    return status;
}
