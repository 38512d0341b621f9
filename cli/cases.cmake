# The scenario files that `trk core-check` holds a tracker against, inside the program: one object that
# has their bytes as they are.
set(cases_folder ${PROJECT_SOURCE_DIR}/tests/scenarios)
file(GLOB cases_files CONFIGURE_DEPENDS RELATIVE ${cases_folder} ${cases_folder}/handed/*/*.json
     ${cases_folder}/own/*.json)
list(SORT cases_files)
set(cases_bytes "")
set(cases_names "")
set(cases_table "")
set(cases_count 0)
foreach(case ${cases_files})
  set(n ${cases_count})
  string(APPEND cases_bytes ".Lcase${n}: .incbin \"${case}\"\n.Lend${n}:\n")
  string(APPEND cases_names ".Lname${n}: .asciz \"${case}\"\n")
  string(APPEND cases_table " .quad .Lname${n}, .Lcase${n}, .Lend${n}\n")
  math(EXPR cases_count "${cases_count} + 1")
endforeach()
set(cases_source ${CMAKE_CURRENT_BINARY_DIR}/cases.S)
file(CONFIGURE OUTPUT ${cases_source} @ONLY CONTENT "/* Made by cases.cmake; cli/cases.h says what it is. */
 .section .rodata
@cases_bytes@@cases_names@ .section .data.rel.ro, \"aw\"
 .balign 8
 .globl trk_cases
 .hidden trk_cases
trk_cases:
@cases_table@ .section .rodata
 .balign 8
 .globl trk_case_count
 .hidden trk_case_count
trk_case_count: .quad @cases_count@
 .section .note.GNU-stack, \"\", %progbits
")
list(TRANSFORM cases_files PREPEND ${cases_folder}/ OUTPUT_VARIABLE cases_depends)
set_source_files_properties(${cases_source} PROPERTIES OBJECT_DEPENDS "${cases_depends}" COMPILE_OPTIONS
                            "-Wa,-I${cases_folder}")
target_sources(trk PRIVATE ${cases_source})
