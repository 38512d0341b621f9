# The self-check of the emulated instructions.
target_sources(trk PRIVATE emu/emu_case.c emu/emu_check.c emu/emu_native.c emu/emu_reference.c)
