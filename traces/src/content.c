#define _GNU_SOURCE /* fdopen */
#include "traces/content.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "traces/plain_file.h"

static void put(XXH128_hash_t hash, char out[TRK_CONTENT_BYTES])
{
    snprintf(out, TRK_CONTENT_BYTES, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
}

bool trk_content_is_name(const char *text)
{
    return strlen(text) == TRK_CONTENT_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == TRK_CONTENT_BYTES - 1;
}

void trk_content_name_bytes(const void *bytes, size_t size_bytes, char out[TRK_CONTENT_BYTES])
{
    put(XXH3_128bits(bytes, size_bytes), out);
}

enum trk_status trk_content_name(const char *path, char out[TRK_CONTENT_BYTES], uint64_t *bytes,
                                 struct trk_error *error)
{
    unsigned char buffer[1 << 14];
    uint64_t total = 0;
    size_t got;
    int fd;
    enum trk_status status = trk_plain_file_open(path, &fd, error);
    if (status != TRK_OK) {
        return status;
    }
    FILE *file = fdopen(fd, "rb");
    if (file == NULL) {
        close(fd);
        return trk_error_set(error, TRK_E_MEMORY, "no memory to read a file");
    }
    XXH3_state_t *state = XXH3_createState();
    if (state == NULL) {
        fclose(file);
        return trk_error_set(error, TRK_E_MEMORY, "no memory to name a file by its content");
    }
    (void)XXH3_128bits_reset(state);
    errno = 0;
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        (void)XXH3_128bits_update(state, buffer, got);
        total += got;
    }
    int reason = errno;
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    const int bad = ferror(file);
    XXH3_freeState(state);
    fclose(file);
    if (bad != 0) {
        return trk_error_set_errno(error, TRK_E_SYSTEM, reason, "cannot read");
    }
    put(hash, out);
    if (bytes != NULL) {
        *bytes = total;
    }
    return TRK_OK;
}
