/*
 * What pages held at the end of frames, as hashes: a file of lines
 *
 *     frame:N,range:A+4096,hash:H
 *
 * A is a page's address, H the hash of its 4096 bytes as [F-38] has it, 16 hexadecimal digits after
 * 0x. Empty lines, and those that begin with #, say nothing. Frames may come in any order.
 */
#ifndef CLI_CONTENTS_H
#define CLI_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/trace.h"

/* The most lines that a file may have. */
#define TRK_CONTENTS_MOST (1u << 20)

#define TRK_CONTENTS_PAGE_BYTES 4096u

struct trk_content {
    uint64_t frame, guest_addr, hash;
};

/* By frame, then address. Zero-initialised is empty. */
struct trk_contents {
    struct trk_content *list;
    size_t count, capacity;
};

/* frame:N,range:A+S: bytes of a frame. */
struct trk_content_place {
    uint64_t frame, guest_addr, size_bytes;
};

enum trk_content_words {
    TRK_CONTENT_GOOD = 0,
    TRK_CONTENT_FORM,   /* something is not there */
    TRK_CONTENT_NUMBER, /* something there is no number */
};

/* Read such words; they are changed. */
enum trk_content_words trk_contents_place(char *text, struct trk_content_place *out);

void trk_contents_deinit(struct trk_contents *contents);

/* One more; false: no memory. */
bool trk_contents_add(struct trk_contents *contents, const struct trk_content *content);
/* Put them in their order. */
void trk_contents_sort(struct trk_contents *contents);

/* Read a file: an exit code, after a message that names the line. */
int trk_contents_load(struct trk_contents *out, const char *path);

/*
 * The content that each page was last uploaded with in each frame of a trace that has hashes of
 * contents; not where a later upload may be missing, or the frame's end is. The trace stands at its
 * beginning.
 */
TRK_MUST_USE enum trk_status
trk_contents_of_trace(struct trk_contents *out, struct trk_trace *trace, struct trk_error *error);

/* A line that a trace has otherwise, and its frame's events there. */
struct trk_content_other {
    size_t line;
    uint64_t first_event, last_event;
};

struct trk_contents_compared {
    /* Lines, and whose the trace has not: of which pages it has no content until then, and of which
     * frames nothing. */
    uint64_t same, unknown, absent;
    uint64_t doubted; /* another content, but a newer one may be among what is missing */
    size_t other_count;
    struct trk_content_other *others; /* by frame, then address; as many as there is room for */
};

/*
 * Hold a trace against a file: what the GPU's copy of a page holds at the end of a frame is what
 * was uploaded last. out->others must have room for each line.
 */
TRK_MUST_USE enum trk_status trk_contents_compare(const struct trk_contents *contents,
                                                  struct trk_trace *trace,
                                                  struct trk_contents_compared *out,
                                                  struct trk_error *error);

#endif
