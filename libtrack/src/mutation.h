/*
 * Seeded faults of the core, to show that the tests find them.
 *
 * A mutant is the core built with TRK_MUTATION=<number>; tests/mutants lists them, builds one
 * program each and wants the model test to fail. In the product TRK_MUTATION is not defined, each
 * MUTANT(n) is the constant 0 and nothing of it reaches an object; a test looks.
 */
#ifndef TRACK_MUTATION_H
#define TRACK_MUTATION_H

#ifdef TRK_MUTATION
#define MUTANT(number) (TRK_MUTATION == (number))
/* What that test looks for. */
static const char trk_mutant_mark[] __attribute__((used)) = "seeded fault";
#else
#define MUTANT(number) 0
#endif

#endif
