add_library(race_support STATIC race_support.c)
target_include_directories(race_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(race_support PUBLIC track_test_support track)
trk_target(race_support)

function(track_race name source)
  add_executable(race_${name} ${source})
  target_link_libraries(race_${name} PRIVATE race_support)
  trk_target(race_${name})
  add_test(NAME race.${name} COMMAND race_${name})
endfunction()

track_race(lock lock_race.c)
track_race(sleep sleep_race.c)
target_include_directories(race_sleep PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/src)
track_race(region region_race.c)
track_race(ops ops_race.c)
track_race(generations generations_race.c)
track_race(views views_race.c)

# The same where nobody listens: the core goes its short ways then.
foreach(name lock sleep region ops generations views)
  add_test(NAME race.${name}_unobserved COMMAND race_${name})
  set_tests_properties(race.${name}_unobserved PROPERTIES ENVIRONMENT TRK_TEST_UNOBSERVED=1)
endforeach()

# Real memory and real faults; seconds and seed are its arguments.
add_executable(race_storm storm.c storm_world.c)
target_link_libraries(race_storm PRIVATE race_support)
trk_target(race_storm)
add_test(NAME race.storm COMMAND race_storm 5)
track_race(space space_race.c)

# The same with signals, forks and threads that come and go. Not for the thread sanitizer, which has
# signals of its own.
add_executable(fault_storm fault_storm.c storm_world.c)
target_link_libraries(fault_storm PRIVATE race_support)
trk_target(fault_storm)
add_test(NAME storm.faults COMMAND fault_storm 3)
