# The recording parent, part of trk_trace: session, child, drain, header.
target_sources(trk_trace PRIVATE src/record.c src/record_append.c src/record_book.c src/record_child.c src/record_drain.c src/record_ease.c
                                 src/record_guard.c src/record_handlers.c src/record_header.c src/record_here.c src/record_losses.c src/record_output.c src/record_pages.c
                                 src/record_program.c
                                 src/record_session.c src/record_signals.c
                                 src/record_streams.c src/record_text.c src/record_threads.c)
target_compile_definitions(trk_trace PRIVATE TRK_VERSION="${PROJECT_VERSION}")
