/*
 * The states that the core in force gives to the pages of a scenario, operation by operation.
 */
#include "states_scenario.h"

#include "scenario_schedule.h"

void states_operation(struct states_looker *looker, const struct run_thread *thread,
                      const struct scenario_op *op)
{
    if (looker->over)
        return;
    const struct trk_states_step step = {
        .number = looker->number++,
        .thread = thread->text->name,
        .operation = op->number,
        .operation_text = op->text,
        .tracker = thread->run->tracker,
        .spans = looker->spans,
        .span_count = looker->span_count,
        .scenario = true,
    };
    looker->over = !looker->listener->fn(looker->listener->context, &step);
}

enum trk_status trk_states_scenario(const struct trk_scenario *scenario, const char *schedule,
                                    const struct trk_states_listener *listener,
                                    struct trk_scenario_report *report,
                                    struct trk_scenario_fault *fault)
{
    struct trk_states_span spans[TRK_SCENARIO_ENTRIES];
    struct states_looker looker = {.listener = listener, .spans = spans};
    struct schedule_request request = {.fault = fault, .looker = &looker};
    for (uint32_t i = 0; i < scenario->entry_count; i++) {
        const struct scenario_entry *entry = &scenario->entries[i];
        spans[looker.span_count++] = (struct trk_states_span){
            entry->guest_addr & ~(SCENARIO_PAGE_BYTES - 1),
            (entry->guest_addr + entry->size_bytes + SCENARIO_PAGE_BYTES - 1) &
                ~(SCENARIO_PAGE_BYTES - 1)};
    }
    return schedule != NULL ? schedule_line(scenario, schedule, &request, report)
                            : schedule_scenario(scenario, &request, report);
}
