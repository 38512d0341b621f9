/*
 * Small programs on one tracker, written as text, for tables of cases.
 *
 * Steps are separated by ';'. A step is `VERB ARGUMENTS [=> RESULT]`; the result is compared when
 * it is written. Places and sizes are sums of pages (`3`), regions (`R`, `2R`) and bytes (`b5`);
 * places count from FIXTURE_BASE. After every step all pages are checked against the model's rules.
 *
 *   is_cpu A N, is_gpu A N             => 0, 1
 *   mark_cpu, mark_gpu, unmark_gpu, untrack, register, unregister A N   => ok, CLASS
 *   upload, upload_written, download, download_clear, drain A N         => [first+pages ...], CLASS
 *   invalidate A N FLUSH               => flush COUNT, CLASS; FLUSH is a kind of on_flush() below
 *   layer FLUSH READ_BACK              the resource layer's two callbacks, by kind
 *   fault A r|w|x                      => served, retry, unhandled
 *   guest A N RIGHTS                   => ok; RIGHTS: none r rw rx rwx x
 *   watch, unwatch A N; watch_mask, unwatch_mask A w|r PAGES   => ok, CLASS; PAGES: 1,3,10-14, -
 *   join A B N, leave A N              => ok, CLASS
 *   views A                            => [pages that show the same bytes ...]
 *   state A                            => cpu, clean, gpu
 *   prot A                             => none r rw rx ...
 *   watches A                          => WRITES/READS
 *   calls                              => [first+pages:rights ...] accepted calls since the last
 *   fail N                             the nth next host call is refused
 *   lock A, unlock A                   => ok, CLASS
 *   loose                              from here on watches of others are expected
 *
 * Flush kinds: nothing; drain (the range); part (all but its last page); clear (to CLEAN); take:N
 * (drain, and the GPU takes the range anew, in the first N calls); keep (GPU to CLEAN and back).
 */
#ifndef TESTS_SCRIPT_H
#define TESTS_SCRIPT_H

#include "fixture.h"

struct script_case {
    const char *name;
    const char *steps;
};

/* Run the steps; NULL, or what went wrong (static storage). */
const char *script_run(const struct trk_policy *policy, const char *steps);

#endif
