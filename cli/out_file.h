/*
 * The file that a command makes: whole, or not there.
 *
 * It is written without a name in its folder and gets the name only when it is finished, so that a
 * command that fails or is killed leaves nothing behind and hurts nothing. For `-` it goes to
 * standard output when it is finished, and likewise to a pipe or a character device, which stays
 * what it is. Of a symbolic link the file that it leads to is replaced.
 */
#ifndef CLI_OUT_FILE_H
#define CLI_OUT_FILE_H

#include "options.h"
#include "recorder/place.h"
#include "scratch.h"

struct trk_out_file {
    const char *path; /* as given; "-": standard output, also by another name */
    bool overwrite;
    int fd;
    int through_fd; /* of a pipe or a device, which gets a copy at the end; -1: none */
    char target[TRK_PLACE_BYTES]; /* where the file will stand */
    struct trk_scratch named;     /* no path where the file system takes files without a name */
    char reopen[40];              /* a path to read the unfinished file by */
};

/* The options of every command that makes a file: -o and -f. */
#define TRK_OUT_FILE_OPTIONS                                                                       \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .kind = TRK_OPTION_TEXT,                                                                      \
     .value = "G",                                                                                 \
     .about = "Write to G, or to standard output for -. Needed."},                                 \
    {                                                                                              \
        .name = "force", .letter = 'f', .about = "Overwrite G if it exists."                       \
    }

/**
 * Open the command's output for writing.
 *
 * @return An exit code: TRK_EXIT_OK, or what to end with after the message that was printed.
 */
int trk_out_file_open(struct trk_out_file *out, const struct trk_options *options);
/* The same for a path of another option. */
int trk_out_file_open_at(struct trk_out_file *out, const char *path, bool overwrite,
                         const struct trk_options *options);

/* Give the file its name, or copy it to standard output. Exit codes as above. Closes in any case.
 */
int trk_out_file_keep(struct trk_out_file *out, const struct trk_options *options);

/*
 * The same without a message: open, write bytes at the end of what is written, give the name. The
 * error has no path in its text. Whatever keeping returns, the file is closed.
 */
TRK_MUST_USE enum trk_status trk_out_file_begin(struct trk_out_file *out, const char *path,
                                                bool overwrite, struct trk_error *error);
TRK_MUST_USE enum trk_status trk_out_file_write(const struct trk_out_file *out, const void *bytes,
                                                size_t size_bytes, struct trk_error *error);
TRK_MUST_USE enum trk_status trk_out_file_finish(struct trk_out_file *out, struct trk_error *error);

/* Let it go. After trk_out_file_keep it does nothing. */
void trk_out_file_close(struct trk_out_file *out);

#endif
