/*
 * Goal: no settings file makes its reader crash or hang; what it takes is whole.
 * Method: each input is the file; every entry has its words, and the last of several is found.
 */
#include "given.h"

#include "config.h"

#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    static struct trk_config config;
    struct trk_error error = {.text = ""};
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", given(bytes, size_bytes));
    setenv("TRK_CONFIG", path, 1);
    enum trk_status status = trk_config_read(&config, &error);
    if (status != TRK_OK) {
        expect(status == TRK_E_ARGUMENT, "fuzz_config: unexpected status");
        expect(strstr(error.text, path) != NULL, "fuzz_config: refused without the file's name");
        return 0;
    }
    for (size_t i = 0; i < config.count; i++) {
        const struct trk_config_entry *entry = &config.entries[i];
        expect(entry->name[0] != '\0' && entry->value[0] != '\0', "fuzz_config: an empty word");
        expect(strpbrk(entry->name, "=\n") == NULL && strchr(entry->value, '\n') == NULL,
               "fuzz_config: more than a word");
        expect(entry->line >= 1 && entry->line <= size_bytes, "fuzz_config: a line behind the end");
        const struct trk_config_entry *found =
            trk_config_find(&config, entry->command ? entry->command : "", entry->name);
        expect(found != NULL &&
                   (found == entry || found->line > entry->line || entry->command == NULL),
               "fuzz_config: an entry is not found");
    }
    return 0;
}
