/*
 * Lets the places of events jump, under right checksums: as if a writer had lost some without a
 * word.
 *
 *     jump_trace FILE N     the last chunk of events has N places more before it
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format.h"

int main(int argc, char **argv)
{
    struct trk_format_file file;
    struct trk_format_chunk chunk;
    struct trk_format_chunk last = {.kind = 0};
    struct trk_error error;
    uint8_t bytes[TRK_FORMAT_CHUNK_BYTES];
    off_t last_at = 0;
    int fd = argc == 3 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || pread(fd, bytes, TRK_FORMAT_FILE_BYTES, 0) != (ssize_t)TRK_FORMAT_FILE_BYTES ||
        trk_format_get_file(bytes, &file, &error) != TRK_OK) {
        fprintf(stderr, "usage: jump_trace FILE N\n");
        return 2;
    }
    for (off_t at = TRK_FORMAT_FILE_BYTES;
         pread(fd, bytes, sizeof bytes, at) == (ssize_t)sizeof bytes &&
         trk_format_get_chunk(bytes, file.sync, &chunk);
         at += (off_t)trk_format_chunk_span(&chunk)) {
        if (chunk.kind == TRK_FORMAT_EVENTS) {
            last = chunk;
            last_at = at;
        }
    }
    last.first_ordinal += strtoul(argv[2], NULL, 10);
    trk_format_put_chunk(bytes, file.sync, &last);
    return last_at == 0 || pwrite(fd, bytes, sizeof bytes, last_at) != (ssize_t)sizeof bytes;
}
