# The simulated build of the core: its own sources once more, with TRK_SIM and under other names.
# Left out is what has to do with a real host.
get_target_property(core_sources track SOURCES)
list(FILTER core_sources EXCLUDE REGEX
     "/(backend|backend_.*|crash|crash_.*|emulate|emulate_.*|fault|fault_(access|chain|emulate|stack)|harvest|image_table|lock|peek|space|space_.*)\\.c$")
get_target_property(core_sim_sources track TRK_SIM_SOURCES)
set(core_files ${core_sources})
list(TRANSFORM core_files REPLACE "^src/" "")
list(TRANSFORM core_sources PREPEND ${PROJECT_SOURCE_DIR}/libtrack/)

file(GLOB core_all CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/libtrack/src/*.[ch]
     ${PROJECT_SOURCE_DIR}/libtrack/include/track/*.h)
set(core_names ${CMAKE_CURRENT_BINARY_DIR}/core_names.h)
add_custom_command(
  OUTPUT ${core_names}
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/core_names.sh ${core_names} ${CMAKE_NM} $<TARGET_FILE:track>
          ${PROJECT_SOURCE_DIR}/libtrack ${core_files}
  DEPENDS track ${core_all} ${CMAKE_CURRENT_SOURCE_DIR}/core_names.sh
  VERBATIM)
add_custom_target(trk_core_names DEPENDS ${core_names})

add_library(trk_core_sim OBJECT ${core_sources} ${core_sim_sources})
target_include_directories(trk_core_sim PRIVATE ${PROJECT_SOURCE_DIR}/libtrack/include
                                                ${PROJECT_SOURCE_DIR}/libtrack/src)
target_compile_definitions(trk_core_sim PRIVATE TRK_SIM)
target_compile_options(trk_core_sim PRIVATE -include ${core_names})
add_dependencies(trk_core_sim trk_core_names)
trk_target(trk_core_sim)
