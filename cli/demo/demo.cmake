# The demo guest, part of trk; the tests build it into their own program.
set(TRK_DEMO_SOURCES)
