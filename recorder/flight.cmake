# The flight recorder: a ring of chunks in memory, triggers, dumps; control from outside.
target_sources(trk_trace PRIVATE src/flight.c src/flight_spill.c src/flight_state.c src/flight_take.c src/flight_view.c src/record_control.c
                                 src/record_dump.c src/record_flight.c src/record_states.c src/record_trigger.c)
