/*
 * A script that runs: its tracker, the step it is at, the step's result.
 */
#ifndef TESTS_SCRIPT_RUNNER_H
#define TESTS_SCRIPT_RUNNER_H

#include "script.h"
#include "track/address.h"

#define RESULT_BYTES 512

struct runner {
    struct fixture fixture;
    char step[256];
    char result[RESULT_BYTES];
    size_t result_used;
    const char *at; /* parse position in step */
    bool loose;
    unsigned flush_calls;
    char flush_kind[2][24]; /* the resource layer's: flush, read_back */
    const char *flush_now;  /* of the invalidate that runs */
};

/* Add to the step's result. */
void runner_say(struct runner *runner, const char *format, ...);

void runner_skip_blanks(struct runner *runner);
/* The next word, up to a blank; "" at the end or before "=>". */
const char *runner_word(struct runner *runner, char *out, size_t out_bytes);
/* A sum of pages, regions and bytes, in bytes; and as an address. */
uint64_t runner_amount(struct runner *runner);
uint64_t runner_place(struct runner *runner);

const char *runner_rights_text(unsigned rights);
unsigned runner_rights_of(const char *text);

#endif
