#include "explore_range.h"

#include <stdbool.h>

#include "clock.h"
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
    range.ticks_a_microsecond =
        trk_clock_from_header(trk_trace_header_json(input->trace)).ticks_a_microsecond;
    if (status == TRK_OK && range.kind == TRK_RANGE_REGION) {
        status = trk_error_set(&error, TRK_E_ARGUMENT,
                               "expected events, frames or a time; --page names pages");
    } else if (status == TRK_OK && range.kind == TRK_RANGE_TIME && range.ticks_a_microsecond <= 0) {
        status =
            trk_error_set(&error, TRK_E_ARGUMENT, "the header does not say how long a tick is");
    }
    if (status == TRK_OK) {
        status = trk_range_join(&range, &error);
    }
    while (status == TRK_OK) {
        status = trk_trace_next(input->trace, &event, &error);
        if (status == TRK_OK && trk_range_has(&range, &event)) {
            explore->from = any ? explore->from : event.number;
            explore->to = event.number;
            any = true;
        }
        if (status == TRK_OK && trk_range_ends_at(&range, &event)) {
            break;
        }
    }
    trk_range_free(&range);
    if (status == TRK_OK || status == TRK_E_END) {
        status = trk_trace_rewind(input->trace, &error);
    }
    if (status != TRK_OK) {
        error.status = status;
        return trk_input_fail(input, options, TRK_EXPLORE_SCHEMA, &error);
    }
    if (!any) {
        char closest[TRK_RANGE_CLOSEST_BYTES];
        trk_range_closest(&range, closest);
        trk_terminal_say("explore", "%s: nothing in range: %s", input->path, closest);
        return TRK_EXIT_USAGE;
    }
    return TRK_EXIT_OK;
}
