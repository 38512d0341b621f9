#!/bin/sh
# Goal: the code in docs/integrate.md is code. Method: the blocks of each section, joined, are one program
# text; each is compiled with the public headers alone, by each compiler that there is.
#   integrate.sh SOURCE
set -eu
source=$(CDPATH='' cd -- "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

awk -v out="$scratch" '
    /^## / { section++ }
    /^```(cpp|c)$/ { inside = 1; file = out "/section" section ($0 == "```c" ? ".c" : ".cc"); next }
    /^```/ { inside = 0; next }
    inside { print > file }
' "$source/docs/integrate.md"

warnings='-Wall -Wextra -Wpedantic -Wconversion -Werror'
includes="-I$source/libtrack/include -I$source/recorder/include -I$source/simulator/include"
texts=0
for text in "$scratch"/section*; do
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || continue
        case $text in
        *.cc) language='-x c++ -std=c++17' ;;
        *) language='-x c -std=c11' ;;
        esac
        # shellcheck disable=SC2086 # lists of flags
        "$compiler" $language $warnings $includes -fsyntax-only "$text" || {
            echo "docs/integrate.md: $(basename "$text") does not compile with $compiler" >&2
            exit 1
        }
        texts=$((texts + 1))
    done
done
[ "$texts" -ge 2 ] || { echo "docs/integrate.md has no code" >&2; exit 1; }
echo "integrate: $texts texts compiled"
