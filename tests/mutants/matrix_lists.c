/* The rows and columns of the matrix: mutants out of lists, scenario files out of folders. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "matrix.h"

#define PATH_BYTES 1024u
#define LINE_BYTES 256u

static _Noreturn void die(const char *path, const char *what)
{
    fprintf(stderr, "matrix: %s: %s\n", path, what);
    exit(2);
}

/* The next line that says something: a number, and what stands behind it. False: no more. */
static bool next_line(FILE *file, const char *path, unsigned *number, char *rest, size_t size)
{
    char line[LINE_BYTES];
    while (fgets(line, sizeof line, file) != NULL) {
        char *end;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        unsigned long value = strtoul(line, &end, 10);
        if (value == 0 || value >= MATRIX_NUMBER_MOST || *end != ' ')
            die(path, "a line is no number and words");
        *number = (unsigned)value;
        snprintf(rest, size, "%s", end + 1);
        return true;
    }
    return false;
}

static struct matrix_mutant *mutant_of(struct matrix *matrix, unsigned number)
{
    for (size_t i = 0; i < matrix->mutant_count; i++)
        if (matrix->mutants[i].number == number)
            return &matrix->mutants[i];
    return NULL;
}

void matrix_read_mutants(struct matrix *matrix, const char *list, const char *exempt)
{
    unsigned number;
    char rest[LINE_BYTES];
    FILE *file = fopen(list, "r");
    if (file == NULL)
        die(list, "cannot be read");
    while (next_line(file, list, &number, rest, sizeof rest)) {
        if (matrix->mutant_count == MATRIX_MUTANTS_MOST || mutant_of(matrix, number) != NULL)
            die(list, "too many mutants, or one twice");
        struct matrix_mutant *mutant = &matrix->mutants[matrix->mutant_count++];
        mutant->number = number;
        snprintf(mutant->name, sizeof mutant->name, "%.63s", rest);
    }
    fclose(file);
    file = fopen(exempt, "r");
    if (file == NULL)
        die(exempt, "cannot be read");
    while (next_line(file, exempt, &number, rest, sizeof rest)) {
        struct matrix_mutant *mutant = mutant_of(matrix, number);
        if (mutant == NULL || mutant->exempt[0] != '\0')
            die(exempt, "a line is about no mutant, or about one twice");
        snprintf(mutant->exempt, sizeof mutant->exempt, "%.159s", rest);
    }
    fclose(file);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_below(struct matrix *matrix, const char *folder)
{
    DIR *stream = opendir(folder);
    if (stream == NULL)
        die(folder, "cannot be read");
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        char path[PATH_BYTES];
        struct stat stat_of;
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        int size = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (size < 0 || (size_t)size >= sizeof path || stat(path, &stat_of) != 0)
            die(folder, "holds what cannot be read");
        if (S_ISDIR(stat_of.st_mode)) {
            add_below(matrix, path);
        } else if (length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0) {
            if (matrix->file_count == MATRIX_FILES_MOST)
                die(folder, "too many files");
            matrix->files[matrix->file_count++] = strdup(path);
        }
    }
    closedir(stream);
}

void matrix_add_files(struct matrix *matrix, const char *folder)
{
    size_t former = matrix->file_count;
    add_below(matrix, folder);
    if (matrix->file_count == former)
        die(folder, "holds no scenario file");
    qsort(matrix->files + former, matrix->file_count - former, sizeof matrix->files[0], by_text);
}
