# Scenario files: parser, runner, oracle, schedules; and the core that they run.
include(core.cmake)
set(scenario_sources
  src/core_design.c src/core_lacks.c src/core_load.c src/core_own_simulated.c src/core_plugin.c src/core_plugin_host.c
  src/core_plugin_insides.c src/core_plugin_life.c src/core_plugin_locks.c src/core_plugin_look.c
  src/core_plugin_transfer.c
  src/engine_dpor.c src/engine_graph.c src/engine_graph_counts.c src/engine_hashed.c
  src/engine_random.c src/footprint.c src/scenario_bisect.c src/scenario_nearest.c
  src/scenario_access.c src/scenario_ask.c src/scenario_check.c src/scenario_expect.c src/scenario_expr.c
  src/scenario_explore.c src/scenario_found.c
  src/scenario_generations.c src/scenario_host.c src/scenario_json.c src/scenario_judge.c
  src/scenario_ops.c
  src/scenario_oracle.c src/scenario_parse.c src/scenario_point.c src/scenario_pool.c src/scenario_touched.c
  src/scenario_place.c src/scenario_random.c src/scenario_reach.c src/scenario_replay.c src/scenario_repro.c src/scenario_results.c
  src/scenario_run.c src/scenario_scale.c src/scenario_schedule.c src/scenario_setup.c src/scenario_snapshot.c
  src/scenario_space.c src/scenario_story.c src/scenario_sync.c src/scenario_tally.c
  src/scenario_tape.c src/scenario_tracker.c
  src/scenario_transfer.c src/scenario_world.c src/states_scenario.c)
target_sources(trk_simulator PRIVATE ${scenario_sources} $<TARGET_OBJECTS:trk_core_sim>)
set_source_files_properties(${scenario_sources} PROPERTIES
  COMPILE_OPTIONS "-include;${core_names}" OBJECT_DEPENDS ${core_names})
target_link_libraries(trk_simulator PRIVATE PkgConfig::CJSON PkgConfig::XXHASH ${CMAKE_DL_LIBS})
add_dependencies(trk_simulator trk_core_names)
