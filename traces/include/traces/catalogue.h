/*
 * A catalogue: a folder of stored traces and scenarios, and a database of what was said of them.
 *
 * Files lie in CATALOGUE/traces by the name of their content (content.h), so that none is there
 * twice; beside each lies HASH.about, a manifest of this one entry, which has its name in `file`.
 * CATALOGUE/catalogue.db is SQLite: what is stored, the verdicts, results of benches. Many
 * processes may read and write at once; one that is killed leaves a catalogue as it was before its
 * last step. A database that is damaged, another program's, or a newer trk's is refused and left
 * alone.
 */
#ifndef TRACES_CATALOGUE_H
#define TRACES_CATALOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "traces/manifest.h"

TRK_EXTERN_C_BEGIN

#define TRK_CATALOGUE_FILE   "catalogue.db"
#define TRK_CATALOGUE_TRACES "traces"
#define TRK_CATALOGUE_ABOUT  ".about" /* behind the hash: what is known of the file */
/* What user_version says: how many migrations there are. */
#define TRK_CATALOGUE_VERSION 3

struct trk_catalogue;

/* What it is opened for. */
enum trk_catalogue_for {
    TRK_CATALOGUE_TO_READ = 0, /* also one that may not be written */
    TRK_CATALOGUE_TO_WRITE,
    TRK_CATALOGUE_TO_ADD,     /* make the folder and the database where there is none */
    TRK_CATALOGUE_TO_REBUILD, /* as to add, also an empty database beside stored files */
};

/* Whether a folder is a catalogue: its database is there, or what one stores. */
bool trk_catalogue_is(const char *folder);

/**
 * Open a catalogue, and bring an older one up to date.
 *
 * @return TRK_OK; TRK_E_DAMAGED: not a database, a damaged one, another program's, or one that is
 *         empty although files are stored, and error says the way out; TRK_E_VERSION: a newer
 * trk's; TRK_E_SYSTEM; TRK_E_MEMORY.
 *
 * Allocates: yes. Blocks: while others write, up to a minute. Signal-safe: no. Threads: one; not
 * across fork().
 */
TRK_MUST_USE enum trk_status trk_catalogue_open(struct trk_catalogue **out, const char *folder,
                                                enum trk_catalogue_for what,
                                                struct trk_error *error);
/* Whether it was opened to be read and may not be written. */
bool trk_catalogue_read_only(const struct trk_catalogue *catalogue);
void trk_catalogue_close(struct trk_catalogue *catalogue);
/* Likewise; where this opening made it, and nobody has put anything into it, nothing of it stays.
 */
void trk_catalogue_abandon(struct trk_catalogue *catalogue);

/**
 * Store a file. entry->file is its name in lists, entry->hash and entry->bytes are filled in. What
 * is there already keeps its name, and its texts where the entry's are empty; entry says what is
 * kept. A trace of which nobody said what is expected must be ok.
 *
 * @param policy  The policies that the file itself tells, for one of which nobody has said any.
 *
 * @return TRK_OK; TRK_E_SYSTEM; TRK_E_ARGUMENT: a path too long. Nothing has changed then.
 */
TRK_MUST_USE enum trk_status trk_catalogue_add(struct trk_catalogue *catalogue, const char *path,
                                               const char *policy, struct trk_manifest_entry *entry,
                                               struct trk_error *error);

/* Called for each that is stored, by name; another value than TRK_OK ends the list with it. */
typedef enum trk_status trk_catalogue_entry_fn(void *context,
                                               const struct trk_manifest_entry *entry,
                                               struct trk_error *error);
TRK_MUST_USE enum trk_status trk_catalogue_list(struct trk_catalogue *catalogue,
                                                trk_catalogue_entry_fn *fn, void *context,
                                                struct trk_error *error);

/* The path of a stored file; TRK_E_ARGUMENT: too long. */
TRK_MUST_USE enum trk_status trk_catalogue_path(const char *folder,
                                                const struct trk_manifest_entry *entry, char *out,
                                                size_t size, struct trk_error *error);

/* Remove what has this name, hash, or beginning of a hash. TRK_E_ARGUMENT: none, or several. */
TRK_MUST_USE enum trk_status trk_catalogue_remove(struct trk_catalogue *catalogue, const char *name,
                                                  struct trk_error *error);
struct trk_catalogue_swept {
    uint64_t removed; /* files */
    uint64_t kept; /* stored files that the database does not know, with what describes them beside
                      them */
};
/* Called for each file that is removed, by name. */
typedef void trk_catalogue_removed_fn(void *context, const char *file);
/* Remove files that nothing speaks of, neither the database nor what lies beside them. */
TRK_MUST_USE enum trk_status trk_catalogue_gc(struct trk_catalogue *catalogue,
                                              trk_catalogue_removed_fn *fn, void *context,
                                              struct trk_catalogue_swept *swept,
                                              struct trk_error *error);

/* Called for each file that a new database takes up; lacks: what is not known of it,
 * or NULL. entry is NULL: it is not taken up, and lacks says why. */
typedef void trk_catalogue_taken_fn(void *context, const char *file,
                                    const struct trk_manifest_entry *entry, const char *lacks);
/**
 * Make a database of the stored files and what lies beside them; one that can be used is kept, and
 * takes up what it lacks. A damaged one, or another program's, is renamed; old: to what, or "".
 *
 * @return TRK_OK; as trk_catalogue_open.
 */
TRK_MUST_USE enum trk_status trk_catalogue_rebuild(const char *folder, char old[64],
                                                   trk_catalogue_taken_fn *fn, void *context,
                                                   struct trk_error *error);

/* What a verdict depends on, and the verdict. Numbers that are not known are TRK_NOT_KNOWN. */
struct trk_catalogue_verdict {
    const char *hash, *core, *schedule, *seeds, *trk;
    char verdict[32], detail[64], thread[64], text[256];
    uint64_t event_at, event_visible;
};

/**
 * Keep a verdict, unless its key has one. TRK_E_ARGUMENT: what it is of is no longer stored.
 *
 * @param verdict  Replaced by the one that was there.
 * @param had      Whether there was one.
 */
TRK_MUST_USE enum trk_status trk_catalogue_record(struct trk_catalogue *catalogue,
                                                  struct trk_catalogue_verdict *verdict, bool *had,
                                                  struct trk_error *error);

/* Called for each verdict of a file, by core, schedule, seeds and trk. */
typedef void trk_catalogue_verdict_fn(void *context, const struct trk_catalogue_verdict *verdict);
TRK_MUST_USE enum trk_status trk_catalogue_verdicts(struct trk_catalogue *catalogue,
                                                    const char *hash, trk_catalogue_verdict_fn *fn,
                                                    void *context, struct trk_error *error);

/* Give the verdict that a key has; had: whether there is one, else verdict stays. */
TRK_MUST_USE enum trk_status trk_catalogue_find(struct trk_catalogue *catalogue,
                                                struct trk_catalogue_verdict *verdict, bool *had,
                                                struct trk_error *error);

/* A run: the verdicts that one build of trk found for one core. */
struct trk_catalogue_run {
    char id[13]; /* of core and trk: the same in every catalogue */
    char core[200], trk[64];
    uint64_t verdicts;
};

/* Called for each run, by core and trk. */
typedef void trk_catalogue_run_fn(void *context, const struct trk_catalogue_run *run);
TRK_MUST_USE enum trk_status trk_catalogue_runs(struct trk_catalogue *catalogue,
                                                trk_catalogue_run_fn *fn, void *context,
                                                struct trk_error *error);

/* A result of `trk bench` on a stored trace: its JSON, whole. */
TRK_MUST_USE enum trk_status trk_catalogue_bench(struct trk_catalogue *catalogue, const char *hash,
                                                 const char *json, struct trk_error *error);
typedef void trk_catalogue_bench_fn(void *context, const char *json);
TRK_MUST_USE enum trk_status trk_catalogue_benches(struct trk_catalogue *catalogue,
                                                   const char *hash, trk_catalogue_bench_fn *fn,
                                                   void *context, struct trk_error *error);

TRK_EXTERN_C_END

#endif
