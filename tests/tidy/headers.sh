#!/bin/sh
# Goal: each public header can be included first and alone, in C11 and in C++17, by a program that
# is built with stricter flags than ours.
# Method: one translation unit a header and language, compiled, not linked; at the end two units
# that must be refused, so that a compiler that accepts everything is found out.
#   headers.sh ROOT [CC [CXX]]; without a C++ compiler its half is skipped by name
set -eu
root=$1
cc=${2:-cc}
cxx=${3:-c++}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
includes=
for folder in "$root"/*/include; do
    includes="$includes -I$folder"
done
strict='-pedantic-errors -Wall -Wextra -Wundef -Wconversion -Wsign-conversion -Wcast-align
    -Wredundant-decls -Werror'

as_c()
{
    # shellcheck disable=SC2086 # lists of flags
    "$cc" -x c -std=c11 $strict -Wshadow -Wstrict-prototypes -Wmissing-prototypes $includes -fsyntax-only "$1"
}

as_cxx()
{
    # shellcheck disable=SC2086
    "$cxx" -x c++ -std=c++17 $strict $includes -fsyntax-only "$1"
}

have_cxx=
if command -v "$cxx" >/dev/null 2>&1; then
    have_cxx=yes
else
    echo 'skipped: C++ (no compiler)'
fi
count=0
for header in "$root"/*/include/*/*.h; do
    name=${header##*/include/}
    # Twice: the guard holds. Then one declaration, as an empty unit is no C.
    printf '#include <%s>\n#include <%s>\nextern int unit;\n' "$name" "$name" >"$scratch/unit"
    as_c "$scratch/unit"
    if [ -n "$have_cxx" ]; then
        as_cxx "$scratch/unit"
    fi
    count=$((count + 1))
done

printf 'struct s { int rest[0]; };\n' >"$scratch/bad"
if as_c "$scratch/bad" 2>/dev/null; then
    echo 'the C compiler let a bad unit pass'
    exit 1
fi
printf 'struct s { int *p; } a = { .p = (void *)0 };\n' >"$scratch/bad"
if [ -n "$have_cxx" ] && as_cxx "$scratch/bad" 2>/dev/null; then
    echo 'the C++ compiler let a bad unit pass'
    exit 1
fi
[ "$count" -gt 10 ]
echo "$count headers, each alone in C11${have_cxx:+ and C++17}"
