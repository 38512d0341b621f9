# The trace format: bytes, columns, writer, reader, canonical order.
add_library(trace_test_support STATIC trace_support.c trace_random.c trace_pieces.c)
target_include_directories(trace_test_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
                                                     ${PROJECT_SOURCE_DIR}/recorder/src)
target_link_libraries(trace_test_support PUBLIC trk_trace)
trk_target(trace_test_support)

function(trace_unit name)
  add_executable(unit_recorder_${name} ${ARGN})
  target_link_libraries(unit_recorder_${name} PRIVATE trace_test_support PkgConfig::CRITERION)
  trk_target(unit_recorder_${name})
  add_test(NAME unit.recorder.${name} COMMAND unit_recorder_${name})
endfunction()

trace_unit(trace_bytes trace_bytes.c trace_limits.c)
trace_unit(trace_columns trace_columns.c)
trace_unit(trace_linear trace_linear.c)
trace_unit(trace_writer trace_writer.c)
trace_unit(trace_reader trace_reader.c trace_edits.c)
trace_unit(trace_parts trace_parts.c)
trace_unit(trace_blobs trace_blobs.c)
trace_unit(trace_unended trace_unended.c)
trace_unit(trace_checkpoints trace_checkpoints.c)
trace_unit(trace_chunks trace_chunks.c)
