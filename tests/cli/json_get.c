/*
 * Reads JSON in the shell tests: no interpreter that a machine may lack is needed.
 *
 *     json_get FILE          every line, or the file as a whole, must be JSON
 *     json_get FILE PATH     prints one value: keys and indices with dots between, `#` is a length
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define FILE_BYTES (64u << 20)

static char *read_file(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *text = malloc(FILE_BYTES);
    if (!file || !text) {
        perror(path);
        exit(2);
    }
    size_t length = fread(text, 1, FILE_BYTES - 1, file);
    text[length] = 0;
    if (file != stdin) {
        fclose(file);
    }
    return text;
}

static int check_lines(char *text)
{
    size_t line = 0;
    for (char *at = text; *at; line++) {
        char *end = at + strcspn(at, "\n");
        char *next = *end ? end + 1 : end;
        *end = 0;
        cJSON *value = cJSON_ParseWithOpts(at, NULL, 1);
        if (!value || !cJSON_GetObjectItemCaseSensitive(value, "schema")) {
            fprintf(stderr, "json_get: line %zu is not an object with a schema: %s\n", line, at);
            return 1;
        }
        cJSON_Delete(value);
        at = next;
    }
    return line == 0;
}

static const cJSON *walk(const cJSON *value, char *path)
{
    for (char *key = strtok(path, "."); key && value; key = strtok(NULL, ".")) {
        value = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, atoi(key))
                                     : cJSON_GetObjectItemCaseSensitive(value, key);
    }
    return value;
}

/* Prints the value at a path, or its length. */
static int print(const cJSON *root, const char *name, char *path)
{
    size_t length = strlen(path);
    int want_length = length > 2 && strcmp(path + length - 2, ".#") == 0;
    if (want_length) {
        path[length - 2] = 0;
    }
    const cJSON *value = walk(root, path);
    if (!value) {
        fprintf(stderr, "json_get: %s has no %s\n", name, path);
        return 1;
    }
    if (want_length) {
        printf("%d\n", cJSON_GetArraySize(value));
    } else if (cJSON_IsString(value)) {
        puts(value->valuestring);
    } else {
        char *printed = cJSON_PrintUnformatted(value);
        puts(printed);
        cJSON_free(printed);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        return 2;
    }
    char *text = read_file(argv[1]);
    cJSON *root = cJSON_ParseWithOpts(text, NULL, 1);
    int failed = 0;
    if (argc == 3) {
        failed = print(root, argv[1], argv[2]);
    } else if (!root) {
        failed = check_lines(text);
    }
    cJSON_Delete(root);
    free(text);
    return failed;
}
