#include "diff_traces.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "command.h"
#include "diff_print.h"
#include "input.h"
#include "terminal.h"

struct comparing {
    const struct trk_options *options;
    struct trk_input inputs[2];
    struct trk_look looks[2];
    struct trk_redact moves[2]; /* how addresses are moved */
    struct trk_pair pair;
    struct trk_items items[2];
    struct trk_diff diff;
    bool asked;
    int side; /* that an error is about */
};

static int open_both(struct comparing *comparing)
{
    struct trk_options second = *comparing->options;
    second.operands[0] = comparing->options->operands[1];
    int code = trk_input_open(&comparing->inputs[0], comparing->options, TRK_DIFF_SCHEMA);
    return code != TRK_EXIT_OK ? code
                               : trk_input_open(&comparing->inputs[1], &second, TRK_DIFF_SCHEMA);
}

static enum trk_status look_at_both(struct comparing *comparing, struct trk_error *error)
{
    const struct trk_trace *const traces[2] = {comparing->inputs[0].trace,
                                               comparing->inputs[1].trace};
    enum trk_status status = TRK_OK;
    for (int i = 0; status == TRK_OK && i < 2; i++) {
        comparing->side = i;
        comparing->looks[i].part = trk_pair_part(traces, i);
        status = trk_look_read(&comparing->looks[i], comparing->inputs[i].trace, comparing->asked,
                               error);
    }
    if (status == TRK_OK) {
        status = trk_pair_make(&comparing->pair, traces, comparing->looks);
        status = status == TRK_OK ? status : trk_error_set(error, status, "no memory");
    }
    return status;
}

/* ---- where memory lies ----------------------------------------------------------------------- */

static bool is_redacted(const struct trk_input *input)
{
    cJSON *header = cJSON_Parse(trk_trace_header_json(input->trace));
    bool redacted = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(header, "redacted"));
    cJSON_Delete(header);
    return redacted;
}

/* Whether both have the same memory at the same addresses: one recording's. */
static bool lies_alike(const struct comparing *comparing)
{
    return comparing->pair.kin && !is_redacted(&comparing->inputs[0]) &&
           !is_redacted(&comparing->inputs[1]);
}

/* Whether it follows from what is there how far addresses move. */
static bool moves_are_known(const struct comparing *comparing)
{
    bool whole = true;
    for (int i = 0; i < 2; i++) {
        whole = whole && comparing->looks[i].complete && comparing->looks[i].part == TRK_LOOK_ALL;
    }
    return whole || lies_alike(comparing) ||
           trk_redact_alike(&comparing->looks[0].redact, &comparing->looks[1].redact);
}

/* together: both by what either has. */
static void decide_moves(struct comparing *comparing, bool together)
{
    for (int i = 0; i < 2; i++) {
        comparing->moves[i] = comparing->looks[i].redact;
        if (together) {
            trk_redact_join(&comparing->moves[i], &comparing->looks[1 - i].redact);
        }
        trk_redact_decide(&comparing->moves[i]);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void forget(struct comparing *comparing)
{
    trk_items_free(&comparing->items[0]);
    trk_items_free(&comparing->items[1]);
    trk_diff_free(&comparing->diff);
}

static enum trk_status compare(struct comparing *comparing, bool places_unknown,
                               struct trk_error *error)
{
    const struct trk_diff_options options = {.places_unknown = places_unknown};
    enum trk_status status = TRK_OK;
    forget(comparing);
    for (int i = 0; status == TRK_OK && i < 2; i++) {
        const struct trk_items_options reading = {
            .pair = &comparing->pair,
            .side = i,
            .look = &comparing->looks[i],
            .redact = &comparing->moves[i],
            .asked = comparing->asked,
        };
        comparing->side = i;
        status = trk_items_read(&comparing->items[i], comparing->inputs[i].trace, &reading, error);
    }
    if (status == TRK_OK) {
        status =
            trk_diff_items(&comparing->items[0], &comparing->items[1], &options, &comparing->diff);
        status = status == TRK_OK ? status : trk_error_set(error, status, "no memory");
    }
    return status;
}

/*
 * Addresses move by the lowest region that is used. Where that may be lost both may lie where they
 * seem to, or where the other does; if they differ either way, pages are not judged.
 */
static enum trk_status compare_both(struct comparing *comparing, bool *places_unknown,
                                    struct trk_error *error)
{
    *places_unknown = false;
    decide_moves(comparing, lies_alike(comparing));
    enum trk_status status = compare(comparing, false, error);
    if (status != TRK_OK || comparing->diff.lane_count == 0 || moves_are_known(comparing)) {
        return status;
    }
    decide_moves(comparing, true);
    status = compare(comparing, false, error);
    if (status == TRK_OK && comparing->diff.lane_count > 0) {
        *places_unknown = true;
        status = compare(comparing, true, error);
    }
    return status;
}

static int run(struct comparing *comparing)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_diff_said said = {
        .inputs = comparing->inputs, .looks = comparing->looks, .diff = &comparing->diff};
    enum trk_status status = look_at_both(comparing, &error);
    if (status == TRK_OK) {
        status = compare_both(comparing, &said.places_unknown, &error);
    }
    if (status == TRK_OK) {
        status = trk_diff_print(&said, trk_options_flag(comparing->options, "json"), &error);
    }
    if (status != TRK_OK) {
        error.status = status;
        return trk_input_fail(&comparing->inputs[comparing->side], comparing->options,
                              TRK_DIFF_SCHEMA, &error);
    }
    trk_terminal_flush();
    for (int i = 0; i < 2; i++) {
        (void)trk_input_report(&comparing->inputs[i], comparing->options);
    }
    return trk_diff_verdict(&said);
}

int trk_diff_traces(const struct trk_options *options)
{
    struct comparing *comparing = calloc(1, sizeof *comparing); /* some 600 KiB */
    if (comparing == NULL) {
        struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
        (void)trk_error_set(&error, TRK_E_MEMORY, "no memory");
        return trk_terminal_error("diff", options->operands[0], &error);
    }
    comparing->options = options;
    comparing->asked = trk_options_flag(options, "asked");
    comparing->inputs[0].fd = comparing->inputs[1].fd = -1;
    int code = open_both(comparing);
    if (code == TRK_EXIT_OK) {
        code = run(comparing);
    }
    forget(comparing);
    trk_pair_free(&comparing->pair);
    for (int i = 0; i < 2; i++) {
        trk_look_free(&comparing->looks[i]);
        trk_input_close(&comparing->inputs[i]);
    }
    free(comparing);
    return code;
}
