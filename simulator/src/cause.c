/*
 * Why bytes were missed, in words: a table.
 */
#include "cause.h"

#include <stdio.h>
#include <string.h>

static const struct cause_words words[CAUSE_COUNT] = {
    [CAUSE_NONE] = {"", "", ""},
    [CAUSE_COPIED_BEFORE_ARM] =
        {"copied before re-arm",
         "the copy {copy} must come after the pages were taken and armed {clean}: a store between "
         "the two is in neither",
         "{clean} before {copy}: then the store {store} is copied, or faults and makes its page "
         "dirty again; or {store} before {copy}"},
    [CAUSE_TAKEN_NOT_COPIED] =
        {"taken, never copied",
         "the pages that {clean} took must be copied before their dirty bits count for nothing",
         "a copy of these bytes between {clean} and {read}"},
    [CAUSE_VIEW_NOT_TOLD] =
        {"stored through an untracked view",
         "an invalidate of the page before the store {store}: nobody watches this view, so the "
         "store itself can tell nobody",
         "an invalidate just before {store}|, or {store} before the copy {copy}"},
    [CAUSE_AGENT_NOT_TOLD] =
        {"stored without invalidate",
         "an invalidate of the page before the store {store}: what is no access of a guest thread "
         "raises no fault",
         "an invalidate just before {store}|, or {store} before the copy {copy}"},
    [CAUSE_NOT_ARMED] =
        {"missed re-arm",
         "the page must be closed to stores from the time it was taken until it is the CPU's "
         "again; it was open at {store}",
         "the page armed again before {store}, so that the store faults|; or {store} before the "
         "copy {copy}"},
    [CAUSE_COPIED_NOT_SEEN] =
        {"copied, not seen",
         "the copy {copy} begins after the store {store} and must bring its bytes",
         "a copy from the place that {store} wrote to"},
    [CAUSE_GPU_OVERWRITTEN] =
        {"copied over newer bytes",
         "the GPU's write {store} must come home before guest memory is copied over it {copy}",
         "a download between {store} and {copy}, or {copy} before {store}"},
    [CAUSE_NOT_COPIED_AGAIN] =
        {"copied, never re-read",
         "an upload of the page between the store {store} and the read {read}",
         "an upload after {store}|, or {store} before the copy {copy}"},
    [CAUSE_NEVER_COPIED] = {"never copied",
                            "an upload of the page between the store {store} and the read {read}",
                            "an upload after {store}"},
    [CAUSE_EARLY_READ_BACK] =
        {"read back before the GPU was done",
         "the copy {copy} must wait until the GPU has run the work of {store}",
         "the end of the GPU's work before {copy}"},
    [CAUSE_OLDER_DOWNLOAD] =
        {"downloaded older bytes",
         "the copy {copy} begins after the GPU's write {store} and must bring its bytes",
         "the GPU's work of {store} done before the bytes of {copy} are taken"},
    [CAUSE_HOME_NOT_COPIED] =
        {"given back, never copied home",
         "the bytes that {clean} gives back to the CPU must be copied home before anybody reads "
         "or overwrites them",
         "a copy home of these bytes between {clean} and {read}"},
    [CAUSE_NEVER_DOWNLOADED] = {"never downloaded",
                                "a download between the GPU's write {store} and the read {read}",
                                "a download after {store}"},
    [CAUSE_DOWNLOAD_OVER_NEWER] =
        {"downloaded over newer bytes",
         "the bytes of {store} must reach the GPU's copy before that is copied over them {copy}",
         "an upload between {store} and {copy}, or {copy} before {store}"},
    [CAUSE_OVERWRITTEN_BY_NOBODY] =
        {"overwritten by nobody known",
         "what wrote these bytes between {store} and {read} is not in the trace", ""},
    [CAUSE_UPLOAD_OVER_NEWER] =
        {"uploaded over newer bytes",
         "the GPU's write {store} must come home before guest memory is copied over it {copy}",
         "a download between {store} and {copy}, or {copy} before {store}"},
    [CAUSE_DROPPED] = {"given up with the only copy",
                       "a download between the GPU's write {store} and {at}",
                       "a download before {at}"},
    [CAUSE_REENTRY] = {"called from an upload's callback",
                       "the call {at} must wait until the upload around it has ended",
                       "{at} after the upload's end, or on another thread"},
    [CAUSE_RETAINED] = {"a flush left a page to the GPU",
                        "the flush must bring home every page of its range, to the last one",
                        "a flush of the whole range that it is given"},
    [CAUSE_REFUSED] = {"", "", ""},
    [CAUSE_UNPROVEN] = {"behind missing events",
                        "not known: events that came before are missing, or in an order that is "
                        "a guess",
                        ""},
};

const struct cause_words *cause_words(enum cause cause)
{
    return &words[cause];
}

/* The step that a word of a template stands for; 0: none. */
static size_t step_named(const struct cause_steps *steps, const char *word, size_t length)
{
    const struct {
        const char *word;
        size_t step;
    } names[] = {
        {"store", steps->store}, {"copy", steps->copy}, {"clean", steps->clean},
        {"read", steps->read},   {"at", steps->at},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].word) == length && memcmp(names[i].word, word, length) == 0)
            return names[i].step;
    }
    return 0;
}

void cause_fill(const char *form, const struct cause_steps *steps, char text[CAUSE_TEXT_BYTES])
{
    size_t used = 0;
    while (*form != '\0' && used + 8 < CAUSE_TEXT_BYTES) {
        if (*form == '|') {
            if (steps->copy == 0)
                break;
            form++;
            continue;
        }
        const char *end = *form == '{' ? strchr(form, '}') : NULL;
        if (end == NULL) {
            text[used++] = *form++;
            continue;
        }
        size_t step = step_named(steps, form + 1, (size_t)(end - form) - 1);
        form = end + 1;
        if (step > 0)
            used += (size_t)snprintf(text + used, CAUSE_TEXT_BYTES - used, "(%zu)", step);
    }
    text[used] = '\0';
}
