/*
 * What the engines do in a second of processor time, beside the aims; prints one JSON object.
 *
 *     trk_bench_engines [--rounds N]
 *
 * Programs: two threads that take two locks in turn, k rounds; and scenarios with the whole oracle:
 * three guest writes against three uploads and three reads of the GPU, a thread each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "samples.h"
#include "scenario_schedule.h"
#include "small_program.h"

#define RANDOM_RUNS 100000u

static const char against[] =
    "{\"scenario\": 1, \"name\": \"against\", \"memory\": {\"A\": {\"at\": \"0x200010000\", "
    "\"size\": \"1P\"}}, \"threads\": {"
    "\"guest\": [\"store A 8 1\", \"store A 8 2\", \"store A 8 3\"], "
    "\"render\": [\"upload A 1P\", \"upload A 1P\", \"upload A 1P\"], "
    "\"reader\": [\"gpu_read A 8\", \"gpu_read A 8\", \"gpu_read A 8\"]}, "
    "\"schedule\": \"explore\"}";

struct figures {
    struct bench_samples random, classes, states, complete_ms;
    uint64_t class_count, state_count;
    char interleavings[48];
};

static double per_second(uint64_t count, uint64_t ns)
{
    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static bool measure_small(struct figures *figures)
{
    struct small_program small;
    struct engine_result result;
    struct engine_limits limits = {.most = UINT64_MAX};
    small_two_locks(&small, 3);
    struct engine_program program = small_engine(&small);
    uint64_t begun = bench_processor_ns();
    if (engine_random(&program, RANDOM_RUNS, 1, &result) != TRK_OK)
        return false;
    bench_samples_add(&figures->random, per_second(result.schedules, bench_processor_ns() - begun));
    small_two_locks(&small, 5);
    begun = bench_processor_ns();
    if (engine_dpor(&program, &limits, &result) != TRK_OK)
        return false;
    bench_samples_add(&figures->classes,
                      per_second(result.schedules, bench_processor_ns() - begun));
    figures->class_count = result.schedules;
    return true;
}

static bool measure_scenario(struct figures *figures)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    struct trk_scenario_report report;
    struct schedule_request request = {0};
    if (trk_scenario_parse(&scenario, against, sizeof against - 1, &fault) != TRK_OK)
        return false;
    uint64_t begun = bench_processor_ns();
    enum trk_status status = schedule_scenario(scenario, &request, &report);
    uint64_t ns = bench_processor_ns() - begun;
    trk_scenario_destroy(scenario);
    bench_samples_add(&figures->states, per_second(request.explored.states, ns));
    bench_samples_add(&figures->complete_ms, (double)ns / 1e6);
    figures->state_count = request.explored.states;
    memcpy(figures->interleavings, report.interleavings, sizeof report.interleavings);
    return status == TRK_OK;
}

static void print_one(const char *name, const struct bench_samples *samples, double aim)
{
    struct bench_spread spread = bench_samples_spread(samples);
    printf("  ");
    bench_spread_print(stdout, name, &spread);
    printf(",\n  \"%s_aim\": %.1f,\n", name, aim);
}

int main(int argc, char **argv)
{
    static struct figures figures;
    unsigned rounds = 10;
    if (argc == 3 && strcmp(argv[1], "--rounds") == 0)
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
    for (unsigned i = 0; i < rounds; i++) {
        if (!measure_small(&figures) || !measure_scenario(&figures)) {
            fputs("trk_bench_engines: an engine failed\n", stderr);
            return 1;
        }
    }
    puts("{\n  \"schema\": \"trk-bench-engines/1\",");
    print_one("random_schedules_per_s", &figures.random, 2e6);
    print_one("dpor_classes_per_s", &figures.classes, 1e6);
    print_one("hashed_states_per_s", &figures.states, 2e6);
    print_one("three_against_three_ms", &figures.complete_ms, 100);
    printf("  \"dpor_classes\": %" PRIu64 ",\n  \"hashed_states\": %" PRIu64
           ",\n  \"interleavings\": \"%s\"\n}\n",
           figures.class_count, figures.state_count, figures.interleavings);
    return 0;
}
