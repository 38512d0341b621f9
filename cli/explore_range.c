#include "explore_range.h"

#include <stdbool.h>

#include "command.h"
#include "explore_print.h"
#include "range.h"
#include "terminal.h"

int trk_explore_read_range(struct trk_input *input, const struct trk_options *options,
                           struct trk_explore_options *explore)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_range range;
    struct trk_trace_event event;
    bool any = false;
    enum trk_status status = trk_range_parse(options->operands[1], &range, &error);
    if (status == TRK_OK && (range.kind == TRK_RANGE_REGION || range.step > 1)) {
        status = trk_error_set(&error, TRK_E_ARGUMENT,
                               "expected events or frames without steps; --page names pages");
    }
    while (status == TRK_OK) {
        status = trk_trace_next(input->trace, &event, &error);
        if (status != TRK_OK || trk_range_ends_at(&range, &event)) {
            break;
        }
        if (trk_range_has(&range, &event)) {
            explore->from = any ? explore->from : event.number;
            explore->to = event.number;
            any = true;
        }
    }
    if (status == TRK_OK || status == TRK_E_END) {
        status = trk_trace_rewind(input->trace, &error);
    }
    if (status != TRK_OK) {
        error.status = status;
        return trk_input_fail(input, options, TRK_EXPLORE_SCHEMA, &error);
    }
    if (!any) {
        trk_terminal_say("explore", "%s: nothing in range", input->path);
        return TRK_EXIT_USAGE;
    }
    return TRK_EXIT_OK;
}
