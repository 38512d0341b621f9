/*
 * What stays of a HEADER's JSON: only what is known to say nothing of where and when it was made.
 *
 * A newer writer may add keys at any depth, and words to what a recording cannot see; they may say
 * anything, so that they go.
 */
#include "redact_header.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 64

/* Keys from the outermost on; lists have no part in them. Numbers and truths, but no text. */
static const char *const numbers[] = {
    "schema_version",
    "recovered",
    "tsc_hz",
    "capture.session_version",
    "capture.attached",
    "capture.rings",
    "capture.ring_records",
    "capture.block_ms",
    "capture.append_ns",
    "trackers.id",
    "trackers.foreign",
    "trackers.policy.fault_width",
    "trackers.policy.page_size",
    "trackers.policy.generations",
    "model.host_page_bytes",
    "model.guest_page_bytes",
    "model.region_bytes",
    "model.write_watches",
    "model.read_watches",
    "model.lock_domains.class",
};

/* Likewise, what may be text, too. */
static const char *const texts[] = {
    "schema",
    "part",
    "capture.when_full",
    "capture.payload",
    "trackers.backend",
    "trackers.policy.invalidate",
    "trackers.policy.download",
    "trackers.policy.arena",
    "model.bands.name",
    "model.bands.first",
    "model.bands.end",
    "model.lock_domains.name",
    "clock.source",
    "clock.anchors.ticks",
    "clock.anchors.monotonic_raw_ns",
};

/* As trk record writes them. */
static const char *const not_visible[] = {
    "stores to pages that are open",
    "stores through views that no tracker knows",
    "stores of other processes",
    "faults that the kernel serves itself",
    "order between threads that shares neither a lock domain nor a timeline",
};

static bool is_not_visible(const cJSON *item)
{
    for (size_t i = 0; i < sizeof not_visible / sizeof not_visible[0]; i++) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, not_visible[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_list(const char *path)
{
    return strcmp(path, "not_visible") == 0 || strcmp(path, "trackers") == 0 ||
           strcmp(path, "model.bands") == 0 || strcmp(path, "model.lock_domains") == 0 ||
           strcmp(path, "clock.anchors") == 0;
}

/* Whether a path is one of the keys; of an object: whether one of them is below it. */
static bool is_among(const char *const *keys, size_t count, const char *path, const cJSON *item)
{
    const size_t length = strlen(path);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(keys[i], path, length) == 0 &&
            keys[i][length] == (cJSON_IsObject(item) ? '.' : '\0')) {
            return true;
        }
    }
    return false;
}

/* Whether a value, or an object, may stand at a path. */
static bool stays(const char *path, const cJSON *item)
{
    if (strcmp(path, "not_visible") == 0) {
        return is_not_visible(item);
    }
    if (cJSON_IsArray(item)) {
        return false;
    }
    return is_among(texts, sizeof texts / sizeof texts[0], path, item) ||
           (!cJSON_IsString(item) &&
            is_among(numbers, sizeof numbers / sizeof numbers[0], path, item));
}

/* Take out of an object, or a list, what may not stay. A key with a dot in it is none of ours. */
static void prune(cJSON *holder, const char *path, bool list)
{
    cJSON *next;
    for (cJSON *item = holder->child; item != NULL; item = next) {
        char below[PATH_BYTES];
        const char *key = item->string != NULL ? item->string : "";
        int length = list ? snprintf(below, sizeof below, "%s", path)
                          : snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
        next = item->next;
        bool fits = length >= 0 && length < PATH_BYTES && strchr(key, '.') == NULL;
        if (fits && !list && cJSON_IsArray(item) && is_list(below)) {
            prune(item, below, true);
        } else if (!fits || !stays(below, item)) {
            cJSON_Delete(cJSON_DetachItemViaPointer(holder, item));
        } else if (cJSON_IsObject(item)) {
            prune(item, below, false);
        }
    }
}

void trk_redact_prune(cJSON *header)
{
    prune(header, "", false);
}
