/*
 * The story of a scenario's verdict, out of the notes of its run.
 */
#include "simulator/scenario_story.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "scenario_schedule.h"
#include "scenario_tape.h"

#define NONE SIZE_MAX

/* The notes in order, and which of them are the story's persons. */
struct telling {
    const struct trk_scenario *scenario;
    const struct trk_scenario_report *report;
    struct trk_scenario_story *story;
    const struct scenario_tape *tape;
    size_t count;
    struct tape_note end; /* the verdict's operation, if it left no note */
    const struct tape_note *notes[SCENARIO_TAPE_NOTES + 1];
    size_t step[SCENARIO_TAPE_NOTES + 1]; /* of a note in the story, from 1; 0: left out */
    /* Indices or NONE. asked: where the GPU was given the work that stores later; left: reported
     * behind the store, and not copied. */
    size_t store, copy_before, copy_after, closing, opened, asked, left;
};

static bool is_verdict(const struct telling *telling, const char *verdict)
{
    return strcmp(telling->report->verdict, verdict) == 0;
}

static bool is_write(const struct tape_note *note)
{
    return note->kind == TAPE_STORE || note->kind == TAPE_GPU_WRITE;
}

/* Whose copy is concerned. */
static bool gpu_side(const struct telling *telling)
{
    return is_verdict(telling, "stale-gpu-read") || is_verdict(telling, "lost-gpu-write");
}

/* ---- who is who ------------------------------------------------------------------------------ */

/* An upload has taken the page: closed it to stores. */
static bool is_closing(const struct tape_note *note)
{
    return note->kind == TAPE_RIGHTS && !(note->rights & TRK_RIGHT_WRITE) && note->op != NULL &&
           (note->op->verb == VERB_UPLOAD || note->op->verb == VERB_UPLOAD_AT_END);
}

static void find_persons(struct telling *telling)
{
    enum tape_kind copy = gpu_side(telling) ? TAPE_COPY_UP : TAPE_COPY_DOWN;
    telling->store = telling->copy_before = telling->copy_after = NONE;
    telling->closing = telling->opened = telling->asked = telling->left = NONE;
    for (size_t i = 0; i < telling->count; i++) {
        const struct tape_note *note = telling->notes[i];
        if (telling->tape->newer != NULL && is_write(note) && note->op == telling->tape->newer)
            telling->store = i;
        else if (note->kind == TAPE_GPU_LATE && note->op == telling->tape->newer)
            telling->asked = i;
    }
    if (telling->store == NONE)
        return;
    enum tape_kind left =
        telling->notes[telling->store]->kind == TAPE_GPU_WRITE ? TAPE_LEFT_DOWN : TAPE_LEFT_UP;
    for (size_t i = 0; i < telling->count; i++) {
        const struct tape_note *note = telling->notes[i];
        bool after = i > telling->store;
        if (note->kind == copy)
            *(after ? &telling->copy_after : &telling->copy_before) = i;
        else if (is_closing(note) && after && telling->closing == NONE)
            telling->closing = i;
        else if (note->kind == left && after && telling->left == NONE)
            telling->left = i;
        else if (note->kind == TAPE_RIGHTS && !after)
            telling->opened = i;
    }
}

/* Why nobody could know of the store, or CAUSE_NONE. */
static enum cause untold(const struct telling *telling)
{
    const struct tape_note *store = telling->notes[telling->store];
    uint64_t page = telling->tape->focus & ~(uint64_t)(SCENARIO_PAGE_BYTES - 1);
    if (store->kind == TAPE_GPU_WRITE || store->state == SAID_CPU || store->after_fault)
        return CAUSE_NONE;
    if (store->op->verb != VERB_STORE)
        return CAUSE_AGENT_NOT_TOLD;
    bool other_view = store->guest_addr >= page + SCENARIO_PAGE_BYTES ||
                      store->guest_addr + store->size_bytes <= page;
    return other_view ? CAUSE_VIEW_NOT_TOLD : CAUSE_NOT_ARMED;
}

/* Of a store that no thread missed to tell of: what was left out on the way to who needed it. */
static enum cause left_out(const struct telling *telling)
{
    if (telling->left == NONE)
        return CAUSE_NONE;
    return telling->notes[telling->store]->kind == TAPE_GPU_WRITE ? CAUSE_HOME_NOT_COPIED
                                                                  : CAUSE_TAKEN_NOT_COPIED;
}

static enum cause first_of(enum cause one, enum cause other)
{
    return one != CAUSE_NONE ? one : other;
}

static enum cause stale_gpu_cause(const struct telling *telling)
{
    bool by_gpu = telling->notes[telling->store]->kind == TAPE_GPU_WRITE;
    if (telling->copy_after != NONE)
        return by_gpu ? first_of(left_out(telling), CAUSE_GPU_OVERWRITTEN) : CAUSE_COPIED_NOT_SEEN;
    if (untold(telling) != CAUSE_NONE)
        return untold(telling);
    bool taken = telling->closing != NONE || telling->left != NONE;
    if (telling->copy_before == NONE)
        return taken ? CAUSE_TAKEN_NOT_COPIED : CAUSE_NEVER_COPIED;
    if (!taken)
        return CAUSE_NOT_COPIED_AGAIN;
    /* An upload's own copy is behind its taking: it is no part of this one. */
    return telling->notes[telling->copy_before]->op->verb == VERB_COPY_UP ? CAUSE_COPIED_BEFORE_ARM
                                                                          : CAUSE_TAKEN_NOT_COPIED;
}

/* Whether the bytes came home between the asking for the GPU's work and its end. */
static bool came_early(const struct telling *telling)
{
    return telling->asked != NONE && telling->copy_before != NONE && telling->copy_after == NONE &&
           telling->asked < telling->copy_before;
}

static enum cause cause_of(const struct telling *telling)
{
    if (is_verdict(telling, "fatal:reentry"))
        return CAUSE_REENTRY;
    if (is_verdict(telling, "fatal:retained"))
        return CAUSE_RETAINED;
    if (telling->store == NONE)
        return CAUSE_NONE;
    bool by_gpu = telling->notes[telling->store]->kind == TAPE_GPU_WRITE;
    bool copied = telling->copy_after != NONE;
    if (is_verdict(telling, "stale-gpu-read"))
        return stale_gpu_cause(telling);
    if (is_verdict(telling, "stale-cpu-read") && by_gpu && came_early(telling))
        return CAUSE_EARLY_READ_BACK;
    if (is_verdict(telling, "stale-cpu-read") && by_gpu)
        return copied ? CAUSE_OLDER_DOWNLOAD : first_of(left_out(telling), CAUSE_NEVER_DOWNLOADED);
    if (is_verdict(telling, "stale-cpu-read"))
        return !copied ? CAUSE_OVERWRITTEN_BY_NOBODY
                       : first_of(left_out(telling), CAUSE_DOWNLOAD_OVER_NEWER);
    if (is_verdict(telling, "lost-gpu-write"))
        return first_of(left_out(telling), copied ? CAUSE_UPLOAD_OVER_NEWER : CAUSE_DROPPED);
    if (is_verdict(telling, "lost-cpu-write"))
        return first_of(untold(telling), first_of(left_out(telling), CAUSE_DOWNLOAD_OVER_NEWER));
    return CAUSE_NONE;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const char *state_word(uint8_t state)
{
    return state == SAID_GPU     ? "the GPU's: closed to all accesses"
           : state == SAID_CLEAN ? "CLEAN: no dirty bit, closed to stores"
                                 : "open to the CPU, dirty bit set";
}

static void note_text(const struct telling *telling, const struct tape_note *note, char *text,
                      size_t size)
{
    if (note == &telling->end) {
        snprintf(text, size, "%.80s: %.100s", telling->report->operation_text,
                 telling->report->text);
        return;
    }
    const char *op = note->op != NULL ? note->op->text : "the host";
    switch (note->kind) {
    case TAPE_STORE:
        snprintf(text, size, "%s: the bytes change in guest memory, %s; the page is %s", op,
                 note->after_fault                                  ? "after a fault"
                 : note->op != NULL && note->op->verb == VERB_STORE ? "no fault"
                                                                    : "which raises no fault",
                 state_word(note->state));
        return;
    case TAPE_GPU_WRITE:
        snprintf(text, size, "%s: the bytes change in the GPU's copy", op);
        return;
    case TAPE_GPU_LATE:
        snprintf(text, size, "%s: the GPU is given this work, and has not run it yet", op);
        return;
    case TAPE_COPY_UP:
        snprintf(text, size, "%s: guest memory's bytes are copied to the GPU here", op);
        return;
    case TAPE_COPY_DOWN:
        snprintf(text, size, "%s: the GPU's bytes are copied home here", op);
        return;
    case TAPE_LEFT_UP:
        snprintf(text, size, "%s: the page is reported, and nothing is copied to the GPU", op);
        return;
    case TAPE_LEFT_DOWN:
        snprintf(text, size, "%s: the page is reported, and nothing is copied home", op);
        return;
    case TAPE_FAULT:
        snprintf(text, size, "%s: faults; the page is %s", op, state_word(note->state));
        return;
    case TAPE_RIGHTS:
        snprintf(text, size, "%s: the host page is %s", op,
                 note->rights & TRK_RIGHT_WRITE  ? "opened"
                 : note->rights & TRK_RIGHT_READ ? "closed to stores"
                                                 : "closed to all accesses");
        return;
    default:
        snprintf(text, size, "%s: reads the bytes, which are too old", op);
        return;
    }
}

static void add_role(struct telling *telling, size_t note, const char *role)
{
    if (note == NONE || telling->step[note] == 0)
        return;
    char *text = telling->story->lines[telling->step[note] - 1].role;
    size_t used = strlen(text), room = sizeof telling->story->lines[0].role;
    snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", role);
}

static void add_step(struct telling *telling, size_t i)
{
    struct trk_scenario_story *story = telling->story;
    if (story->count == TRK_SCENARIO_STORY_LINES)
        return;
    struct trk_scenario_line *line = &story->lines[story->count++];
    const struct tape_note *note = telling->notes[i];
    telling->step[i] = story->count;
    snprintf(line->thread, sizeof line->thread, "%s",
             telling->scenario->threads[note->thread].name);
    note_text(telling, note, line->text, sizeof line->text);
}

/* What led to the store, the store, and the end. Without a store: the end. */
static void add_steps(struct telling *telling)
{
    size_t most = TRK_SCENARIO_STORY_LINES - 1, first = telling->store;
    if (first == NONE)
        first = telling->count > most ? telling->count - most : 0;
    for (size_t i = 0; i < first; i++) {
        bool fault = telling->store != NONE && telling->notes[i]->kind == TAPE_FAULT &&
                     telling->notes[i]->op == telling->notes[telling->store]->op;
        if (i == telling->copy_before || i == telling->opened || i == telling->asked || fault)
            add_step(telling, i);
    }
    /* The newest must not be cut off. */
    size_t room = most - telling->story->count, rest = telling->count - first;
    for (size_t i = first; i < telling->count; i++) {
        bool person = i == telling->store || i == telling->copy_after || i == telling->closing ||
                      i == telling->left;
        if (person || rest <= room || i + (room - 3) > telling->count)
            add_step(telling, i);
    }
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* What holds for verdicts that are not about bytes. */
static const struct {
    const char *verdict, *missing, *passes;
} others[] = {
    {"protection-loose",
     "the host's rights must be taken from the page in the same hold in which its state or watches "
     "change",
     "the protection call before anybody else can look at the page"},
    {"kernel-access",
     "the page must be opened before the kernel is called: a system call gets no fault, but an "
     "error",
     "an invalidate or a download of the range just before the call"},
    {"unhandled-fault", "the byte must be registered and mapped when its fault is served", ""},
    {"livelock", "a served fault must change something before the access is tried again", ""},
    {"deadlock", "all threads must take these locks in one order, and wait for nothing inside them",
     "one of the waiting threads through before the other begins"},
    {"watch-leak", "each watch must be taken back before its page is untracked", ""},
};

static void say_writer(struct telling *telling)
{
    const struct tape_note *note = telling->notes[telling->store];
    snprintf(telling->story->writer, sizeof telling->story->writer, "%s, operation %" PRIu32 ": %s",
             telling->scenario->threads[note->thread].name, note->op->number, note->op->text);
}

static size_t step_of(const struct telling *telling, size_t note)
{
    return note == NONE ? 0 : telling->step[note];
}

static void say(struct telling *telling)
{
    struct trk_scenario_story *story = telling->story;
    enum cause cause = cause_of(telling);
    size_t last = telling->count > 0 ? telling->count - 1 : NONE;
    bool before = cause == CAUSE_COPIED_BEFORE_ARM || cause == CAUSE_NOT_COPIED_AGAIN ||
                  cause == CAUSE_EARLY_READ_BACK || telling->copy_after == NONE;
    size_t copy = before ? telling->copy_before : telling->copy_after;
    size_t taken = cause == CAUSE_COPIED_BEFORE_ARM && telling->closing != NONE ? telling->closing
                   : telling->left != NONE                                      ? telling->left
                                                                                : telling->closing;
    struct cause_steps steps = {
        .store = step_of(telling, cause == CAUSE_EARLY_READ_BACK ? telling->asked : telling->store),
        .copy = step_of(telling, copy),
        .clean = step_of(telling, taken),
        .read = step_of(telling, last),
        .at = step_of(telling, last),
    };
    bool by_taking = cause == CAUSE_COPIED_BEFORE_ARM || cause == CAUSE_TAKEN_NOT_COPIED ||
                     cause == CAUSE_HOME_NOT_COPIED;
    size_t at = by_taking                                                        ? taken
                : cause >= CAUSE_VIEW_NOT_TOLD && cause <= CAUSE_NOT_ARMED       ? telling->store
                : cause == CAUSE_NEVER_COPIED || cause == CAUSE_NEVER_DOWNLOADED ? last
                                                                                 : copy;
    add_role(telling, telling->store, ROLE_LAST_WRITER);
    add_role(telling, cause == CAUSE_NONE ? last : at, ROLE_AT_FAULT);
    add_role(telling, last, ROLE_VISIBLE);
    snprintf(story->detail, sizeof story->detail, "%s", cause_words(cause)->detail);
    cause_fill(cause_words(cause)->missing, &steps, story->missing);
    cause_fill(cause_words(cause)->passes, &steps, story->passes);
    for (size_t i = 0; cause == CAUSE_NONE && i < sizeof others / sizeof *others; i++) {
        if (!is_verdict(telling, others[i].verdict))
            continue;
        snprintf(story->missing, sizeof story->missing, "%s", others[i].missing);
        snprintf(story->passes, sizeof story->passes, "%s", others[i].passes);
    }
    if (telling->store != NONE)
        say_writer(telling);
}

/* An operation that breaks a rule need not touch the page's bytes: the story ends with it still. */
static void add_end(struct telling *telling)
{
    const struct trk_scenario *scenario = telling->scenario;
    const struct trk_scenario_report *report = telling->report;
    if (telling->count == 0 || report->thread[0] == '\0')
        return;
    const struct tape_note *last = telling->notes[telling->count - 1];
    bool same_thread = strcmp(scenario->threads[last->thread].name, report->thread) == 0;
    if (same_thread && last->op != NULL && last->op->number == report->operation &&
        strcmp(last->op->text, report->operation_text) == 0)
        return;
    for (uint32_t i = 0; i < scenario->thread_count; i++)
        if (strcmp(scenario->threads[i].name, report->thread) == 0)
            telling->end.thread = i;
    telling->end.kind = TAPE_END;
    telling->notes[telling->count++] = &telling->end;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum trk_status run_again(const struct trk_scenario *scenario,
                                 const struct trk_scenario_report *report,
                                 struct scenario_tape *tape)
{
    struct trk_scenario_fault fault;
    struct trk_scenario_report again;
    struct schedule_request request = {.tape = tape, .fault = &fault};
    bool one =
        scenario->schedule.kind == SCHEDULE_IN_ORDER || scenario->schedule.kind == SCHEDULE_LIST;
    if (report->guest_addr == TRK_NOT_KNOWN || (report->schedule[0] == '\0' && !one))
        return TRK_OK;
    if (report->schedule[0] == '\0')
        return schedule_scenario(scenario, &request, &again);
    return schedule_line(scenario, report->schedule, &request, &again);
}

enum trk_status trk_scenario_tell(const struct trk_scenario *scenario,
                                  const struct trk_scenario_report *report,
                                  struct trk_scenario_story *story)
{
    struct scenario_tape tape = {.focus = report->guest_addr};
    struct telling telling = {
        .scenario = scenario, .report = report, .story = story, .tape = &tape};
    memset(story, 0, sizeof *story);
    enum trk_status status = run_again(scenario, report, &tape);
    if (status != TRK_OK)
        return status;
    size_t first = tape.count > SCENARIO_TAPE_NOTES ? tape.count - SCENARIO_TAPE_NOTES : 0;
    for (size_t i = first; i < tape.count; i++)
        telling.notes[telling.count++] = &tape.notes[i % SCENARIO_TAPE_NOTES];
    add_end(&telling);
    find_persons(&telling);
    add_steps(&telling);
    say(&telling);
    return TRK_OK;
}
