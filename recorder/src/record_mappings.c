#define _GNU_SOURCE /* getline */
#include "record_mappings.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_text.h"
#include "session_layout.h"
#include "track/address.h"

/* More are counted, not listed: a header has its limit. */
#define MODULES_MAX 256
#define GUEST_MAX   1024
#define NAME_BYTES  2048 /* four for a byte that the kernel does not print */

struct mapping {
    uint64_t first, end;
    char rights[5]; /* as the kernel writes them: r, w, x or - */
    char *name;     /* of the file, without its folder; "": none */
};

struct listing {
    cJSON *modules, *guest;
    int module_count, guest_count, left_out;
    bool has_session; /* one that it shares with the recorder */
    /* Of the file of the line before, which may have several mappings in a row. */
    char name[NAME_BYTES];
    uint64_t base_addr;
};

static void add_address(cJSON *object, const char *key, uint64_t address)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, address);
    cJSON_AddStringToObject(object, key, text);
}

/* One line: first-end rights offset device inode path. False: it is none. */
static bool read_line(char *line, struct mapping *out)
{
    char *at = line;
    out->first = strtoull(at, &at, 16);
    if (*at++ != '-')
        return false;
    out->end = strtoull(at, &at, 16);
    if (*at++ != ' ' || strlen(at) < sizeof out->rights)
        return false;
    memcpy(out->rights, at, sizeof out->rights - 1);
    out->rights[sizeof out->rights - 1] = '\0';
    at[strcspn(at, "\n")] = '\0';
    char *path = strchr(at, '/');
    char *folder = path != NULL ? strrchr(path, '/') : NULL;
    out->name = folder != NULL ? folder + 1 : at + strlen(at);
    trk_record_text_clean(out->name);
    return out->first < out->end;
}

static void take_module(struct listing *listing, const struct mapping *mapping)
{
    if (strcmp(listing->name, mapping->name) != 0) {
        snprintf(listing->name, sizeof listing->name, "%s", mapping->name);
        listing->base_addr = mapping->first;
    }
    if (mapping->name[0] == '\0' || mapping->rights[2] != 'x')
        return;
    if (listing->module_count++ >= MODULES_MAX) {
        listing->left_out++;
        return;
    }
    cJSON *module = cJSON_CreateObject();
    cJSON_AddItemToArray(listing->modules, module);
    cJSON_AddStringToObject(module, "name", mapping->name);
    add_address(module, "base", listing->base_addr);
    add_address(module, "first", mapping->first);
    add_address(module, "end", mapping->end);
}

static bool is_guest(const struct mapping *mapping)
{
    return (mapping->first < TRK_LOW_END && mapping->end > TRK_LOW_FIRST) ||
           (mapping->first < TRK_ARENA_END && mapping->end > TRK_ARENA_FIRST);
}

static void take_guest(struct listing *listing, const struct mapping *mapping)
{
    if (listing->guest_count++ >= GUEST_MAX) {
        listing->left_out++;
        return;
    }
    char rights[4] = "";
    memcpy(rights, mapping->rights, 3);
    cJSON *guest = cJSON_CreateObject();
    cJSON_AddItemToArray(listing->guest, guest);
    add_address(guest, "first", mapping->first);
    add_address(guest, "end", mapping->end);
    cJSON_AddStringToObject(guest, "rights", rights);
    if (mapping->name[0] != '\0')
        cJSON_AddStringToObject(guest, "name", mapping->name);
}

static bool is_session(const struct mapping *mapping)
{
    static const char name[] = "memfd:" TRK_SESSION_NAME;
    return strncmp(mapping->name, name, sizeof name - 1) == 0;
}

/* Lines are as long as paths are. All are read: guest memory lies below the modules. */
static int read_all(struct listing *listing, FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    int lines = 0;
    struct mapping mapping;
    for (; getline(&line, &room, file) > 0; lines++) {
        if (!read_line(line, &mapping)) {
            listing->left_out++;
            break;
        }
        listing->has_session = listing->has_session || is_session(&mapping);
        take_module(listing, &mapping);
        if (is_guest(&mapping))
            take_guest(listing, &mapping);
    }
    free(line);
    return lines;
}

bool trk_record_mappings_look(cJSON **mappings, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return true;
    struct listing listing = {0};
    cJSON *seen = cJSON_CreateObject();
    listing.modules = cJSON_AddArrayToObject(seen, "modules");
    listing.guest = cJSON_AddArrayToObject(seen, "guest");
    const bool lives = read_all(&listing, file) > 0;
    fclose(file);
    cJSON_AddNumberToObject(seen, "left_out", listing.left_out);
    const bool is_another = lives && !listing.has_session;
    if (lives && !is_another) {
        cJSON *former = *mappings;
        *mappings = seen;
        seen = former;
    }
    cJSON_Delete(seen);
    return !is_another;
}
