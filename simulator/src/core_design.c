/*
 * What a case asks of a tracker's design, where a plug-in says that its own is another.
 *
 * It is found by running the case on libtrack's own core, so that no answer of the plug-in has a
 * part in it, and only what the plug-in has said of itself counts.
 */
#include "core_design.h"

#include "core_plugin.h"
#include "scenario_program.h"
#include "simulator/core.h"

static bool asking;
static unsigned needed; /* bits of enum core_design */

static const struct {
    enum core_design need;
    enum trk_core_feature said;
    const char *words;
} designs[] = {
    {CORE_DESIGN_LOADS, TRK_CORE_OPEN_LOADS, "loads that fault"},
    {CORE_DESIGN_LOCKS, TRK_CORE_PAGE_LOCKS, "operations that wait for a lock of other pages"},
    {CORE_DESIGN_COUNTS, TRK_CORE_OWN_WATCHES, "one count of the tracker's watch and the clients'"},
};

bool core_design_asked(void)
{
    return asking;
}

void core_design_needs(enum core_design need)
{
    needed |= asking ? (unsigned)need : 0;
}

/*
 * Whether an order that the file gives goes on inside of operations: only a tracker with libtrack's
 * steps has these. A thread that is named more often than it has operations stands inside of one.
 */
static bool steps_inside(const struct trk_scenario *scenario)
{
    const struct scenario_schedule *schedule = &scenario->schedule;
    for (uint32_t t = 0; t < scenario->thread_count && schedule->kind == SCHEDULE_LIST; t++) {
        uint32_t named = 0;
        for (uint32_t i = 0; i < schedule->step_count; i++)
            named += schedule->steps[i].thread == t && schedule->steps[i].label == NULL;
        if (named > scenario->threads[t].op_count)
            return true;
    }
    return false;
}

enum trk_status trk_core_differs(const struct trk_scenario *scenario,
                                 const struct trk_scenario_options *options, const char **out)
{
    struct trk_scenario_report report;
    unsigned said = 0;
    *out = NULL;
    if (!core_is_plugin())
        return TRK_OK;
    for (size_t i = 0; i < sizeof designs / sizeof designs[0]; i++)
        said |= core_table->features & designs[i].said;
    if (core_foreign() && steps_inside(scenario))
        *out = "an order of libtrack's own steps";
    if (*out != NULL || said == 0)
        return TRK_OK;
    asking = true;
    needed = 0;
    core_put_aside(true);
    enum trk_status status = trk_scenario_run_with(scenario, options, &report);
    core_put_aside(false);
    asking = false;
    for (size_t i = 0; i < sizeof designs / sizeof designs[0] && *out == NULL; i++)
        if ((needed & designs[i].need) != 0 && (said & designs[i].said) != 0)
            *out = designs[i].words;
    return status;
}
