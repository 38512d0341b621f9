/*
 * Goal: no file makes recovery crash or hang, and whatever it says it has made is whole.
 * Method: each input is recovered into memory; a result must be read again as it was written, by
 * the same check as in `trk recover`, and printed as text.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "recorder/recover.h"
#include "recorder/text.h"

static void check(int good, const char *what, const struct trk_error *error)
{
    if (!good) {
        fprintf(stderr, "fuzz_recover: %s: %s\n", what, error->text);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    int fd = memfd_create("recovered", MFD_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    struct trk_recover_result result;
    struct trk_error error = {.status = TRK_OK};
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum trk_status status = trk_recover_bytes(bytes, size_bytes, fd, &result, &error);
    if (status == TRK_OK) {
        enum trk_status verified = trk_trace_verify(path, &result.digest, &error);
        check(verified == TRK_OK || verified == TRK_E_MEMORY, "the result is not whole", &error);
        FILE *out = fopen("/dev/null", "we");
        struct trk_text_result text;
        if (out != NULL) {
            check(trk_text_print(path, out, &text, &error) == TRK_OK && text.damaged_chunks == 0,
                  "the result is not printed", &error);
            fclose(out);
        }
    } else {
        check(lseek(fd, 0, SEEK_END) == 0 || status == TRK_E_VERSION || status == TRK_E_MEMORY,
              "something is left of a refusal", &error);
    }
    close(fd);
    return 0;
}
