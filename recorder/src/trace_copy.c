/* A trace's file as it is, from the descriptor that is read: the name may be another's by now. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "reader.h"

#define PIECE_BYTES 65536u

static enum trk_status write_piece(int fd, const struct trk_source_part *part,
                                   struct trk_error *error)
{
    size_t done = 0;
    while (done < part->got) {
        ssize_t put = pwrite(fd, part->to + done, part->got - done, (off_t)(part->offset + done));
        if (put < 0 && errno != EINTR) {
            return trk_error_set_errno(error, TRK_E_SYSTEM, errno, "writing the copy failed");
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return TRK_OK;
}

enum trk_status trk_trace_copy(const struct trk_trace *trace, int fd, struct trk_error *error)
{
    const uint64_t size_bytes = trace->source.size_bytes;
    struct trk_source_part part = {.to = malloc(PIECE_BYTES), .size_bytes = PIECE_BYTES};
    if (part.to == NULL) {
        return trk_error_set(error, TRK_E_MEMORY, "no memory to copy the trace");
    }
    enum trk_status status = TRK_OK;
    while (status == TRK_OK && part.offset < size_bytes) {
        status = trk_source_read(&trace->source, &part, error);
        if (status == TRK_OK && part.got == 0) {
            status = trk_error_set(error, TRK_E_INCOMPLETE, "the trace was cut short meanwhile");
        }
        if (status == TRK_OK) {
            status = write_piece(fd, &part, error);
        }
        part.offset += part.got;
    }
    free(part.to);
    return status;
}
