/*
 * Goal: each call that tells a thread's digest what the thread has seen (run_saw) is needed, and
 * one that is forgotten is noticed. Method: exploring files are run with all calls and then, call
 * by call, without that one: for each call there must be a file whose number of schedules or whose
 * verdicts differ then. With all calls they must be those that come out when states are known by
 * their stacks, too. Calls are known by what they tell; a few are kept although nothing shows that
 * they are needed.
 *
 *     observations FILE...
 *
 * Files that do not ask for every schedule are passed over. Rules: scenario-format, Schedules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario_schedule.h"

#define CALLS_MOST 64u
#define FILES_MOST 1024

struct call {
    const char *value; /* in the source's words */
    unsigned noticed;  /* by so many files */
    char by[64];       /* one of them */
};

struct result {
    char interleavings[40];
    uint32_t seen;
};

struct program {
    struct trk_scenario *scenario;
    struct result whole;
};

/* Two states that differ in these alone have not been found; their stacks do differ in them. */
static const char *const kept[] = {
    "repeats->count", /* of faults: other calls count them too, but not since the last change */
    "end",            /* of pages to join: locks taken before tell most of it */
    /* Only when two threads map one range anew at once, which an address space does not allow. */
    "entry->offset_pages << 4 | entry->view_rights",
};

static struct call calls[CALLS_MOST];
static size_t call_count;
static const struct call *taken_away;

bool trk_saw(const char *value)
{
    for (size_t i = 0; i < call_count; i++)
        if (strcmp(calls[i].value, value) == 0)
            return &calls[i] != taken_away;
    if (call_count == CALLS_MOST) {
        fprintf(stderr, "observations: more than %u calls\n", CALLS_MOST);
        exit(70);
    }
    calls[call_count++] = (struct call){.value = value};
    return true;
}

static struct result run(const struct trk_scenario *scenario, bool stacks)
{
    struct schedule_request request = {.stacks = stacks};
    struct trk_scenario_report report;
    struct result result = {0};
    if (schedule_scenario(scenario, &request, &report) != TRK_OK) {
        fprintf(stderr, "observations: %s cannot be run\n", trk_scenario_name(scenario));
        exit(70);
    }
    memcpy(result.interleavings, report.interleavings, sizeof result.interleavings);
    result.seen = request.seen;
    return result;
}

static bool differ(const struct result *a, const struct result *b)
{
    return a->seen != b->seen || strcmp(a->interleavings, b->interleavings) != 0;
}

static size_t load(struct program *programs, int count, char **paths)
{
    size_t loaded = 0;
    for (int i = 0; i < count; i++) {
        struct trk_scenario_fault fault;
        struct program *program = &programs[loaded];
        if (trk_scenario_load(&program->scenario, paths[i], &fault) != TRK_OK) {
            fprintf(stderr, "observations: %s: %s\n", paths[i], fault.text);
            exit(2);
        }
        if (program->scenario->schedule.kind == SCHEDULE_EXPLORE)
            loaded++;
        else
            trk_scenario_destroy(program->scenario);
    }
    return loaded;
}

/* Without one call; counts the files that show it. */
static void without(struct call *call, const struct program *programs, size_t count)
{
    taken_away = call;
    for (size_t i = 0; i < count; i++) {
        struct result less = run(programs[i].scenario, false);
        if (!differ(&less, &programs[i].whole))
            continue;
        if (call->noticed++ == 0)
            snprintf(call->by, sizeof call->by, "%.63s", trk_scenario_name(programs[i].scenario));
    }
    taken_away = NULL;
}

static bool is_kept(const struct call *call)
{
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(call->value, kept[i]) == 0)
            return true;
    return false;
}

int main(int count, char **arguments)
{
    static struct program programs[FILES_MOST];
    int bad = 0;
    if (count < 2 || count > FILES_MOST) {
        fprintf(stderr, "observations FILE...\n");
        return 2;
    }
    size_t loaded = load(programs, count - 1, arguments + 1);
    for (size_t i = 0; i < loaded; i++) {
        programs[i].whole = run(programs[i].scenario, false);
        struct result stacks = run(programs[i].scenario, true);
        if (differ(&programs[i].whole, &stacks)) {
            printf("%s: other schedules when stacks are looked at\n",
                   trk_scenario_name(programs[i].scenario));
            bad = 1;
        }
    }
    for (size_t i = 0; i < call_count; i++) {
        without(&calls[i], programs, loaded);
        bool needed = calls[i].noticed > 0;
        printf("%s: %u files notice%s%s\n", calls[i].value, calls[i].noticed, needed ? ": " : "",
               calls[i].by);
        bad |= needed == is_kept(&calls[i]);
    }
    for (size_t i = 0; i < loaded; i++)
        trk_scenario_destroy(programs[i].scenario);
    return bad;
}
