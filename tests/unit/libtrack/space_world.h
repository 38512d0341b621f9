/*
 * An address space under test: real memory, a host of which any call can be made to fail, and small
 * programs on it, written as text.
 *
 * Steps are separated by ';'. A step is `VERB ARGUMENTS [=> RESULT]`; the result is compared when
 * it is written. Places and sizes are pages of 4 KiB from WORLD_BASE; physical offsets are pages.
 *
 *   reserve A N; unmap A N             => ok, STATUS
 *   commit A N RIGHTS; protect A N RIGHTS   => ok, STATUS
 *   map A N RIGHTS [fixed] [private]   => ok, STATUS: flexible memory
 *   direct A N PHYSICAL RIGHTS [fixed] => ok, STATUS
 *   allocate N                         => the physical page, or STATUS
 *   release PHYSICAL N                 => ok, STATUS
 *   query A                            => KIND first+pages RIGHTS [@physical] [private]
 *   store A N BYTE                     stores of the program's, through the mapping
 *   load A                             => the first byte of the page, through the mapping
 *   write A N BYTE; read A N           => ok; BYTE, mixed, STATUS: through the alias
 *   sparse A N                         => the byte of each page, or STATUS
 *   register, upload, upload_written, drain, untrack, watch, unwatch A N   which must succeed
 *   track A N                          generations, which must succeed
 *   known A N                          => yes, no: whether the range has a generation
 *   prepare A N r|w                    => ok, STATUS
 *   prot A                             => what the kernel says, or what a backend with other ways
 *                                         to close pages was told: none r rw rx
 *   state A                            => cpu clean gpu
 *   views A                            => [pages]
 */
#ifndef TESTS_SPACE_WORLD_H
#define TESTS_SPACE_WORLD_H

#include "backends.h"
#include "track/pages.h"
#include "track/space.h"

#define WORLD_BASE  UINT64_C(0x2003f0000) /* 16 pages before a region's edge */
#define WORLD_PAGES 64u

struct world {
    struct trk_backend backend; /* first: the real one, with calls counted */
    struct trk_backend *real;
    struct trk_space_host real_host;
    struct trk_tracker *tracker;
    struct trk_space *space;
    unsigned calls;   /* host and protection calls since world_fail() */
    unsigned failing; /* the number of the call that fails; 0: none */
    unsigned failures;
    unsigned flushes;
    char result[400];
};

/* False: this machine lacks the backend. */
bool world_open(struct world *world, enum backend_choice choice);
void world_close(struct world *world);

/* Run the steps; NULL, or what went wrong (static storage). */
const char *world_run(struct world *world, const char *steps);

/* The nth next call of the host fails, once; 0: none. */
void world_fail(struct world *world, unsigned nth);

/*
 * Everything there is to see, as text: the kernel's mappings of the world and of the object, what
 * the space and the tracker say of each page, and all bytes. The caller frees it.
 */
char *world_text(struct world *world);

#endif
