# What an emulator links: the two libraries without a file format in them, their headers, a CMake
# package and pkg-config files. tests/package builds consumers against an installed copy.
include(CMakePackageConfigHelpers)

# trk_installable(TARGET FOLDER): an include path that holds in the tree and in a prefix.
function(trk_installable target folder)
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${folder}/include>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  # The fault handler must not meet the lazy linker: every symbol is bound at the start.
  target_link_options(${target} INTERFACE LINKER:-z,now)
endfunction()

trk_installable(track libtrack)
trk_installable(trk_capture recorder)
set_target_properties(trk_capture PROPERTIES EXPORT_NAME capture)
add_library(trk::track ALIAS track)
add_library(trk::capture ALIAS trk_capture)

install(TARGETS track trk_capture EXPORT trk-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY libtrack/include/track DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES recorder/include/recorder/annotate.h recorder/include/recorder/capture.h
              recorder/include/recorder/trust.h
              recorder/include/recorder/capture.hpp recorder/include/recorder/foreign.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/recorder)
# What a tracker includes to be a plug-in of the simulator: it links nothing.
install(FILES simulator/include/simulator/core_plugin.h simulator/include/simulator/core_plugin.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/simulator)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/trk)
install(EXPORT trk-targets NAMESPACE trk:: DESTINATION ${package_dir})
configure_package_config_file(cmake/trk-config.cmake.in ${PROJECT_BINARY_DIR}/trk-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/trk-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/trk-config.cmake ${PROJECT_BINARY_DIR}/trk-config-version.cmake
        DESTINATION ${package_dir})

foreach(module track trk_capture)
  configure_file(cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
