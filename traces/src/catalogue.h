/* Inside the catalogue: the open database, and short ways to ask it. */
#ifndef CATALOGUE_H
#define CATALOGUE_H

#include <limits.h>
#include <sqlite3.h>

#include "traces/catalogue.h"

/* What was made for a new one. */
struct catalogue_made {
    bool folder, traces;
    bool database; /* there was none before */
};

struct trk_catalogue {
    sqlite3 *db;
    char folder[PATH_MAX];
    bool read_only; /* it may not be written */
    bool writes;    /* db is the file itself, no copy of it */
    struct catalogue_made made;
};

/* How long others are waited for. */
#define CATALOGUE_BUSY_MS 60000
/* All that it says of what went wrong leads here. */
#define CATALOGUE_WAY_OUT "trk catalogue rebuild makes a new one of the stored files"

#define COLUMNS "name, hash, command, origin, licence, policy, expected, bytes"

/* Whether a name below traces/ is one of a stored file: its hash and .trk or .json. */
bool catalogue_is_stored(const char *name);
/* Whether there is one. */
bool catalogue_has_stored(const char *folder);
/* What is put in while the database is opened, in the transaction that makes its tables. */
struct catalogue_filler {
    enum trk_status (*fill)(struct trk_catalogue *catalogue, void *context,
                            struct trk_error *error);
    void *context;
};
/* As trk_catalogue_open; a database whose filler fails stays as it was. filler may be NULL. */
TRK_MUST_USE enum trk_status catalogue_open(struct trk_catalogue **out, const char *folder,
                                            enum trk_catalogue_for what,
                                            const struct catalogue_filler *filler,
                                            struct trk_error *error);

/* Whether its rows say what can be. TRK_E_DAMAGED: one does not. */
TRK_MUST_USE enum trk_status catalogue_check_words(struct trk_catalogue *catalogue,
                                                   struct trk_error *error);

/* Put a row in, or the texts of one that is there. */
TRK_MUST_USE enum trk_status catalogue_insert(struct trk_catalogue *catalogue,
                                              const struct trk_manifest_entry *entry,
                                              struct trk_error *error);
/* The row of a hash; found: there is one, else out stays. */
TRK_MUST_USE enum trk_status catalogue_lookup(struct trk_catalogue *catalogue, const char *hash,
                                              struct trk_manifest_entry *out, bool *found,
                                              struct trk_error *error);
/*
 * Write what is known of a stored file beside it, in two steps, so that the second needs no room on
 * the disk: under another name, which gc removes, and, with the row there, under its own. A row
 * that another has changed meanwhile is written anew. Or the first is taken back.
 */
TRK_MUST_USE enum trk_status catalogue_prepare_about(const char *folder,
                                                     const struct trk_manifest_entry *entry,
                                                     struct trk_error *error);
TRK_MUST_USE enum trk_status catalogue_put_about(const char *folder,
                                                 const struct trk_manifest_entry *row,
                                                 const struct trk_manifest_entry *prepared,
                                                 struct trk_error *error);
void catalogue_drop_about(const char *folder, const char *hash);
/* Write it for all that are stored: since version 3 it is there. */
TRK_MUST_USE enum trk_status catalogue_write_abouts(struct trk_catalogue *catalogue,
                                                    struct trk_error *error);

/* Whoever makes a database, replaces it or takes it away does that alone; those that open one to
 * add to it keep others from that until they have it open. *fd: to be closed. TRK_E_SYSTEM: another
 * has the folder for longer than one waits; with ENOENT: it is not there, or no longer that one. */
TRK_MUST_USE enum trk_status catalogue_lock(const char *folder, bool alone, int *fd,
                                            struct trk_error *error);
/* Where nobody has the database open: take away a journal that is empty, and its index. made: and
 * the database, if it is an empty file; under the lock. */
void catalogue_clear(const char *folder, bool made);
/* Take away what was made for a new one that did not come to be, and is empty; under the lock. */
void catalogue_take_back(const char *folder, struct catalogue_made made);
/* TRK_E_DAMAGED: what is called like the database is no file, so nobody's to read or to replace; a
 * link to nothing may be all right, for it can be renamed. */
TRK_MUST_USE enum trk_status catalogue_check_file(const char *folder, bool links,
                                                  struct trk_error *error);

/* What SQLite says, as ours: damaged, or the system's. */
TRK_MUST_USE enum trk_status catalogue_fail(struct trk_catalogue *catalogue,
                                            struct trk_error *error);
/* Run statements without values. */
TRK_MUST_USE enum trk_status catalogue_run(struct trk_catalogue *catalogue, const char *sql,
                                           struct trk_error *error);
/*
 * Open the database's content as it is now, which changes nothing. Nobody else may have it open in
 * this process: its locks would be gone. TRK_E_UNSUPPORTED: too large for that.
 */
TRK_MUST_USE enum trk_status catalogue_read(struct trk_catalogue *catalogue, const char *path,
                                            struct trk_error *error);

/* BEGIN IMMEDIATE; and COMMIT or, where status is none of TRK_OK, ROLLBACK. */
TRK_MUST_USE enum trk_status catalogue_begin(struct trk_catalogue *catalogue,
                                             struct trk_error *error);
TRK_MUST_USE enum trk_status catalogue_end(struct trk_catalogue *catalogue, enum trk_status status,
                                           struct trk_error *error);

/* A statement with texts for its parameters 1 to count. */
TRK_MUST_USE enum trk_status catalogue_prepare(struct trk_catalogue *catalogue, const char *sql,
                                               const char *const *texts, int count,
                                               sqlite3_stmt **out, struct trk_error *error);
/* Finish it: whether it came to its end. */
TRK_MUST_USE enum trk_status catalogue_done(struct trk_catalogue *catalogue,
                                            sqlite3_stmt *statement, int last,
                                            struct trk_error *error);
/* A column's text; "" for NULL. */
const char *catalogue_text(sqlite3_stmt *statement, int column);

#endif
