/*
 * Running a window's script.
 */
#include "explore_judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenario_schedule.h"
#include "simulator/core.h"

/* trk1:CORE:SCENARIO:STEPS; each hash has 8 digits. */
#define SCRIPT_HASH_AT 14u
#define LINE_BYTES     1024u

static char lacks[128]; /* by the plug-in, of what the newest script needs */

const char *judge_lacks(void)
{
    return lacks[0] != '\0' ? lacks : NULL;
}

static enum trk_status load(const char *script, struct trk_scenario **out)
{
    struct trk_scenario_fault fault;
    enum trk_status status = trk_scenario_parse(out, script, strlen(script), &fault);
    /* The script is our own: one that is no scenario, or needs too much, cannot be said. */
    if (status == TRK_E_ARGUMENT)
        return TRK_E_UNSUPPORTED;
    const char *what = status == TRK_OK ? trk_core_lacks(*out) : NULL;
    snprintf(lacks, sizeof lacks, "%s", what != NULL ? what : "");
    if (status == TRK_OK && (trk_scenario_needs(*out) != NULL || what != NULL)) {
        trk_scenario_destroy(*out);
        return TRK_E_UNSUPPORTED;
    }
    return status;
}

enum trk_status judge_run(const char *script, uint64_t most, struct judged *out)
{
    const struct engine_leave never = {.go_on = NULL};
    return judge_run_while(script, most, &never, out);
}

enum trk_status judge_run_while(const char *script, uint64_t most, const struct engine_leave *leave,
                                struct judged *out)
{
    struct trk_scenario *scenario;
    memset(out, 0, sizeof *out);
    enum trk_status status = load(script, &scenario);
    if (status != TRK_OK)
        return status;
    struct schedule_request request = {.most = most, .leave = *leave};
    status = schedule_scenario(scenario, &request, &out->report);
    out->seen = request.seen;
    trk_scenario_destroy(scenario);
    return status;
}

enum trk_status judge_hash(const char *script, char out[9])
{
    struct trk_scenario *scenario;
    enum trk_status status = load(script, &scenario);
    if (status != TRK_OK)
        return status;
    snprintf(out, 9, "%08" PRIx32, scenario->hash);
    trk_scenario_destroy(scenario);
    return TRK_OK;
}

enum trk_status judge_replay(const char *script, const char *schedule,
                             struct trk_scenario_report *out, struct trk_scenario_fault *fault)
{
    struct trk_scenario *scenario;
    char line[LINE_BYTES];
    enum trk_status status = load(script, &scenario);
    if (status != TRK_OK)
        return status;
    snprintf(line, sizeof line, "%s", schedule);
    if (strlen(line) > SCRIPT_HASH_AT + 8) {
        char hash[9];
        snprintf(hash, sizeof hash, "%08" PRIx32, scenario->hash);
        memcpy(line + SCRIPT_HASH_AT, hash, 8);
    }
    status = trk_scenario_replay(scenario, line, out, fault);
    trk_scenario_destroy(scenario);
    return status;
}

enum trk_status judge_tell(const char *script, const struct trk_scenario_report *report,
                           struct trk_scenario_story *out)
{
    struct trk_scenario *scenario;
    memset(out, 0, sizeof *out);
    enum trk_status status = load(script, &scenario);
    if (status != TRK_OK)
        return status;
    status = trk_scenario_tell(scenario, report, out);
    trk_scenario_destroy(scenario);
    return status == TRK_E_ARGUMENT ? TRK_OK : status;
}
