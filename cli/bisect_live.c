/*
 * Bisecting a running program: the first decision "this page is clean" that must not be trusted.
 *
 * A first run trusts all of them and tells which there are; the second trusts none; then the limit
 * is halved. Decisions have keys (recorder/trust.h), so that a run with other timing has the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bisect_probe.h"
#include "json_out.h"
#include "live_keys.h"
#include "out_file.h"
#include "sim_print.h"
#include "simulator/sim.h"
#include "terminal.h"

#define RECORDED     "live.trk"
#define BROKEN       "bad.trk"
#define ANSWER_BYTES 16
#define ARGUMENTS    (TRK_OPTIONS_OPERANDS_MOST + 16)
#define BLOCK_MS     "60000" /* trk record's --block, where nobody says another */

struct live {
    const struct trk_options *options;
    struct trk_scratch folder;
    char recorded[PATH_MAX], broken[PATH_MAX];
    struct trk_live_keys keys; /* of the run that trusted everything */
    uint64_t runs, repeats;
    uint64_t lost; /* events of the last run */
    bool untold;   /* a run's recording could not tell, and had lost events */
};

/* ---- a run ----------------------------------------------------------------------------------- */

static enum trk_bisect_answer ask_user(void)
{
    char line[ANSWER_BYTES];
    for (;;) {
        fputs("good, bad or skip? ", stderr);
        fflush(stderr);
        if (fgets(line, sizeof line, stdin) == NULL) {
            trk_terminal_say("bisect", "no answer: the input has ended");
            return TRK_BISECT_FAILED;
        }
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "good") == 0 || strcmp(line, "g") == 0) {
            return TRK_BISECT_GOOD;
        }
        if (strcmp(line, "bad") == 0 || strcmp(line, "b") == 0) {
            return TRK_BISECT_BAD;
        }
        if (strcmp(line, "skip") == 0 || strcmp(line, "s") == 0) {
            return TRK_BISECT_SKIP;
        }
    }
}

/* Whether the command joined the session; how many events its recording lost. */
static bool joined(const char *path, uint64_t *lost)
{
    struct trk_error error;
    struct trk_trace *trace = NULL;
    bool any = trk_trace_open(&trace, path, &error) == TRK_OK &&
               trk_trace_scan(trace, &error) == TRK_OK && trk_trace_stream_count(trace) > 0;
    *lost = any ? trk_trace_state(trace).dropped : 0;
    trk_trace_close(trace);
    return any;
}

/* Whether a run's recording is its own: there is none but what it made. Said. */
static bool left_recording(struct live *live, int status)
{
    if (status == -1) {
        return false;
    }
    if (WIFSIGNALED(status)) { /* the command's own signal is an exit code */
        trk_terminal_say("bisect", "the recording was ended by signal %d", WTERMSIG(status));
        return false;
    }
    bool any = joined(live->recorded, &live->lost);
    if (!any) {
        trk_terminal_say("bisect", "nothing was recorded");
    }
    return any;
}

/* Record the command with a limit; its wait status, or -1, said. */
static int record(struct live *live, const char *limit)
{
    const char *argv[ARGUMENTS];
    size_t count = 0;
    argv[count++] = "/proc/self/exe";
    argv[count++] = "record";
    argv[count++] = "--force";
    argv[count++] = "--output";
    argv[count++] = live->recorded;
    if (trk_options_elsewhere("record", "block") == NULL) {
        argv[count++] = "--block";
        argv[count++] = BLOCK_MS;
    }
    argv[count++] = "--";
    for (size_t i = 1; i < live->options->operand_count; i++) {
        argv[count++] = live->options->operands[i];
    }
    argv[count] = NULL;
    /* A recording that cannot begin leaves the file alone: it must not pass for that of this run.
     */
    if (unlink(live->recorded) != 0 && errno != ENOENT) {
        trk_terminal_say("bisect", "%s: %s", live->recorded, strerror(errno));
        return -1;
    }
    if (setenv("TRK_TRUST_LIMIT", limit, 1) != 0) {
        trk_terminal_say("bisect", "no memory");
        return -1;
    }
    int status = trk_bisect_spawn(argv);
    unsetenv("TRK_TRUST_LIMIT");
    live->runs++;
    return left_recording(live, status) ? status : -1;
}

static enum trk_bisect_answer run_once(struct live *live, const char *limit)
{
    const char *judge = trk_options_text(live->options, "judge");
    const char *answer = trk_options_text(live->options, "answer");
    fprintf(stderr, "run %" PRIu64 ", TRK_TRUST_LIMIT=%s\n", live->runs + 1, limit);
    int status = record(live, limit);
    if (status == -1) {
        return TRK_BISECT_FAILED;
    }
    enum trk_bisect_answer out;
    int code = TRK_EXIT_OK; /* of what looks at the recording */
    if (judge != NULL) {
        const char *const argv[] = {"/bin/sh", "-c", judge, "sh", live->recorded, NULL};
        status = trk_bisect_spawn(argv);
        code = status == -1 ? -1 : trk_exit_of_program(status);
        out = trk_bisect_verdict_of(status);
    } else if (strcmp(answer, "sim") == 0) {
        const char *const argv[] = {"/proc/self/exe", "sim", live->recorded, NULL};
        status = trk_bisect_spawn(argv);
        code = status == -1 ? -1 : trk_exit_of_program(status);
        out = code == -1                ? TRK_BISECT_FAILED
              : code == TRK_EXIT_OK     ? TRK_BISECT_GOOD
              : code == TRK_EXIT_BROKEN ? TRK_BISECT_BAD
                                        : TRK_BISECT_SKIP;
    } else if (strcmp(answer, "ask") == 0) {
        out = ask_user();
    } else {
        out = trk_bisect_answer_of(status);
    }
    live->untold |= code == TRK_EXIT_DAMAGED && live->lost > 0;
    return out;
}

/* A probe: so many runs as are asked for, which must agree. If all are bad, the last is kept. */
static enum trk_bisect_answer probe(struct live *live, const char *limit)
{
    enum trk_bisect_answer first = run_once(live, limit);
    for (uint64_t i = 1; i < live->repeats && first <= TRK_BISECT_BAD; i++) {
        enum trk_bisect_answer again = run_once(live, limit);
        if (again != first) {
            return again == TRK_BISECT_GOOD || again == TRK_BISECT_BAD ? TRK_BISECT_FLAPS : again;
        }
    }
    if (first == TRK_BISECT_BAD && rename(live->recorded, live->broken) != 0) {
        trk_terminal_say("bisect", "%s: %s", live->broken, strerror(errno));
        return TRK_BISECT_FAILED;
    }
    return first;
}

static enum trk_bisect_answer ask_limit(void *context, uint64_t at)
{
    struct live *live = context;
    const struct trk_live_key *key = &live->keys.all[at];
    char limit[96];
    snprintf(limit, sizeof limit, "%" PRIu64 ":0x%" PRIx64 ":%" PRIu32, key->frame, key->page_addr,
             key->ordinal);
    return probe(live, limit);
}

#define MORE_ROOM " (TRK_RECORD_RING gives it more room)"

/* ---- what came out --------------------------------------------------------------------------- */

struct outcome {
    enum trk_bisect_answer ended;
    const char *why;              /* it was not found; NULL: it was */
    uint64_t decisions;           /* of the run that trusted all */
    struct trk_live_key decision; /* that is wrong */
    bool judged;                  /* report is there */
    struct trk_input input;
    struct trk_sim_report report;
};

/* Which event of the last run that broke is the decision; why it is not known. */
static const char *find_decision(const struct trk_live_keys *keys, struct trk_live_key *decision,
                                 enum trk_bisect_answer *ended)
{
    const struct trk_live_key *found = NULL;
    for (size_t i = 0; i < keys->count && found == NULL; i++) {
        found = trk_live_key_same(&keys->all[i], decision) ? &keys->all[i] : NULL;
    }
    bool sure = found != NULL && trk_live_key_sure(keys, found);
    if (sure && found->trusted) {
        *decision = *found;
        return NULL;
    }
    bool lacking = found != NULL ? !sure : keys->lacks;
    *ended = lacking ? TRK_BISECT_SKIP : TRK_BISECT_FLAPS;
    if (sure) {
        return "the last run that was bad did not trust that decision";
    }
    if (found != NULL) {
        return "the recording of the last run that was bad lacks events of the decision's frame, "
               "so which one it is is not certain" MORE_ROOM;
    }
    return keys->lacks ? "the recording of the last run that was bad lacks events"
                       : "the last run that was bad did not make that decision";
}

/* The story of the last run that broke. */
static void judge_broken(const struct live *live, struct outcome *outcome)
{
    struct trk_error error;
    struct trk_live_keys keys = {0};
    if (trk_live_keys_read(&keys, live->broken, &error) != TRK_OK) {
        keys.lacks = true; /* what was read of it */
        keys.count = 0;
    }
    outcome->why = find_decision(&keys, &outcome->decision, &outcome->ended);
    trk_live_keys_deinit(&keys);
    snprintf(outcome->input.path, sizeof outcome->input.path, "%s",
             trk_options_text(live->options, "output")); /* where it will be */
    outcome->judged = trk_trace_open(&outcome->input.trace, live->broken, &error) == TRK_OK &&
                      trk_trace_scan(outcome->input.trace, &error) == TRK_OK &&
                      trk_sim_trace(outcome->input.trace, &outcome->report, &error) == TRK_OK;
}

static void print_text(const struct live *live, const struct outcome *outcome)
{
    if (outcome->why != NULL) {
        printf("not found: %s\n", outcome->why);
    } else {
        printf("the decision   event %" PRIu64 ": page 0x%" PRIx64 " was believed to be clean, "
               "frame %" PRIu64 ", ordinal %" PRIu32 "\n",
               outcome->decision.event, outcome->decision.page_addr, outcome->decision.frame,
               outcome->decision.ordinal);
        printf("               trusting it breaks the run, trusting only those before it does "
               "not\n");
    }
    printf("decisions      %" PRIu64 "\nruns           %" PRIu64 "\n", outcome->decisions,
           live->runs);
    if (outcome->why == NULL && outcome->judged) {
        struct trk_sim_options sim = trk_sim_options_default();
        const struct trk_sim_printed printed = {.input = &outcome->input, .sim = &sim};
        trk_sim_print(&printed, &outcome->report);
    }
}

static void print_json(const struct live *live, const struct outcome *outcome)
{
    cJSON *object = trk_json_out_object(TRK_BISECT_LIVE_SCHEMA);
    bool found = outcome->why == NULL;
    cJSON_AddBoolToObject(object, "found", found);
    cJSON_AddBoolToObject(object, "flaps", outcome->ended == TRK_BISECT_FLAPS);
    trk_json_out_text(object, "why", outcome->why);
    trk_json_out_number(object, "decisions", outcome->decisions);
    trk_json_out_number(object, "runs", live->runs);
    trk_json_out_number(object, "event", found ? outcome->decision.event : TRK_NOT_KNOWN);
    trk_json_out_address(object, "page", found ? outcome->decision.page_addr : TRK_NOT_KNOWN);
    trk_json_out_number(object, "frame", found ? outcome->decision.frame : TRK_NOT_KNOWN);
    trk_json_out_number(object, "ordinal", found ? outcome->decision.ordinal : TRK_NOT_KNOWN);
    bool judged = found && outcome->judged;
    trk_json_out_text(object, "verdict", judged ? trk_verdict_name(&outcome->report) : NULL);
    trk_json_out_text(object, "text", judged ? outcome->report.text : NULL);
    trk_json_out_number(object, "event_at", judged ? outcome->report.event_at : TRK_NOT_KNOWN);
    trk_json_out_text(object, "missing", judged ? outcome->report.missing : NULL);
    trk_json_out_print(object);
}

/* Why nothing is known of what cannot be tested. */
static const char *untested(const struct live *live, const char *why, const char *why_lost)
{
    return live->untold ? why_lost : why;
}

/* The search between a run that trusts all and one that trusts none. */
static enum trk_bisect_answer search(struct live *live, struct outcome *outcome)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    enum trk_bisect_answer answer = probe(live, "18446744073709551615");
    if (answer != TRK_BISECT_BAD) {
        outcome->why = answer == TRK_BISECT_SKIP
                           ? untested(live, "the run that trusts every decision cannot be tested",
                                      "the run that trusts every decision cannot be tested: its "
                                      "recording lacks events" MORE_ROOM)
                           : "the run is good though every decision is trusted";
        return answer;
    }
    if (trk_live_keys_read(&live->keys, live->broken, &error) != TRK_OK) {
        (void)trk_terminal_error("bisect", live->broken, &error);
        return TRK_BISECT_FAILED;
    }
    outcome->decisions = live->keys.count;
    if (live->keys.lacks) {
        outcome->why =
            "the recording of the first run lacks events, so its decisions are not known" MORE_ROOM;
        return TRK_BISECT_SKIP;
    }
    if (live->keys.count == 0) {
        outcome->why = "the program makes no decision that it tells of";
        return TRK_BISECT_SKIP;
    }
    answer = probe(live, "0");
    if (answer != TRK_BISECT_GOOD) {
        outcome->why = answer == TRK_BISECT_SKIP
                           ? untested(live, "the run that trusts no decision cannot be tested",
                                      "the run that trusts no decision cannot be tested: its "
                                      "recording lacks events" MORE_ROOM)
                           : "the run is bad though no decision is trusted";
        return answer;
    }
    struct trk_bisect bisect = {
        .bad = live->keys.count, .ask = ask_limit, .context = live, .probes = 2};
    answer = trk_bisect_search(&bisect);
    outcome->decision = live->keys.all[bisect.bad - 1];
    if (answer != TRK_BISECT_GOOD) {
        outcome->why = untested(live, "what is left of the decisions cannot be tested",
                                "what is left of the decisions cannot be tested: the recording of "
                                "a run lacks events" MORE_ROOM);
    }
    return answer;
}

static int finish(struct live *live, struct outcome *outcome)
{
    if (outcome->ended == TRK_BISECT_FAILED) {
        return TRK_EXIT_ENVIRONMENT;
    }
    if (outcome->ended == TRK_BISECT_FLAPS) {
        outcome->why = "a probe flaps: the same limit was good once and bad once";
    }
    if (outcome->why == NULL) {
        judge_broken(live, outcome);
    }
    (trk_options_flag(live->options, "json") ? print_json : print_text)(live, outcome);
    trk_terminal_flush();
    if (outcome->why == NULL) {
        return TRK_EXIT_BROKEN;
    }
    bool all_good = outcome->ended == TRK_BISECT_GOOD && outcome->decisions == 0;
    return all_good ? TRK_EXIT_OK : TRK_EXIT_DAMAGED;
}

/* Keep the last run that was bad under the name of -o. */
static int keep_broken(const struct live *live, struct trk_out_file *out)
{
    static char buffer[1 << 16];
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    FILE *file = fopen(live->broken, "rbe");
    enum trk_status status =
        file == NULL ? trk_error_set(&error, TRK_E_SYSTEM, "no run was bad") : TRK_OK;
    size_t got;
    while (status == TRK_OK && (got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        status = trk_out_file_write(out, buffer, got, &error);
    }
    if (file != NULL) {
        fclose(file);
    }
    return status == TRK_OK ? trk_out_file_keep(out, live->options)
                            : trk_terminal_error("bisect", out->path, &error);
}

int trk_bisect_live(const struct trk_options *options)
{
    static struct live live;
    static struct outcome outcome;
    const char *path = trk_options_text(options, "output");
    struct trk_out_file out;
    if (options->operand_count < 2) {
        trk_terminal_say("bisect", "live: the command is missing: trk bisect live -- CMD");
        return TRK_EXIT_USAGE;
    }
    live = (struct live){.options = options, .repeats = trk_options_number(options, "repeat")};
    if (path == NULL) {
        trk_terminal_say("bisect", "live: -o is missing: the trace of a bad run needs a file");
        return TRK_EXIT_USAGE;
    }
    if (trk_options_text(options, "judge") != NULL && trk_options_given(options, "answer")) {
        trk_terminal_say("bisect", "live: --answer does not go with --judge");
        return TRK_EXIT_USAGE;
    }
    int code = trk_out_file_open(&out, options);
    if (code == TRK_EXIT_OK && strcmp(out.path, "-") == 0) {
        trk_terminal_say("bisect", "live: -o %s: the report goes there, name a file", path);
        trk_out_file_close(&out);
        code = TRK_EXIT_USAGE;
    }
    if (code != TRK_EXIT_OK) {
        return code;
    }
    code = trk_scratch_open(&live.folder, "bisect", NULL);
    if (code == TRK_EXIT_OK) {
        trk_scratch_file(&live.folder, RECORDED, live.recorded);
        trk_scratch_file(&live.folder, BROKEN, live.broken);
        outcome.ended = search(&live, &outcome);
        code = finish(&live, &outcome);
        if (code == TRK_EXIT_BROKEN) {
            int kept = keep_broken(&live, &out);
            code = kept == TRK_EXIT_OK ? code : kept;
        }
        trk_trace_close(outcome.input.trace);
    }
    trk_out_file_close(&out);
    trk_live_keys_deinit(&live.keys);
    trk_scratch_close(&live.folder);
    return code;
}
