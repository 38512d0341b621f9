/*
 * Seeded faults against scenario files: what each file says under each fault of the core.
 *
 * Glossary
 *   mutant   a seeded fault (libtrack/src/mutation.h)
 *   killed   the file's expectation, which holds on the right core, does not hold
 *   exempt   a mutant that no scenario can kill, with the reason
 */
#ifndef MUTANTS_MATRIX_H
#define MUTANTS_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATRIX_MUTANTS_MOST 256u
#define MATRIX_FILES_MOST   4096u
#define MATRIX_NUMBER_MOST  256u /* of a mutant */

/* How many files must kill a mutant. */
#define MATRIX_KILLS_LEAST 2u

enum matrix_cell {
    CELL_NOT_MET = 0, /* the file never comes where the fault is */
    CELL_HELD,
    CELL_KILLED,    /* another verdict */
    CELL_CRASHED,   /* the core ended the program */
    CELL_ENDLESS,   /* it asked for faults more often than the budget allows, or stood still */
    CELL_UNDECIDED, /* exploring was cut short, and nothing unexpected was seen */
};

struct matrix_mutant {
    unsigned number;
    char name[64];
    char exempt[160]; /* why no scenario can kill it; "": they can */
};

struct matrix {
    struct matrix_mutant mutants[MATRIX_MUTANTS_MOST];
    size_t mutant_count;
    char *files[MATRIX_FILES_MOST];
    size_t file_count;
    uint8_t *cells; /* enum matrix_cell; mutant by mutant, in memory that children share */
};

static inline uint8_t *matrix_cell(const struct matrix *matrix, size_t mutant, size_t file)
{
    return &matrix->cells[mutant * matrix->file_count + file];
}

static inline bool cell_kills(uint8_t cell)
{
    return cell == CELL_KILLED || cell == CELL_CRASHED || cell == CELL_ENDLESS;
}

/* How many files kill a mutant. */
size_t matrix_kills(const struct matrix *matrix, size_t mutant);

/* ---- matrix_lists.c: each ends the program with a message when it fails -----------------------
 */

/* Read the mutants (`number name` lines) and those that are exempt (`number reason`). */
void matrix_read_mutants(struct matrix *matrix, const char *list, const char *exempt);
/* Add every *.json below a folder; they are in order afterwards. */
void matrix_add_files(struct matrix *matrix, const char *folder);

/* ---- matrix_print.c -------------------------------------------------------------------------- */

/* A table for people; all: with every file that kills. */
void matrix_print(const struct matrix *matrix, bool all);
void matrix_print_json(const struct matrix *matrix);

#endif
