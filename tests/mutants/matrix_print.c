/* The matrix as a table for people and as JSON for programs. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

#define SCHEMA     "trk-matrix/1"
#define SHOWN_MOST 3u /* files a mutant, unless all are wanted */

static const char *const words[] = {
    [CELL_NOT_MET] = "not met", [CELL_HELD] = "held",       [CELL_KILLED] = "killed",
    [CELL_CRASHED] = "crashed", [CELL_ENDLESS] = "endless", [CELL_UNDECIDED] = "undecided",
};

static size_t count(const struct matrix *matrix, size_t mutant, enum matrix_cell cell)
{
    size_t number = 0;
    for (size_t file = 0; file < matrix->file_count; file++)
        number += *matrix_cell(matrix, mutant, file) == cell;
    return number;
}

/* A path from the folder's name on. */
static const char *brief(const char *path)
{
    const char *found = strstr(path, "/scenarios/");
    return found != NULL ? found + strlen("/scenarios/") : path;
}

static void print_mutant(const struct matrix *matrix, size_t mutant, bool all)
{
    const struct matrix_mutant *it = &matrix->mutants[mutant];
    size_t met = matrix->file_count - count(matrix, mutant, CELL_NOT_MET);
    printf("%3u %-44s %4zu of %4zu", it->number, it->name, matrix_kills(matrix, mutant), met);
    for (int cell = CELL_CRASHED; cell <= CELL_UNDECIDED; cell++)
        if (count(matrix, mutant, (enum matrix_cell)cell) > 0)
            printf(", %zu %s", count(matrix, mutant, (enum matrix_cell)cell), words[cell]);
    if (it->exempt[0] != '\0')
        printf("  exempt: %s", it->exempt);
    putchar('\n');
    size_t shown = 0;
    for (size_t file = 0; file < matrix->file_count && (all || shown < SHOWN_MOST); file++) {
        if (!cell_kills(*matrix_cell(matrix, mutant, file)))
            continue;
        printf("      %s\n", brief(matrix->files[file]));
        shown++;
    }
}

void matrix_print(const struct matrix *matrix, bool all)
{
    printf("mutant                                           killed by files that meet it\n");
    for (size_t mutant = 0; mutant < matrix->mutant_count; mutant++)
        print_mutant(matrix, mutant, all);
    printf("%zu mutants, %zu files\n", matrix->mutant_count, matrix->file_count);
}

void matrix_print_json(const struct matrix *matrix)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "schema", SCHEMA);
    cJSON_AddNumberToObject(root, "files", (double)matrix->file_count);
    cJSON *list = cJSON_AddArrayToObject(root, "mutants");
    for (size_t mutant = 0; mutant < matrix->mutant_count; mutant++) {
        const struct matrix_mutant *it = &matrix->mutants[mutant];
        cJSON *object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, "number", it->number);
        cJSON_AddStringToObject(object, "name", it->name);
        if (it->exempt[0] != '\0')
            cJSON_AddStringToObject(object, "exempt", it->exempt);
        else
            cJSON_AddNullToObject(object, "exempt");
        cJSON_AddNumberToObject(object, "kills", (double)matrix_kills(matrix, mutant));
        for (int cell = CELL_NOT_MET; cell <= CELL_UNDECIDED; cell++)
            cJSON_AddNumberToObject(object, words[cell],
                                    (double)count(matrix, mutant, (enum matrix_cell)cell));
        cJSON *by = cJSON_AddArrayToObject(object, "killed_by");
        for (size_t file = 0; file < matrix->file_count; file++)
            if (cell_kills(*matrix_cell(matrix, mutant, file)))
                cJSON_AddItemToArray(by, cJSON_CreateString(brief(matrix->files[file])));
        cJSON_AddItemToArray(list, object);
    }
    char *text = cJSON_Print(root);
    if (text != NULL)
        puts(text);
    free(text);
    cJSON_Delete(root);
}
