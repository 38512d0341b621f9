/*
 * Seeded faults of the core, to show that the tests find them.
 *
 * A mutant is the core built with TRK_MUTATION=<number>; tests/mutants lists them, builds one
 * program each and wants the model test to fail. With TRK_MUTATION_AT_RUN one simulated core has
 * them all, and the program that it stands in says which is in force: so each is run against every
 * scenario file. In the product neither is defined, each MUTANT(n) is the constant 0 and nothing of
 * it reaches an object; a test looks.
 */
#ifndef TRACK_MUTATION_H
#define TRACK_MUTATION_H

#if defined(TRK_MUTATION_AT_RUN)
#include <stdbool.h>

/* Whether a fault is the one in force; given by the program. */
bool trk_mutant(unsigned number);
#define TRK_MUTATION
#define MUTANT(number) trk_mutant(number)
#elif defined(TRK_MUTATION)
#define MUTANT(number) (TRK_MUTATION == (number))
#else
#define MUTANT(number) 0
#endif

#ifdef TRK_MUTATION
/* What that test looks for. */
static const char trk_mutant_mark[] __attribute__((used)) = "seeded fault";
#endif

#endif
