/*
 * Goal: no manifest makes its reader crash or hang; what it takes names files of its folder only,
 * once each.
 * Method: each input is the manifest.
 */
#include "given.h"

#include "traces/manifest.h"

#include <string.h>

#include "fuzz.h"

/* Whether a path leaves the folder that it begins in. */
static bool leads_away(const char *path)
{
    char slashed[sizeof((struct trk_manifest_entry *)0)->file + 2];
    snprintf(slashed, sizeof slashed, "/%s/", path);
    return path[0] == '/' || strstr(slashed, "/../") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_manifest manifest;
    struct trk_error error = {.text = ""};
    char name[16];
    snprintf(name, sizeof name, "%d", given(bytes, size_bytes));
    enum trk_status status = trk_manifest_load_as("/proc/self/fd", name, &manifest, &error);
    expect(status == TRK_OK || status == TRK_E_DAMAGED || status == TRK_E_MEMORY,
           "fuzz_manifest: unexpected status");
    expect(status == TRK_OK || error.text[0] != '\0', "fuzz_manifest: refused without a reason");
    for (size_t i = 0; status == TRK_OK && i < manifest.count; i++) {
        const struct trk_manifest_entry *entry = &manifest.entries[i];
        expect(!leads_away(entry->file), "fuzz_manifest: a file of another folder");
        expect(trk_manifest_find(&manifest, entry->file) == entry, "fuzz_manifest: a file twice");
        expect(trk_manifest_may_expect(entry->file, entry->expected),
               "fuzz_manifest: what is expected is no verdict");
    }
    trk_manifest_free(&manifest);
    return 0;
}
