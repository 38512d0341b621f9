/*
 * Goal: no text makes the assembler crash, and a trace that it has made holds what it says.
 * Method: each input is taken line by line; a result with an end is verified.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "recorder/text.h"

/* Lines of the input, each in memory of its own size. */
static enum trk_status take_lines(struct trk_assemble *assemble, const uint8_t *bytes,
                                  size_t size_bytes, struct trk_error *error)
{
    enum trk_status status = TRK_OK;
    while (size_bytes > 0 && status == TRK_OK) {
        const uint8_t *end = memchr(bytes, '\n', size_bytes);
        size_t length = end != NULL ? (size_t)(end - bytes) : size_bytes;
        char *line = malloc(length + 1);
        memcpy(line, bytes, length);
        line[length] = '\0';
        status = trk_assemble_line(assemble, line, error);
        free(line);
        length += end != NULL;
        bytes += length;
        size_bytes -= length;
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_assemble *assemble;
    struct trk_error error = {.status = TRK_OK};
    struct trk_digest digest;
    bool ended = false;
    int fd = memfd_create("assembled", MFD_CLOEXEC);
    if (fd < 0 || trk_assemble_create(&assemble, fd) != TRK_OK) {
        close(fd);
        return 0;
    }
    enum trk_status status = take_lines(assemble, bytes, size_bytes, &error);
    if (status == TRK_OK) {
        status = trk_assemble_finish(assemble, &digest, &ended, &error);
    }
    trk_assemble_destroy(assemble);
    if (status == TRK_OK && ended) {
        char path[40];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        status = trk_trace_verify(path, &digest, &error);
        /* A text may hold a note, schema or chunk that a reader refuses; not other events. */
        if (status == TRK_E_DAMAGED && strstr(error.text, "other events") != NULL) {
            fprintf(stderr, "fuzz_assemble: %s\n", error.text);
            abort();
        }
    }
    close(fd);
    return 0;
}
