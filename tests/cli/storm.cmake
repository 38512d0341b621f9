# A storm of faults on eight threads, with rings that are far too small.
foreach(tool storm_target storm_driver)
  add_executable(${tool} ${tool}.c)
  target_link_libraries(${tool} PRIVATE trk_trace trk_capture track)
  trk_target(${tool})
endforeach()
add_test(NAME cli.storm COMMAND storm_driver $<TARGET_FILE:storm_target>)
set_tests_properties(cli.storm PROPERTIES TIMEOUT 300)
