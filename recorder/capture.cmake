add_library(trk_capture STATIC)
target_sources(trk_capture PRIVATE src/capture.c src/capture_about.c src/capture_annotate.c src/capture_build.c src/capture_foreign.c src/capture_pages.c
                                   src/capture_session.c src/capture_trust.c src/capture_wait.c)
target_include_directories(trk_capture PUBLIC include PRIVATE src)
target_link_libraries(trk_capture PUBLIC track)
trk_target(trk_capture)
