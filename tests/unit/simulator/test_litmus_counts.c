/*
 * Goal: what exploring comes to on the litmus files is what it was: a scheduling point more or
 * less, a state taken for another, a dependency forgotten all move a number. Method: both engines
 * on each file; the counts of states, schedules and classes are pinned. Rules: scenario-format,
 * Schedules.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "scenario_schedule.h"

struct pinned {
    const char *name;
    uint64_t interleavings, states, classes;
};

/* clang-format off */
static const struct pinned pinned[] = {
    {"handed/core/unlock-by-another-thread-ends-the-run", 1, 0, 1},
    {"handed/core/unlock-of-a-foreign-lock", 1, 1, 1},
    {"handed/faults/two-threads-fault-on-one-page", 414, 54, 30},
    {"handed/field/arm-before-copy", 1, 1, 1},
    {"handed/field/copy-before-arm", 1, 0, 1},
    {"handed/field/particles-restart", 1, 0, 1},
    {"handed/field/readback-without-a-wait", 1, 0, 1},
    {"handed/field/remap-leaves-a-gap", 8, 8, 8},
    {"handed/field/suspended-while-holding-the-emulator-lock", 3, 3, 2},
    {"handed/field/unmap-waits-for-a-label", 5, 5, 2},
    {"handed/generations/store-against-track", 27, 20, 7},
    {"handed/generations/two-stores-into-foreign-armed-memory", 588, 69, 24},
    {"handed/litmus/arming-many-pages-under-a-store", 34, 28, 11},
    {"handed/litmus/checked-write-against-upload", 104, 35, 22},
    {"handed/litmus/client-watch-that-stays", 7, 7, 3},
    {"handed/litmus/completion-of-a-written-upload-waits", 26, 15, 2},
    {"handed/litmus/completion-of-an-unwritten-upload-is-unlocked", 1, 1, 1},
    {"handed/litmus/copy-at-the-end-over-a-gpu-write", 1, 0, 1},
    {"handed/litmus/download-holds-all-regions", 1, 0, 1},
    {"handed/litmus/download-holds-one-region", 1, 1, 1},
    {"handed/litmus/download-orders-gpu-work", 111, 34, 7},
    {"handed/litmus/first-touch-by-two", 65, 20, 6},
    {"handed/litmus/flush-that-marks-too-much", 43639, 87, 7},
    {"handed/litmus/invalidate-against-a-written-upload-of-two-regions", 20, 20, 2},
    {"handed/litmus/invalidate-on-both-sides", 329, 45, 18},
    {"handed/litmus/invalidate-only-afterwards", 1, 0, 1},
    {"handed/litmus/kernel-read-after-release", 56, 22, 8},
    {"handed/litmus/load-and-store-against-a-gpu-page", 2149, 143, 92},
    {"handed/litmus/mark-against-invalidate", 12, 11, 2},
    {"handed/litmus/mutex-orders-the-write", 85, 22, 4},
    {"handed/litmus/neighbour-keeps-its-bit", 1, 1, 1},
    {"handed/litmus/page-taken-anew-during-the-flush", 222, 40, 3},
    {"handed/litmus/page-taken-anew-under-the-strict-look", 222, 39, 3},
    {"handed/litmus/partial-readback", 1, 1, 1},
    {"handed/litmus/ping-pong", 1, 1, 1},
    {"handed/litmus/region-crossing-stores", 30454660, 860, 697},
    {"handed/litmus/store-against-two-written-uploads", 18932, 243, 271},
    {"handed/litmus/store-against-upload", 113, 41, 31},
    {"handed/litmus/store-against-written-upload", 51, 34, 15},
    {"handed/litmus/taken-anew-and-flushed-again", 1, 1, 1},
    {"handed/litmus/two-clients-watch-and-release", 1532, 88, 70},
    {"handed/litmus/two-racing-writers-the-later-counts", 20084, 396, 1134},
    {"handed/litmus/two-stores-against-two-uploads", 19056, 253, 449},
    {"handed/litmus/two-written-uploads-in-one-region", 16, 14, 2},
    {"handed/litmus/unmap-against-a-store", 221, 46, 39},
    {"handed/litmus/unordered-store-is-no-stale-read", 2157, 98, 81},
    {"handed/litmus/upload-against-written-upload", 48, 24, 5},
    {"handed/litmus/write-that-tells-nobody", 7, 8, 3},
    {"own/fault-of-either-page-of-a-store", 44263, 536, 753},
    {"own/fault-orders-only-what-it-found", 2049, 74, 14},
    {"own/fault-taken-over-by-another", 51, 26, 12},
    {"own/faults-are-counted-since-a-change", 22255330, 402, 428},
    {"own/gpu-write-before-or-after-a-fault-looks", 204518, 684, 60},
    {"own/marks-lock-regions-upwards", 11, 10, 2},
    {"own/masks-change-their-pages-only", 134618, 608, 149},
    {"own/rounds-of-a-repeat-are-told-apart", 70, 17, 1},
    {"own/store-while-a-notify-lets-go", 32, 24, 8},
    {"own/view-joined-while-another-is-cut", 1247658, 910, 4688},
    {"own/view-that-goes-and-comes-during-a-fault", 26519, 375, 1289},
    {"own/watches-of-neighbours-are-told-in-order", 27817, 262, 441},
    {"own/written-upload-locks-regions-upwards", 772, 57, 6},
};
/* clang-format on */

static struct schedule_request explore(const struct trk_scenario *scenario, bool dpor)
{
    struct schedule_request request = {.dpor = dpor};
    struct trk_scenario_report report;
    cr_assert_eq(schedule_scenario(scenario, &request, &report), TRK_OK);
    return request;
}

Test(litmus, counts)
{
    for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
        const struct pinned *its = &pinned[i];
        struct trk_scenario *scenario = NULL;
        struct trk_scenario_fault fault;
        char path[512];
        snprintf(path, sizeof path, "%s/%s.json", SCENARIOS_DIR, its->name);
        cr_assert_eq(trk_scenario_load(&scenario, path, &fault), TRK_OK, "%s: %s", path,
                     fault.text);
        struct schedule_request hashed = explore(scenario, false), dpor = explore(scenario, true);
        cr_expect_eq(hashed.seen, dpor.seen, "%s: verdicts", its->name);
        cr_expect_eq((uint64_t)hashed.explored.interleavings, its->interleavings,
                     "%s: %" PRIu64 " interleavings", its->name,
                     (uint64_t)hashed.explored.interleavings);
        cr_expect_eq(hashed.explored.states, its->states, "%s: %" PRIu64 " states", its->name,
                     hashed.explored.states);
        cr_expect_eq(dpor.explored.classes, its->classes, "%s: %" PRIu64 " classes", its->name,
                     dpor.explored.classes);
        trk_scenario_destroy(scenario);
    }
}
