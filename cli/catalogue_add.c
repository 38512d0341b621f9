/* trk catalogue add: what is known of a file, and the file itself. */
#include "catalogue_add.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "json_out.h"
#include "recorder/trace.h"
#include "simulator/scenario.h"
#include "terminal.h"
#include "traces/plain_file.h"

struct adding {
    struct trk_manifest_entry entry;
    char policy[sizeof((struct trk_manifest_entry *)0)->policy]; /* as the trace's header tells */
};

/* Put key=value behind what out has, as far as there is room. */
static void add_pair(const cJSON *value, char *out, size_t size)
{
    char number[32], word[64];
    size_t used = strlen(out);
    snprintf(number, sizeof number, "%.0f", value->valuedouble);
    const char *text = cJSON_IsString(value)  ? value->valuestring
                       : cJSON_IsTrue(value)  ? "true"
                       : cJSON_IsFalse(value) ? "false"
                                              : number;
    int length =
        snprintf(word, sizeof word, "%s%.20s=%.20s", used > 0 ? "," : "", value->string, text);
    if (length > 0 && used + (size_t)length < size) {
        memcpy(out + used, word, (size_t)length + 1);
    }
}

/* The policies of a trace's trackers, as its header has them. */
static void policy_of(const struct trk_trace *trace, char *out, size_t size)
{
    cJSON *header = cJSON_Parse(trk_trace_header_json(trace));
    const cJSON *tracker;
    out[0] = '\0';
    cJSON_ArrayForEach(tracker, cJSON_GetObjectItemCaseSensitive(header, "trackers"))
    {
        const cJSON *value;
        cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(tracker, "policy"))
        {
            add_pair(value, out, size);
        }
    }
    cJSON_Delete(header);
}

/* Whether it is a scenario file. */
static enum trk_status look_at_scenario(const char *path, struct trk_error *error)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault = {.text = ""};
    int fd;
    enum trk_status status = trk_plain_file_open(path, &fd, error); /* a pipe is not waited for */
    if (status != TRK_OK) {
        return status;
    }
    close(fd);
    status = trk_scenario_load(&scenario, path, &fault);
    if (status == TRK_OK) {
        trk_scenario_destroy(scenario);
        return TRK_OK;
    }
    int reason = errno;
    if (status == TRK_E_SYSTEM) {
        return trk_error_set_errno(error, status, reason, "the scenario");
    }
    return trk_error_set(error, status == TRK_E_ARGUMENT ? TRK_E_DAMAGED : status,
                         "no scenario: %s%s%s", fault.where, fault.where[0] != '\0' ? ": " : "",
                         fault.text);
}

/* What a trace lacks is told where it is to be ok. */
static void tell_losses(const char *path, const struct trk_trace *trace,
                        const struct trk_manifest_entry *entry)
{
    const struct trk_trace_state state = trk_trace_state(trace);
    const char *lacks = state.whole ? "its header was lost" : state.damage;
    if (!state.complete && entry->expected[0] == '\0') {
        trk_terminal_say("catalogue", "%s: the trace is not complete%s%s; expected is ok", path,
                         lacks[0] != '\0' ? ": " : "", lacks);
    }
}

/* Whether it is a trace that can be read to its end, or a scenario. */
static enum trk_status look_at(const char *path, struct adding *adding, struct trk_error *error)
{
    struct trk_trace *trace = NULL;
    size_t length = strlen(path);
    if (length > 5 && strcmp(path + length - 5, ".json") == 0) {
        return look_at_scenario(path, error);
    }
    enum trk_status status = trk_trace_open(&trace, path, error);
    if (status == TRK_OK) {
        status = trk_trace_scan(trace, error);
    }
    if (status == TRK_OK) {
        policy_of(trace, adding->policy, sizeof adding->policy);
        tell_losses(path, trace, &adding->entry);
    }
    if (trace != NULL) {
        trk_trace_close(trace);
    }
    return status;
}

/* What the manifest beside the file says of it, then what the options say. */
static enum trk_status describe(const struct trk_options *options, const char *path,
                                struct trk_manifest_entry *out, struct trk_error *error)
{
    char folder[PATH_MAX];
    struct trk_manifest manifest;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    int length = snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
                          slash != NULL ? path : ".");
    *out = (struct trk_manifest_entry){.bytes = 0};
    if (length < 0 || (size_t)length >= sizeof folder) {
        return trk_error_set(error, TRK_E_ARGUMENT, "the path is too long");
    }
    if (strlen(name) >= sizeof out->file) {
        return trk_error_set(error, TRK_E_ARGUMENT, "its name has more than %zu bytes",
                             sizeof out->file - 1);
    }
    enum trk_status status = trk_manifest_load(folder, &manifest, error);
    const struct trk_manifest_entry *found =
        status == TRK_OK ? trk_manifest_find(&manifest, name) : NULL;
    if (found != NULL) {
        *out = *found;
    }
    trk_manifest_free(&manifest);
    memcpy(out->file, name, strlen(name) + 1);
    const struct {
        const char *option;
        char *to;
        size_t size;
    } given[] = {{"expected", out->expected, sizeof out->expected},
                 {"origin", out->origin, sizeof out->origin},
                 {"licence", out->licence, sizeof out->licence}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        const char *text = trk_options_text(options, given[i].option);
        if (text != NULL && strlen(text) >= given[i].size) {
            return trk_error_set(error, TRK_E_ARGUMENT, "--%s: more than %zu bytes",
                                 given[i].option, given[i].size - 1);
        }
        if (text != NULL) {
            memcpy(given[i].to, text, strlen(text) + 1);
        }
    }
    if (status == TRK_OK && out->expected[0] != '\0' &&
        !trk_manifest_may_expect(name, out->expected)) {
        return trk_error_set(error, TRK_E_ARGUMENT, "--expected: '%.31s' is no verdict",
                             out->expected);
    }
    return status;
}

static int store(struct trk_catalogue *catalogue, const char *path, struct adding *adding)
{
    struct trk_manifest_entry *entry = &adding->entry;
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    if (trk_catalogue_add(catalogue, path, adding->policy, entry, &error) != TRK_OK) {
        return trk_terminal_error("catalogue", path, &error);
    }
    const char *slash = strrchr(path, '/');
    if (strcmp(slash != NULL ? slash + 1 : path, entry->file) != 0) {
        trk_terminal_say("catalogue", "%s: its content is stored, and stays %s", path, entry->file);
    }
    printf("%s ", entry->hash);
    trk_terminal_text(stdout, entry->file);
    putchar('\n');
    return TRK_EXIT_OK;
}

/* All are looked at before the first is stored: what is refused makes no catalogue. */
int trk_catalogue_add_operands(const char *folder, const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_catalogue *catalogue = NULL;
    const char *const *paths = options->operands + 2;
    const size_t count = options->operand_count - 2;
    struct adding *entries = calloc(count, sizeof *entries);
    int code = TRK_EXIT_OK;
    if (entries == NULL) {
        (void)trk_error_set(&error, TRK_E_MEMORY, "no memory for what is to be stored");
        return trk_terminal_error("catalogue", folder, &error);
    }
    for (size_t i = 0; i < count && code == TRK_EXIT_OK; i++) {
        enum trk_status status = describe(options, paths[i], &entries[i].entry, &error);
        if (status == TRK_OK) {
            status = look_at(paths[i], &entries[i], &error);
        }
        code = status == TRK_OK ? code : trk_terminal_error("catalogue", paths[i], &error);
    }
    if (code == TRK_EXIT_OK &&
        trk_catalogue_open(&catalogue, folder, TRK_CATALOGUE_TO_ADD, &error) != TRK_OK) {
        code = trk_terminal_error("catalogue", folder, &error);
    }
    for (size_t i = 0; i < count && code == TRK_EXIT_OK; i++) {
        code = store(catalogue, paths[i], &entries[i]);
    }
    if (code == TRK_EXIT_OK) {
        trk_catalogue_close(catalogue);
    } else {
        trk_catalogue_abandon(catalogue);
    }
    free(entries);
    return code;
}
