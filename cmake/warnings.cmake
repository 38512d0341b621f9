# Compiler flags that every target of ours is built with.
set(TRK_WARNINGS
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wcast-qual -Wwrite-strings -Wvla -Werror)

# trk_target(NAME): warnings, hidden symbols and sanitizers for a target of ours.
function(trk_target name)
  target_compile_options(${name} PRIVATE ${TRK_WARNINGS} -fno-strict-aliasing -fno-common)
  # A shared object that an emulator links this into must not export our symbols.
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
  trk_sanitize(${name})
endfunction()
