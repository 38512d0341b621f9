# Other orders of a trace: its projection on a few pages, windows, their scripts.
target_sources(trk_simulator PRIVATE
  src/explore.c src/explore_accesses.c src/explore_asking.c src/explore_choose.c src/explore_edges.c src/explore_forget.c
  src/explore_items.c src/explore_judge.c src/explore_operations.c src/explore_reading.c src/explore_script.c
  src/explore_script_ops.c src/explore_line.c src/explore_search.c src/explore_text.c src/explore_window.c)

# Minimising: a scenario that can be changed, passes over it, traces. And one byte, looked at.
target_sources(trk_simulator PRIVATE
  src/minimise.c src/minimise_case.c src/minimise_cut.c src/minimise_mend.c src/minimise_ranges.c
  src/minimise_run.c src/minimise_trace.c src/minimise_write.c src/newest.c src/symptom.c src/symptom_force.c
  src/why.c)
