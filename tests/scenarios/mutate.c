/*
 * Scenario files with one expectation changed each: none of them may hold.
 *
 *     scenario_mutate OUT FILE...
 *
 * Takes files that run on one thread. Those that expect `ok` are written once for every result
 * behind a => with that result changed; all are written once with another verdict. Prints how many
 * files were written.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define FILE_BYTES_MOST 65536u
#define LINE_BYTES_MOST 4096u

static unsigned written;

static void die(const char *what, const char *path)
{
    fprintf(stderr, "scenario_mutate: %s: %s\n", path, what);
    exit(1);
}

static cJSON *read_file(const char *path)
{
    static char bytes[FILE_BYTES_MOST];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die("cannot be read", path);
    size_t size = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    bytes[size] = '\0';
    cJSON *root = cJSON_Parse(bytes);
    if (root == NULL)
        die("is no JSON", path);
    return root;
}

static void write_file(const char *out, const char *path, const cJSON *root)
{
    char name[LINE_BYTES_MOST];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s/%05u-%s", out, written++, slash != NULL ? slash + 1 : path);
    FILE *file = fopen(name, "wb");
    char *text = cJSON_Print(root);
    if (file == NULL || text == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        die("cannot be written", name);
    free(text);
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Another result in the place of one, of a kind that the operation may have. */
static void other_result(const char *operation, const char *result, char *out, size_t size)
{
    static const char *const swaps[][2] = {
        {"silent", "handled"}, {"handled", "silent"}, {"unhandled", "silent"}, {"denied", "ok"},
        {"efault", "ok"},      {"fail", "ok"},        {"rejected", "77"},      {"new ", "0"},
        {"none", "rw"},        {"rw", "none"},        {"rx", "none"},          {"r", "none"},
    };
    static const char *const not_ok[][2] = {
        {"hle_write", "denied"},   {"sys_", "efault"},     {"map", "fail"},
        {"unmap", "fail"},         {"commit", "fail"},     {"reserve", "fail"},
        {"guest_protect", "fail"}, {"", "fatal livelock"},
    };
    unsigned number;
    char word[32];
    out[0] = '\0';
    if (sscanf(result, "%u", &number) == 1 && begins(operation, "gen"))
        snprintf(out, size, "new other");
    else if (sscanf(result, "%u", &number) == 1)
        snprintf(out, size, "%u", number == 0 ? 1 : number - 1);
    else if (sscanf(result, "%31[a-z] %u", word, &number) == 2)
        snprintf(out, size, "%s %u", word, number + 1);
    else if (begins(result, "[]"))
        snprintf(out, size, begins(operation, "calls") ? "[0x1000 1P r]" : "[0x1000 1P]");
    else if (begins(result, "["))
        snprintf(out, size, "[]");
    else if (begins(result, "fatal"))
        snprintf(out, size, "fatal %s", begins(result, "fatal range") ? "lock" : "range");
    else if (begins(result, "same "))
        snprintf(out, size, "not %.40s", result + 5);
    else if (begins(result, "not "))
        snprintf(out, size, "same %.40s", result + 4);
    if (begins(operation, "gen_track") && begins(result, "fail"))
        snprintf(out, size, "0");
    for (size_t i = 0; out[0] == '\0' && begins(result, "ok"); i++)
        if (begins(operation, not_ok[i][0]))
            snprintf(out, size, "%s", not_ok[i][1]);
    for (size_t i = 0; out[0] == '\0' && i < sizeof swaps / sizeof swaps[0]; i++)
        if (begins(result, swaps[i][0]))
            snprintf(out, size, "%s", swaps[i][1]);
}

/* Where the operation begins that a => belongs to: behind what separates, or the brace that its own
 * closes. */
static const char *operation_of(const char *line, const char *arrow)
{
    int depth = 0;
    const char *at = arrow;
    while (at > line) {
        char before = at[-1];
        depth += before == '}';
        if ((before == ';' || before == '{') && depth == 0)
            break;
        depth -= before == '{';
        at--;
    }
    while (*at == ' ')
        at++;
    const char *colon = at + strcspn(at, " :");
    return *colon == ':' ? colon + 1 + strspn(colon + 1, " ") : at;
}

static void mutate_line(const char *out, const char *path, const cJSON *root, cJSON *item)
{
    char line[LINE_BYTES_MOST], changed[LINE_BYTES_MOST], result[LINE_BYTES_MOST], other[64];
    snprintf(line, sizeof line, "%s", item->valuestring);
    for (char *arrow = strstr(line, "=>"); arrow != NULL; arrow = strstr(arrow + 2, "=>")) {
        const char *first = arrow + 2 + strspn(arrow + 2, " ");
        size_t length = *first == '[' ? strcspn(first, "]") + 1 : strcspn(first, ",;}");
        while (length > 0 && first[length - 1] == ' ')
            length--;
        snprintf(result, sizeof result, "%.*s", (int)length, first);
        other_result(operation_of(line, arrow), result, other, sizeof other);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(first - line), line, other,
                 first + length);
        cJSON_SetValuestring(item, changed);
        write_file(out, path, root);
        cJSON_SetValuestring(item, line);
    }
}

static void mutate_list(const char *out, const char *path, const cJSON *root, cJSON *list)
{
    for (cJSON *item = list != NULL ? list->child : NULL; item != NULL; item = item->next)
        mutate_line(out, path, root, item);
}

static void mutate_file(const char *out, const char *path)
{
    cJSON *root = read_file(path);
    cJSON *threads = cJSON_GetObjectItem(root, "threads");
    cJSON *verdict = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "expect"), "verdict");
    if (cJSON_GetArraySize(threads) == 1 && verdict != NULL) {
        bool ok = strcmp(verdict->valuestring, "ok") == 0;
        cJSON *run = threads->child;
        if (ok) {
            mutate_list(out, path, root, cJSON_GetObjectItem(root, "init"));
            mutate_list(out, path, root,
                        cJSON_IsArray(run) ? run : cJSON_GetObjectItem(run, "run"));
            mutate_list(out, path, root, cJSON_GetObjectItem(root, "finally"));
        }
        cJSON_DeleteItemFromObject(cJSON_GetObjectItem(root, "expect"), "at");
        cJSON_ReplaceItemInObject(cJSON_GetObjectItem(root, "expect"), "verdict",
                                  cJSON_CreateString(ok ? "watch-leak" : "ok"));
        write_file(out, path, root);
    }
    cJSON_Delete(root);
}

int main(int count, char **arguments)
{
    if (count < 3)
        die("OUT FILE...", "usage");
    for (int i = 2; i < count; i++)
        mutate_file(arguments[1], arguments[i]);
    printf("%u\n", written);
    return 0;
}
