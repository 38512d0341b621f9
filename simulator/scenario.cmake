# Scenario files: parser, runner, oracle.
target_sources(trk_simulator PRIVATE
  src/scenario_access.c src/scenario_check.c src/scenario_expect.c src/scenario_expr.c
  src/scenario_generations.c src/scenario_host.c src/scenario_json.c src/scenario_judge.c
  src/scenario_ops.c
  src/scenario_oracle.c src/scenario_parse.c src/scenario_pool.c src/scenario_results.c
  src/scenario_run.c src/scenario_space.c src/scenario_sync.c src/scenario_tracker.c
  src/scenario_transfer.c src/scenario_world.c)
target_link_libraries(trk_simulator PRIVATE PkgConfig::CJSON)
