# Recording beyond what record.sh tells: shell tests of their own.
foreach(test hardship flight ctl config paranoid)
  add_test(NAME cli.${test}
           COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/${test}.sh $<TARGET_FILE:trk>
                   $<TARGET_FILE_DIR:trace_tool>)
  set_tests_properties(cli.${test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
