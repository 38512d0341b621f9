# Libtrack as a plug-in: the simulated build of the core, once more in a file of its own.
# trk_libtrack_core(TARGET OBJECTS): with the core's objects, or others of the same symbols.
function(trk_libtrack_core target objects)
  set(folder ${PROJECT_SOURCE_DIR}/simulator/plugin)
  add_library(${target} MODULE ${folder}/libtrack_core.c ${folder}/libtrack_core_state.c
                               $<TARGET_OBJECTS:${objects}>)
  set_target_properties(${target} PROPERTIES PREFIX "")
  target_compile_options(${target} PRIVATE -include ${PROJECT_BINARY_DIR}/simulator/core_names.h)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/include
                                               ${PROJECT_SOURCE_DIR}/simulator/include)
  target_link_libraries(${target} PRIVATE track) # of a real host: memory that is held in reserve
  target_link_options(${target} PRIVATE -Wl,-z,defs)
  add_dependencies(${target} trk_core_names)
  trk_target(${target})
endfunction()
trk_libtrack_core(libtrack_core trk_core_sim)
