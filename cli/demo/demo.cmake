# The demo guest: a library, so that its tests can run it in process.
add_library(trk_demo STATIC)
target_sources(trk_demo PRIVATE demo/demo.c demo/demo_check.c demo/demo_gpu.c demo/demo_guest.c
                                demo/demo_memory.c demo/demo_paranoid.c demo/demo_pattern.c demo/demo_render.c demo/demo_scattered.c
                                demo/demo_service.c demo/demo_sync.c demo/demo_transfer.c)
target_include_directories(trk_demo PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(trk_demo PRIVATE _GNU_SOURCE)
target_link_libraries(trk_demo PUBLIC trk_replayer trk_capture track)
trk_target(trk_demo)
target_link_libraries(trk PRIVATE trk_demo)
