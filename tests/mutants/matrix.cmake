# Every scenario file against every seeded fault: the simulated core once more, with all faults in it.
if(TRK_SANITIZE)
  return() # the plain build says it all, many times faster
endif()
get_target_property(matrix_core trk_core_sim SOURCES)
get_target_property(matrix_options trk_core_sim COMPILE_OPTIONS)
add_library(core_mutable OBJECT ${matrix_core})
target_compile_options(core_mutable PRIVATE ${matrix_options})
target_compile_definitions(core_mutable PRIVATE TRK_SIM TRK_MUTATION_AT_RUN)
target_include_directories(core_mutable PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/include
                                                ${PROJECT_SOURCE_DIR}/libtrack/src)
add_dependencies(core_mutable trk_core_names)

# It stands before the simulator's own core, which is then not taken.
add_executable(matrix matrix.c matrix_lists.c matrix_print.c $<TARGET_OBJECTS:core_mutable>)
target_compile_definitions(matrix PRIVATE TRK_MUTATION_AT_RUN)
target_include_directories(matrix PRIVATE ${PROJECT_SOURCE_DIR}/simulator/src
                                          ${PROJECT_SOURCE_DIR}/libtrack/src)
target_link_libraries(matrix PRIVATE trk_simulator PkgConfig::CJSON)
trk_target(matrix)

set(matrix_list ${CMAKE_CURRENT_BINARY_DIR}/mutants.txt)
set(matrix_lines "")
foreach(mutant ${TRK_MUTANT_LIST} ${TRK_MUTANT_SCENARIO_LIST})
  string(REGEX REPLACE "^([0-9]+):[a-z_]+:([a-z-]+).*" "\\1 \\2\n" line ${mutant})
  string(APPEND matrix_lines ${line})
endforeach()
file(GENERATE OUTPUT ${matrix_list} CONTENT "${matrix_lines}")
set(matrix_run matrix ${matrix_list} ${CMAKE_CURRENT_SOURCE_DIR}/exempt.txt
               ${PROJECT_SOURCE_DIR}/tests/scenarios/handed ${PROJECT_SOURCE_DIR}/tests/scenarios/own)
add_test(NAME mutants.matrix COMMAND ${matrix_run})
# What the one engine finds, the other must find as well.
add_test(NAME mutants.matrix_dpor COMMAND ${matrix_run} --dpor)

# Accesses to page sets and watches without their locks end a scenario's run.
add_executable(lockset lockset.c $<TARGET_OBJECTS:core_mutable>)
target_compile_definitions(lockset PRIVATE TRK_MUTATION_AT_RUN)
target_include_directories(lockset PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/src)
target_link_libraries(lockset PRIVATE trk_simulator)
trk_target(lockset)
add_test(NAME mutants.lockset COMMAND lockset)

# What is minimised on a core with a fault fails there and holds on the right one.
add_executable(mutant_minimise minimise.c $<TARGET_OBJECTS:core_mutable>)
target_compile_definitions(mutant_minimise PRIVATE TRK_MUTATION_AT_RUN)
target_include_directories(mutant_minimise PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/src)
target_link_libraries(mutant_minimise PRIVATE trk_simulator)
trk_target(mutant_minimise)
add_test(NAME mutants.minimise
         COMMAND mutant_minimise ${matrix_list} ${PROJECT_SOURCE_DIR}/tests/scenarios/handed
                 ${PROJECT_SOURCE_DIR}/tests/scenarios/own)
set_tests_properties(mutants.minimise PROPERTIES TIMEOUT 600 COST 100)

# The same core with all faults as a plug-in: what `trk core-check` makes of each.
trk_libtrack_core(mutable_core core_mutable)
target_sources(mutable_core PRIVATE mutable_core.c)
target_compile_definitions(mutable_core PRIVATE TRK_MUTATION_AT_RUN)
target_include_directories(mutable_core PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/src)
add_test(NAME mutants.plugin
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/plugin.sh $<TARGET_FILE:trk> $<TARGET_FILE:mutable_core>
                 ${matrix_list} ${CMAKE_CURRENT_SOURCE_DIR}/exempt.txt)
set_tests_properties(mutants.plugin PROPERTIES TIMEOUT 600 COST 100)
# What a regression over the stored traces makes of each.
add_test(NAME mutants.corpus
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/corpus.sh $<TARGET_FILE:trk> $<TARGET_FILE:mutable_core>
                 ${matrix_list} ${PROJECT_SOURCE_DIR}/traces/corpus ${PROJECT_SOURCE_DIR}/tests/scenarios/own)
set_tests_properties(mutants.corpus PROPERTIES TIMEOUT 600 COST 100)
