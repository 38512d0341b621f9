/*
 * What a folder of stored traces says of each: manifest.json.
 *
 * One JSON object, schema trk-corpus/1, with a list `traces` of objects: file, hash (content.h),
 * bytes, command, origin, licence, policy, expected. A command is run by a shell and writes the
 * trace to "$OUT"; two recordings of it differ in their bytes, not in their verdict.
 */
#ifndef TRACES_MANIFEST_H
#define TRACES_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/content.h"
#include "track/status.h"

TRK_EXTERN_C_BEGIN

#define TRK_MANIFEST_FILE   "manifest.json"
#define TRK_MANIFEST_SCHEMA "trk-corpus/1"
/* More than anybody stores in one folder. */
#define TRK_MANIFEST_MOST       10000u
#define TRK_MANIFEST_FILE_BYTES (16u << 20)

struct trk_manifest_entry {
    char file[128]; /* below the folder: a plain path, no part of it empty, . or .. */
    char hash[TRK_CONTENT_BYTES];
    uint64_t bytes;
    char command[512];
    char origin[128];
    char licence[64];
    char policy[96];
    char expected[32]; /* a verdict; of a scenario also "": what it says itself */
};

struct trk_manifest {
    struct trk_manifest_entry *entries;
    size_t count;
    bool other; /* what was read is JSON of another program's */
};

/**
 * Read a folder's manifest.
 *
 * @return TRK_OK, also where the folder has none: count is 0 then. TRK_E_DAMAGED: it is no
 *         manifest, and error says which entry and key; TRK_E_ARGUMENT: a folder, a pipe or a link
 *         to nothing; TRK_E_SYSTEM; TRK_E_MEMORY. out may be freed in any case.
 *
 * Allocates: yes. Blocks: no. Signal-safe: no. Threads: any.
 */
TRK_MUST_USE enum trk_status trk_manifest_load(const char *folder, struct trk_manifest *out,
                                               struct trk_error *error);

/* The same under another name in the folder. */
TRK_MUST_USE enum trk_status trk_manifest_load_as(const char *folder, const char *name,
                                                  struct trk_manifest *out,
                                                  struct trk_error *error);

/* Whether that can be expected of a file of this name. */
bool trk_manifest_may_expect(const char *file, const char *expected);

/* Write it to the folder in one step: what was there stays until all is written. */
TRK_MUST_USE enum trk_status trk_manifest_save(const struct trk_manifest *manifest,
                                               const char *folder, struct trk_error *error);

TRK_MUST_USE enum trk_status trk_manifest_save_as(const struct trk_manifest *manifest,
                                                  const char *folder, const char *name,
                                                  struct trk_error *error);

/* The entry of a file below the folder; NULL: there is none. */
const struct trk_manifest_entry *trk_manifest_find(const struct trk_manifest *manifest,
                                                   const char *file);

void trk_manifest_free(struct trk_manifest *manifest);

TRK_EXTERN_C_END

#endif
