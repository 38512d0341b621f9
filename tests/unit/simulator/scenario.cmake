# Scenario files: what is refused, and what a run reports.
simulator_unit(scenario test_scenario_index.c test_scenario_parse.c test_scenario_report.c
               test_sentences.c)
simulator_unit(scenario_oracle test_scenario_oracle.c)
simulator_unit(scenario_touched test_scenario_touched.c)
simulator_unit(schedules test_schedules.c)
simulator_unit(bisect test_bisect.c)
simulator_unit(explorers test_explorers.c generated_program.c)
simulator_unit(generate test_generate.c)
target_compile_definitions(unit_simulator_schedules
                           PRIVATE HANDED_DIR="${PROJECT_SOURCE_DIR}/tests/scenarios/handed")

# The live core knows nothing of the simulated one: no hook, and none of its names.
add_test(NAME simulator.live_core_has_no_hooks
         COMMAND sh -c "nm \"$1\" | grep -q trk_tracker_upload && ! nm \"$1\" | grep -E 'trk_(hook|sim|simcore)_' && nm \"$2\" | grep -q trk_hook_lock"
                 sh $<TARGET_FILE:track> $<TARGET_FILE:trk_simulator>)
simulator_unit(nearest test_nearest.c)
target_compile_definitions(unit_simulator_nearest
                           PRIVATE HANDED_DIR="${PROJECT_SOURCE_DIR}/tests/scenarios/handed")
simulator_unit(litmus_counts test_litmus_counts.c)
target_compile_definitions(unit_simulator_litmus_counts
                           PRIVATE SCENARIOS_DIR="${PROJECT_SOURCE_DIR}/tests/scenarios")
# TRK_SEED and TRK_PROGRAMS: which programs, and how many.
simulator_unit(engines_agree test_engines_agree.c generated_program.c)
simulator_unit(engines test_engines.c small_program.c)
target_link_libraries(unit_simulator_engines PRIVATE PkgConfig::XXHASH)
