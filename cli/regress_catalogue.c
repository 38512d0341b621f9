/* A regression over a catalogue: what it stores is run, and what comes out is kept. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "regress.h"
#include "traces/catalogue.h"

struct adding {
    struct trk_regress *regress;
    const char *folder;
};

static enum trk_status add_entry(void *context, const struct trk_manifest_entry *entry,
                                 struct trk_error *error)
{
    const struct adding *adding = context;
    char path[PATH_MAX];
    enum trk_status status = trk_catalogue_path(adding->folder, entry, path, sizeof path, error);
    if (status == TRK_OK) {
        status = trk_regress_add(adding->regress, path, 0, entry->expected, error);
    }
    if (status != TRK_OK) {
        return status;
    }
    struct trk_regress_item *item = &adding->regress->items[adding->regress->count - 1];
    snprintf(item->stored_name, sizeof item->stored_name, "%s", entry->file);
    if (item->unreadable[0] == '\0' && strcmp(item->hash, entry->hash) != 0) {
        snprintf(item->unreadable, sizeof item->unreadable,
                 "its content is %s, the catalogue says %s", item->hash, entry->hash);
    }
    return TRK_OK;
}

enum trk_status trk_regress_list_catalogue(struct trk_regress *regress, const char *folder,
                                           struct trk_error *error)
{
    struct trk_catalogue *catalogue = NULL;
    struct adding adding = {regress, folder};
    enum trk_status status = trk_catalogue_open(&catalogue, folder, TRK_CATALOGUE_TO_READ, error);
    if (status == TRK_OK) {
        status = trk_catalogue_list(catalogue, add_entry, &adding, error);
        regress->keeps = !trk_catalogue_read_only(catalogue);
    }
    trk_catalogue_close(catalogue); /* none is open across a fork */
    return status;
}

/* This process's, since one cannot be shared. */
static struct trk_catalogue *open_here;
static pid_t owner;

static enum trk_status mine(const char *folder, struct trk_catalogue **out, struct trk_error *error)
{
    if (owner != getpid()) {
        open_here = NULL;
        enum trk_status status =
            trk_catalogue_open(&open_here, folder, TRK_CATALOGUE_TO_WRITE, error);
        if (status != TRK_OK) {
            return status;
        }
        owner = getpid();
    }
    *out = open_here;
    return TRK_OK;
}

enum trk_status trk_regress_kept(const struct trk_regress *regress, struct trk_error *error)
{
    struct trk_catalogue *catalogue = NULL;
    /* Processes that are over have closed nothing: who opens it once more takes in what they left.
     */
    enum trk_status status = mine(regress->catalogue, &catalogue, error);
    trk_catalogue_close(catalogue);
    open_here = NULL;
    owner = 0;
    return status;
}

/* ---- earlier runs ---------------------------------------------------------------------------- */

struct finding {
    const char *id;
    size_t found;
    struct trk_catalogue_run run;
};

static void find_run(void *context, const struct trk_catalogue_run *run)
{
    struct finding *finding = context;
    if (strncmp(run->id, finding->id, strlen(finding->id)) == 0) {
        finding->found++;
        finding->run = *run;
    }
}

enum trk_status trk_regress_find_run(struct trk_regress *regress, struct trk_error *error)
{
    struct trk_catalogue *catalogue = NULL;
    struct finding finding = {.id = regress->run};
    enum trk_status status =
        trk_catalogue_open(&catalogue, regress->catalogue, TRK_CATALOGUE_TO_READ, error);
    if (status == TRK_OK) {
        status = trk_catalogue_runs(catalogue, find_run, &finding, error);
    }
    trk_catalogue_close(catalogue);
    if (status == TRK_OK && finding.found != 1) {
        return trk_error_set(error, TRK_E_ARGUMENT,
                             "%s: see trk catalogue runs %.60s, or name a file",
                             finding.found == 0 ? "no file, and no run has this id"
                                                : "several runs have an id that begins so",
                             regress->catalogue);
    }
    regress->kept = finding.run;
    return status;
}

enum trk_status trk_regress_take_run(struct trk_regress *regress, struct trk_error *error)
{
    struct trk_catalogue *catalogue = NULL;
    enum trk_status status =
        trk_catalogue_open(&catalogue, regress->catalogue, TRK_CATALOGUE_TO_READ, error);
    for (size_t i = 0; i < regress->count && status == TRK_OK; i++) {
        struct trk_regress_item *item = &regress->items[i];
        char seeds[48];
        trk_regress_seeds(regress, item, seeds);
        struct trk_catalogue_verdict verdict = {
            .hash = item->hash,
            .core = regress->kept.core,
            .schedule = trk_regress_schedule(regress, item),
            .seeds = seeds,
            .trk = regress->kept.trk,
        };
        status = trk_catalogue_find(catalogue, &verdict, &item->compared, error);
        if (status == TRK_OK && item->compared) {
            struct trk_regress_outcome *other = &item->other;
            *other = (struct trk_regress_outcome){.event_at = verdict.event_at,
                                                  .event_visible = verdict.event_visible};
            snprintf(other->verdict, sizeof other->verdict, "%s", verdict.verdict);
            snprintf(other->detail, sizeof other->detail, "%s", verdict.detail);
            snprintf(other->thread, sizeof other->thread, "%s", verdict.thread);
            snprintf(other->text, sizeof other->text, "%s", verdict.text);
            if (!trk_regress_same(&item->outcome, other)) {
                trk_regress_describe(item, other);
            }
        }
    }
    trk_catalogue_close(catalogue);
    return status;
}

/* ---- keeping --------------------------------------------------------------------------------- */

enum trk_status trk_regress_keep(const struct trk_regress *regress, struct trk_regress_item *item,
                                 const struct trk_regress_core *core,
                                 const struct trk_regress_outcome *outcome, struct trk_error *error)
{
    if (!trk_regress_lasts(outcome)) {
        return TRK_OK;
    }
    char id[200], seeds[48];
    struct trk_catalogue *catalogue;
    trk_regress_core_id(core, id);
    trk_regress_seeds(regress, item, seeds);
    struct trk_catalogue_verdict verdict = {
        .hash = item->hash,
        .core = id,
        .schedule = trk_regress_schedule(regress, item),
        .seeds = seeds,
        .trk = regress->trk_build,
        .event_at = outcome->event_at,
        .event_visible = outcome->event_visible,
    };
    snprintf(verdict.verdict, sizeof verdict.verdict, "%s", outcome->verdict);
    snprintf(verdict.detail, sizeof verdict.detail, "%s", outcome->detail);
    snprintf(verdict.thread, sizeof verdict.thread, "%s", outcome->thread);
    snprintf(verdict.text, sizeof verdict.text, "%s", outcome->text);
    bool had = false;
    enum trk_status status = mine(regress->catalogue, &catalogue, error);
    if (status == TRK_OK) {
        status = trk_catalogue_record(catalogue, &verdict, &had, error);
    }
    if (status == TRK_E_ARGUMENT) {
        snprintf(item->unreadable, sizeof item->unreadable,
                 "it was taken out of the catalogue while it was run");
        return TRK_OK;
    }
    bool same = strcmp(verdict.verdict, outcome->verdict) == 0 &&
                strcmp(verdict.detail, outcome->detail) == 0 &&
                strcmp(verdict.thread, outcome->thread) == 0 &&
                verdict.event_at == outcome->event_at &&
                verdict.event_visible == outcome->event_visible;
    if (status == TRK_OK && had && !same) {
        item->end = TRK_REGRESS_UNSTABLE;
        snprintf(item->why, sizeof item->why, "the catalogue has %s of the same core",
                 verdict.verdict);
    }
    return status;
}
