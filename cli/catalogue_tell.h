/* What a catalogue stores and what was said of it, for people and programs. */
#ifndef CLI_CATALOGUE_TELL_H
#define CLI_CATALOGUE_TELL_H

#include <stdbool.h>

#include "traces/catalogue.h"

#define TRK_CATALOGUE_SCHEMA "trk-catalogue/1"

struct trk_catalogue_told {
    struct trk_catalogue *catalogue;
    const char *folder; /* as given */
    bool json;
};

/* Whether an entry has this name, or a hash that begins so. */
bool trk_catalogue_is_meant(const char *name, const struct trk_manifest_entry *entry);

/* Each prints, and gives an exit code. */
int trk_catalogue_tell_all(const struct trk_catalogue_told *told);
int trk_catalogue_tell_one(const struct trk_catalogue_told *told, const char *name);
int trk_catalogue_tell_runs(const struct trk_catalogue_told *told);

#endif
