# The recorded side and the recording parent. Inner headers of the recorder are in reach.
function(capture_unit name)
  add_executable(unit_recorder_${name} ${ARGN})
  target_link_libraries(unit_recorder_${name} PRIVATE trk_trace trk_capture track PkgConfig::CRITERION)
  target_include_directories(unit_recorder_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/../../../recorder/src)
  trk_target(unit_recorder_${name})
  add_test(NAME unit.recorder.${name} COMMAND unit_recorder_${name})
endfunction()

capture_unit(capture_ring capture_ring.c)
capture_unit(capture_nested capture_nested.c)
capture_unit(capture_open capture_open.c capture_support.c)
capture_unit(capture_threads capture_threads.c capture_support.c)

add_executable(unit_recorder_capture_poison capture_poison.c)
target_link_libraries(unit_recorder_capture_poison PRIVATE trk_trace trk_capture track)
target_include_directories(unit_recorder_capture_poison PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/../../../recorder/src)
trk_target(unit_recorder_capture_poison)
add_test(NAME unit.recorder.capture_poison COMMAND unit_recorder_capture_poison)
set_tests_properties(unit.recorder.capture_poison PROPERTIES SKIP_RETURN_CODE 77)

add_executable(capture_target capture_target.c)
target_link_libraries(capture_target PRIVATE trk_capture track)
trk_target(capture_target)
capture_unit(capture_record capture_record.c)
target_compile_definitions(unit_recorder_capture_record
                           PRIVATE CAPTURE_TARGET="$<TARGET_FILE:capture_target>")
add_dependencies(unit_recorder_capture_record capture_target)
capture_unit(capture_drain capture_drain.c)
capture_unit(capture_here capture_here.c)
capture_unit(capture_follow capture_follow.c)
target_compile_definitions(unit_recorder_capture_follow
                           PRIVATE CAPTURE_TARGET="$<TARGET_FILE:capture_target>")
add_dependencies(unit_recorder_capture_follow capture_target)
