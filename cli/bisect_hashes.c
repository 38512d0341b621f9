/* What the pages of a trace hold at the end of its frames, as the lines of a file. */
#include <inttypes.h>
#include <stdio.h>

#include "bisect_probe.h"
#include "contents.h"
#include "progress.h"
#include "simulator/why.h"
#include "terminal.h"

int trk_bisect_hashes(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_contents contents;
    struct trk_options shifted = *options; /* the trace is the first operand */
    struct trk_input input;
    if (options->operand_count != 2) {
        trk_terminal_say("bisect", "hashes: expected a trace: trk bisect hashes F");
        return TRK_EXIT_USAGE;
    }
    shifted.operands[0] = options->operands[1];
    shifted.operand_count = 1;
    int code = trk_input_open(&input, &shifted, TRK_BISECT_SYMPTOM_SCHEMA);
    if (code != TRK_EXIT_OK) {
        return code;
    }
    enum trk_status status = trk_contents_of_trace(&contents, input.trace, &error);
    if (status != TRK_OK) {
        error.status = status;
        code = trk_input_fail(&input, &shifted, TRK_BISECT_SYMPTOM_SCHEMA, &error);
    } else if (contents.count == 0) {
        trk_terminal_say("bisect",
                         "%s: it has no contents of pages in a frame (trk record "
                         "--payload hash)",
                         input.path);
        code = TRK_EXIT_DAMAGED;
    } else {
        trk_progress_wipe();
        for (size_t i = 0; i < contents.count; i++) {
            printf("frame:%" PRIu64 ",range:0x%" PRIx64 "+%u,hash:0x%016" PRIx64 "\n",
                   contents.list[i].frame, contents.list[i].guest_addr, TRK_CONTENTS_PAGE_BYTES,
                   contents.list[i].hash);
        }
        trk_terminal_flush();
        if (!trk_why_all_threads(input.trace)) {
            trk_terminal_say("bisect",
                             "%s: of the threads that are in the file; it has no end, so "
                             "others may be missing",
                             input.path);
        }
        code = trk_input_report(&input, &shifted);
    }
    trk_contents_deinit(&contents);
    trk_input_close(&input);
    return code;
}
