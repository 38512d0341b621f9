/* Write the small trace to the path given: for tests with other programs. */
#include <stdio.h>

#include "small_trace.h"

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: format_write_small PATH\n");
        return 2;
    }
    struct trace_file file;
    small_trace_make(&file);
    FILE *out = fopen(argv[1], "wb");
    size_t written = out != NULL ? fwrite(file.bytes, 1, file.size_bytes, out) : 0;
    int closed = out != NULL ? fclose(out) : 1;
    int status = written == file.size_bytes && closed == 0 ? 0 : 1;
    trace_file_free(&file);
    return status;
}
