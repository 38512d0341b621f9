/*
 * Verdicts of the oracle: the story of bytes that somebody missed, told for a reader who knows
 * neither the tracker nor this program.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "story.h"

static const char *const agent_words[] = {
    [TRK_AGENT_CPU] = "by a guest's access",      [TRK_AGENT_GPU] = "by the GPU",
    [TRK_AGENT_HLE] = "by the emulator",          [TRK_AGENT_KERNEL] = "by the kernel",
    [TRK_AGENT_FOREIGN] = "by a foreign mapping",
};

static const char *const state_words[] = {
    [SAID_CPU] = "open to the CPU, dirty bit set",
    [SAID_CLEAN] = "CLEAN: no dirty bit, closed to stores",
    [SAID_GPU] = "the GPU's: closed to all accesses",
};

/* ---- words for one store --------------------------------------------------------------------- */

/* "stamp 7", or what stands for it where the content is not known. */
struct content {
    char text[24];
};

static struct content content_of(uint32_t stamp)
{
    struct content content;
    if (stamp == 0)
        snprintf(content.text, sizeof content.text, "unknown bytes");
    else
        snprintf(content.text, sizeof content.text, "stamp %" PRIu32, stamp);
    return content;
}

static const char *fault_words(const struct shadow_store *store)
{
    if (store->flags & SHADOW_STORE_FAULTED)
        return "after a fault";
    if (store->agent != TRK_AGENT_CPU)
        return "which raises no fault";
    return store->flags & SHADOW_STORE_UNTRACKED ? "through a view that nobody watches, no fault"
                                                 : "no fault";
}

static void add_store(struct run *run, const struct finding *finding)
{
    const struct shadow_store *store = &finding->store;
    struct content content = content_of(store->stamp);
    if (store->flags & SHADOW_STORE_GPU)
        story_add(run, store->event, store->stream,
                  "has the GPU write %s there: only the GPU's copy has it", content.text);
    else if (store->flags & SHADOW_STORE_SAID)
        story_add(run, store->event, store->stream, "stores %s there %s, %s; the page is %s",
                  content.text, agent_words[store->agent], fault_words(store),
                  state_words[store->state]);
    else
        story_add(run, store->event, store->stream, "stores %s there %s, %s", content.text,
                  agent_words[store->agent], fault_words(store));
    story_role(run, store->event, ROLE_LAST_WRITER);
}

/* What closed the page before a store that should have faulted or told. */
static void add_closing(struct run *run, const struct finding *finding)
{
    const struct shadow_store *store = &finding->store;
    if (finding_untold(store) == CAUSE_NONE || !(store->flags & SHADOW_STORE_SAID) ||
        store->since == TRK_NOT_KNOWN)
        return;
    story_add(run, store->since, store->since_stream, "%s puts the page %s",
              trk_op_name(store->since_op),
              store->state == SAID_GPU ? "into the GPU's hands: it is closed to all accesses"
                                       : "into CLEAN: it is armed, the next store must fault");
    if (finding->protect != 0)
        story_add(run, finding->protect - 1, store->stream,
                  "the guest's own rights of the page were changed; the page must stay armed");
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* The event by which a copy is named. */
static uint64_t copy_event(const struct shadow_copy *copy)
{
    return copy->flags & SHADOW_COPY_ENDED ? copy->end : copy->begin;
}

static void add_copy(struct run *run, const struct finding *finding)
{
    const struct shadow_copy *copy = &finding->copy;
    if (!finding->has_copy)
        return;
    bool up = finding->kind == TRK_VERDICT_LOST_GPU_WRITE ||
              (finding->agent == TRK_AGENT_GPU && finding->kind == TRK_VERDICT_STALE_GPU_READ);
    if (copy->flags & SHADOW_COPY_ENDED) {
        story_add(run, copy_event(copy), copy->stream,
                  up ? "ends a copy of " STORY_SPAN " to the GPU; where it began is lost"
                     : "ends a copy of " STORY_SPAN " home from the GPU's; where it began is lost",
                  copy->guest_addr, copy->size_bytes);
        return;
    }
    story_add(run, copy_event(copy), copy->stream,
              up ? "copies " STORY_SPAN " to the GPU: guest memory's bytes are taken here%s"
                 : "copies " STORY_SPAN " home from the GPU's copy%s",
              copy->guest_addr, copy->size_bytes,
              copy->flags & SHADOW_COPY_EARLY ? ", before the GPU has run the work that writes them"
                                              : "");
}

static void add_read(struct run *run, const struct finding *finding)
{
    struct content needs = content_of(finding->store.stamp);
    const char *side = finding->agent == TRK_AGENT_GPU ? "GPU" : "CPU";
    if (finding->kind != TRK_VERDICT_STALE_GPU_READ && finding->kind != TRK_VERDICT_STALE_CPU_READ)
        return;
    if (finding->stamped)
        story_add(run, finding->check.event, finding->check.stream,
                  "reads it on the %s: sees %s, needs %s", side, content_of(finding->seen).text,
                  needs.text);
    else
        story_add(run, finding->check.event, finding->check.stream,
                  "has the %s read it: the copy is older than %s", side, needs.text);
    story_role(run, finding->check.event, ROLE_VISIBLE);
}

static void add_steps(struct run *run, const struct finding *finding)
{
    add_closing(run, finding);
    add_copy(run, finding);
    add_store(run, finding);
    if (finding->cause == CAUSE_HOME_NOT_COPIED)
        story_add(run, finding->clean.event, finding->clean.stream,
                  STORY_SPAN " is given back to the CPU, and no copy home is noted",
                  finding->clean.guest_addr, finding->clean.size_bytes);
    else if (finding->has_clean)
        story_add(run, finding->clean.event, finding->clean.stream,
                  "an upload takes " STORY_SPAN
                  ": CLEAN and armed from here on, its dirty bits cleared",
                  finding->clean.guest_addr, finding->clean.size_bytes);
    add_read(run, finding);
    if (finding->cause == CAUSE_DROPPED)
        story_add(run, finding->check.event, finding->check.stream,
                  STORY_SPAN " is the CPU's from here on: the GPU's copy counts no more",
                  finding->check.guest_addr, finding->check.size_bytes);
}

/* ---- the sentences --------------------------------------------------------------------------- */

static void say_writer(struct run *run, const struct finding *finding)
{
    const struct shadow_store *store = &finding->store;
    struct trk_sim_report *report = run->report;
    snprintf(report->writer, sizeof report->writer, "%s, %s, event %" PRIu64 ": %s",
             story_stream(run, store->stream).text,
             store->flags & SHADOW_STORE_GPU ? "by the GPU" : agent_words[store->agent],
             store->event, content_of(store->stamp).text);
}

static void say_holder(struct run *run, const struct finding *finding)
{
    struct trk_sim_report *report = run->report;
    const char *words;
    if (finding->cause == CAUSE_UNPROVEN && finding->kind != TRK_VERDICT_LOST_CPU_WRITE) {
        snprintf(report->holder, sizeof report->holder,
                 "not known: events are missing, or their order is a guess");
        return;
    }
    switch (finding->kind) {
    case TRK_VERDICT_LOST_GPU_WRITE:
        words = finding->cause == CAUSE_DROPPED ? "in the GPU's copy, which counts no more"
                                                : "nowhere: the GPU's copy was overwritten";
        break;
    case TRK_VERDICT_LOST_CPU_WRITE:
        words = finding->latent ? "in guest memory only, and nothing says so"
                                : "nowhere: guest memory was overwritten";
        break;
    case TRK_VERDICT_STALE_CPU_READ:
        words = finding->store.flags & SHADOW_STORE_GPU
                    ? "in the GPU's copy; guest memory has older ones"
                    : "nowhere in guest memory";
        break;
    default:
        words = finding->store.flags & SHADOW_STORE_GPU ? "nowhere in the GPU's copy"
                : finding->queued && finding->copy.begin > finding->store.event
                    ? "in guest memory, and maybe in a copy that the GPU has not run"
                    : "in guest memory; the GPU's copy has older ones";
        break;
    }
    snprintf(report->holder, sizeof report->holder, "%s", words);
}

static void say_teller(struct run *run, const struct finding *finding)
{
    struct trk_sim_report *report = run->report;
    const struct shadow_store *store = &finding->store;
    if (finding->cause == CAUSE_UNPROVEN) {
        snprintf(report->teller, sizeof report->teller,
                 "not known: who left the bytes behind may be missing");
        return;
    }
    if (store->flags & SHADOW_STORE_GPU) {
        snprintf(report->teller, sizeof report->teller,
                 "the page's GPU bit, which brings its bytes home before the CPU reads them");
        return;
    }
    if (!(store->flags & SHADOW_STORE_SAID)) {
        snprintf(report->teller, sizeof report->teller,
                 "the page's dirty bit; the trace does not say what it was");
        return;
    }
    const char *way = store->agent != TRK_AGENT_CPU || (store->flags & SHADOW_STORE_UNTRACKED)
                          ? "an invalidate by whoever stored"
                          : "a fault of the store";
    snprintf(report->teller, sizeof report->teller,
             "the page's dirty bit, set by %s; at the store the page was %s", way,
             state_words[store->state]);
}

static void say_all(struct run *run, const struct finding *finding)
{
    struct trk_sim_report *report = run->report;
    const struct cause_words *words = cause_words(finding->cause);
    story_role(run, finding->event_at, ROLE_AT_FAULT);
    if (finding->has_copy && finding->event_at == finding->copy.end)
        story_role(run, copy_event(&finding->copy), ROLE_AT_FAULT);
    if (finding->has_clean || finding->cause == CAUSE_DROPPED)
        story_role(run, finding->event_at, "point of no return");
    if (finding->has_copy && (finding->kind == TRK_VERDICT_LOST_CPU_WRITE ||
                              finding->kind == TRK_VERDICT_LOST_GPU_WRITE))
        story_role(run, copy_event(&finding->copy), "lost here");
    say_writer(run, finding);
    say_holder(run, finding);
    say_teller(run, finding);
    const struct cause_steps steps = {
        .store = story_step(run, finding->store.event),
        .copy = finding->has_copy ? story_step(run, copy_event(&finding->copy)) : 0,
        .clean = finding->has_clean ? story_step(run, finding->clean.event) : 0,
        .read = story_step(run, finding->check.event),
        .at = story_step(run, finding->event_at),
    };
    cause_fill(words->missing, &steps, report->missing);
    cause_fill(words->passes, &steps, report->passes);
}

static void say_text(struct run *run, const struct finding *finding, const char *detail)
{
    struct content content = content_of(finding->store.stamp);
    const char *writer = story_stream(run, finding->store.stream).text;
    switch (finding->kind) {
    case TRK_VERDICT_LOST_CPU_WRITE:
    case TRK_VERDICT_LOST_GPU_WRITE:
        story_text(run, "%s of %s to " STORY_SPAN " is lost%s: %s", content.text,
                   story_stream(run, finding->store.stream).text, finding->guest_addr,
                   finding->size_bytes, finding->latent ? " to the GPU" : "", detail);
        return;
    default:
        story_text(run, "%s read of " STORY_SPAN " by %s is older than %s of %s: %s",
                   finding->agent == TRK_AGENT_GPU ? "GPU" : "CPU", finding->guest_addr,
                   finding->size_bytes, story_stream(run, finding->check.stream).text, content.text,
                   writer, detail);
    }
}

void verdict_finding(struct run *run, const struct finding *finding)
{
    const char *detail = cause_words(finding->cause)->detail;
    story_set(run, finding->kind, finding->event_at, finding->stream_at, finding->check.event);
    story_range(run, finding->guest_addr, finding->size_bytes);
    story_detail(run, detail);
    say_text(run, finding, detail);
    add_steps(run, finding);
    say_all(run, finding);
}
