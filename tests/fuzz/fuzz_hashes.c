/*
 * Goal: no file of contents, and no words of what looks wrong, make their readers crash or hang;
 * what is taken is in order and about pages.
 * Method: each input is the file, and the words.
 */
#include "given.h"

#include "contents.h"

#include <fcntl.h>
#include <string.h>

#include "fuzz.h"

/* What it says of a file that it refuses is of no use here, thousands of times. */
static int load_quietly(struct trk_contents *contents, const char *path)
{
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    int code = trk_contents_load(contents, path);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(nowhere);
    return code;
}

static void read_place(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_content_place place;
    char *text = malloc(size_bytes + 1); /* of its own, so that a sanitizer sees its end */
    if (text == NULL)
        return;
    memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    (void)trk_contents_place(text, &place);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_contents contents;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", given(bytes, size_bytes));
    int code = load_quietly(&contents, path);
    expect(code == 0 || code == 2, "fuzz_hashes: unexpected exit code");
    for (size_t i = 0; code == 0 && i < contents.count; i++) {
        const struct trk_content *one = &contents.list[i];
        expect(one->guest_addr % 4096 == 0, "fuzz_hashes: an address that is no page's");
        expect(i == 0 || one[-1].frame < one->frame ||
                   (one[-1].frame == one->frame && one[-1].guest_addr <= one->guest_addr),
               "fuzz_hashes: lines out of order");
    }
    trk_contents_deinit(&contents);
    read_place(bytes, size_bytes);
    return 0;
}
