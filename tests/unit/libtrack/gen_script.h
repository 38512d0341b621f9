/*
 * Small programs on a tracker with generations, in the words of the scenario format.
 *
 * Steps are separated by ';': `VERB ARGUMENTS [=> RESULT]`. Addresses and sizes are sums of numbers
 * and units (P 4096, G 16384, R 4 MiB) and of the places A and B, which lie one region apart, each
 * 16 pages behind a region's start; Z is the first region's start. After every step host and events
 * are checked (fixture.h).
 *
 *   gen_track, gen ADDR SIZE     => 0, new NAME, same NAME, not NAME, CLASS; argument is `fail`
 *   gen_hle ADDR SIZE            => ok, CLASS
 *   gen_map ADDR SIZE OFFSET RIGHTS   => kept, replaced, CLASS
 *   store, load ADDR             => handled, silent, unhandled; served until it goes through
 *   fault ADDR r|w|x             => served, retry, unhandled: one fault, whatever the page allows
 *   late ADDR r|w|x              the same, but another thread stores between look and service
 *   rearmed ADDR r|w|x OTHER     likewise, and the other thread sets the guest's rights at OTHER,
 *                                and arms OTHER anew once the fault has found nothing armed
 *   hle_write ADDR SIZE          => ok, denied, CLASS; the write is a store to the first byte
 *   guest ADDR SIZE RIGHTS       => ok
 *   lock, unlock ADDR            => ok, CLASS
 *   prot ADDR                    => none r rw rx rwx
 *   armed ADDR                   => 0, 1
 *   upload, mark_gpu, untrack, register, unregister ADDR SIZE   => ok, CLASS
 *   is_cpu ADDR SIZE             => 0, 1
 *   join ADDR OTHER SIZE         => ok
 *   calls                        => [PAGE+PAGES:RIGHTS ...], pages from A
 *   flushes                      => [PAGE+PAGES ...], of the resource layer, which drains
 *   fail N                       the nth next host call is refused
 *   newest N                     the last generation that was given becomes N
 */
#ifndef TESTS_GEN_SCRIPT_H
#define TESTS_GEN_SCRIPT_H

#include "fixture.h"

struct gen_case {
    const char *name;
    const char *steps;
};

/* Run the steps; NULL, or what went wrong (static storage). */
const char *gen_script_run(const struct trk_policy *policy, const char *steps);

#endif
