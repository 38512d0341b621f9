# SQL over a trace.
target_sources(trk_traces PRIVATE
  src/query.c src/query_columns.c src/query_events.c src/query_frames.c src/query_lists.c src/query_ops.c
  src/query_plan.c src/query_regions.c src/query_scan.c src/query_views.c)
target_link_libraries(trk_traces PRIVATE m)
