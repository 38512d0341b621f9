# Scenario files on real memory. The parsed program is internal to the simulator.
add_executable(scenario_live live/live_access.c live/live_generations.c live/live_judge.c live/live_main.c
               live/live_run.c live/live_world.c)
target_include_directories(scenario_live PRIVATE ${PROJECT_SOURCE_DIR}/simulator/src)
target_link_libraries(scenario_live PRIVATE trk_simulator trk_capture track)
trk_target(scenario_live)
foreach(folder core faults generations pages vmem)
  add_test(NAME scenarios.live_${folder} COMMAND scenario_live ${handed}/${folder}
                                                 ${CMAKE_CURRENT_SOURCE_DIR}/live/${folder}.txt)
endforeach()
add_test(NAME scenarios.live_own COMMAND scenario_live ${CMAKE_CURRENT_SOURCE_DIR}/own
                                         ${CMAKE_CURRENT_SOURCE_DIR}/live/own.txt)
