# SIGKILL at random moments: of the recorded program, and of the recording parent.
foreach(tool kill_target kill_driver)
  add_executable(${tool} ${tool}.c)
  target_link_libraries(${tool} PRIVATE trk_trace trk_capture track)
  trk_target(${tool})
endforeach()
add_test(NAME cli.kill COMMAND kill_driver $<TARGET_FILE:kill_target>)
set_tests_properties(cli.kill PROPERTIES TIMEOUT 300)
