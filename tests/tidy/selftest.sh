#!/bin/sh
# Goal: each rule of tidy.sh finds what it is there to find, and passes what is in order.
# Method: a small tree in a folder of its own passes; then each row of the table adds one file that
# breaks one rule, and exactly that rule must name exactly that file.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
cases=0

plant()
{
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree"
    cd "$scratch/tree"
    mkdir -p libtrack/src libtrack/include/track recorder/src simulator/src replayer/src cli \
        tests/tidy tests/unit tests/scenarios/handed docs
    echo 'libtrack/src/fault.c trk_fault_create' >tests/tidy/fault-path.txt
    printf 'void trk_fault_create(void)\n{\n    f(malloc(1));\n}\n' >libtrack/src/fault.c
    printf '#include "track/a.h"\nint trk_a_get(void)\n{\n    return 1;\n}\n' >libtrack/src/a.c
    printf 'TRK_EXTERN_C_BEGIN\nint trk_a_get(void);\n' >libtrack/include/track/a.h
    echo 'target_sources(track PRIVATE src/a.c src/fault.c)' >libtrack/CMakeLists.txt
    echo 'target_sources(trk_capture PRIVATE src/capture.c)' >recorder/capture.cmake
    printf '#include "ring.h"\n#include "track/a.h"\n' >recorder/src/capture.c
    echo '#define RING 1' >recorder/src/ring.h
    echo 'src/b.c src/reader.c' >recorder/CMakeLists.txt
    echo 'src/b.c' >simulator/CMakeLists.txt
    echo 'src/b.c' >replayer/CMakeLists.txt
    echo 'main.c' >cli/CMakeLists.txt
    echo 'unit/test_b.c' >tests/CMakeLists.txt
    printf 'static int f(int a, int b, int c, int d, int e,\n      struct trk_error *error)\n{\n}\n' >cli/main.c
    echo 'one text' >docs/b.md
    printf '**[M-%s] A rule%s.** So.\n' 1 '' 2 '' 3 ' (not built)' >docs/model.md
    echo '/* Rules: [M-1] to [M-2]. */' >libtrack/include/track/rules.h
    echo 'TRK_EXTERN_C_BEGIN' >>libtrack/include/track/rules.h
    printf '/* [M-1]\n * to [M-2] */\n' >tests/unit/test_b.c
    echo 'scenario' >tests/scenarios/handed/one.json
    (cd tests/scenarios/handed && sha256sum one.json >SHA256SUMS)
}

# expect RULE FILE CONTENT: planted anew with that file, every rule is asked, one must speak and name
# the file (or EXPECT_FILE).
expect()
{
    cases=$((cases + 1))
    plant
    # shellcheck disable=SC2059 # the content is a printf format by design
    printf "$3" >>"$2"
    if "$here/tidy.sh" . >"$scratch/out" 2>/dev/null; then
        echo "not found: rule $1, $2: $3"
        failures=$((failures + 1))
    elif grep -qv "^$1: ${EXPECT_FILE:-$2}" "$scratch/out" && [ "$1" != handed ]; then
        echo "wrong rule or file, wanted $1 on $2:"
        cat "$scratch/out"
        failures=$((failures + 1))
    elif [ "$1" = handed ] && ! grep -q '^handed: ' "$scratch/out"; then
        echo "wrong rule, wanted handed:"
        cat "$scratch/out"
        failures=$((failures + 1))
    fi
}

plant
if ! "$here/tidy.sh" .; then
    echo 'a tree in order does not pass'
    exit 1
fi

lines()
{
    i=0
    while [ "$i" -lt "$1" ]; do
        printf '%s\\n' "$2"
        i=$((i + 1))
    done
}

expect layers libtrack/src/fault.c '#include "recorder/capture.h"\n'
expect layers recorder/src/b.c '#include "simulator/sim.h"\n'
expect layers simulator/src/b.c '#include <replayer/vk.h>\n'
expect layers replayer/src/b.c '#include "traces/catalogue.h"\n'
expect layers simulator/src/b.c '#include "../../libtrack/src/a.h"\n'
expect layers simulator/src/b.c '#include "ring.h"\n'
expect capture recorder/src/capture.c '#include "recorder/trace.h"\n'
expect capture recorder/src/ring.h '#include "recorder/writer.h"\n'
expect outside libtrack/src/fault.c '#include <zstd.h>\n'
expect outside simulator/src/b.c '#include <sqlite3.h>\n'
expect outside cli/main.c '#include <vulkan/vulkan.h>\n'
expect outside libtrack/src/fault.c '#include <cjson/cJSON.h>\n'
expect outside recorder/src/b.c '#include <dlfcn.h>\n'
expect length simulator/src/b.c "$(lines 451 '/* line */')"
expect functions cli/main.c "int main(void)\n{\n$(lines 69 '    f();')}\n"
expect functions cli/main.c 'static int f(int a, int b, int c,\n      int d, int e, int g)\n{\n    return 1;\n}\n'
expect functions cli/main.c 'static int f(int a, int b, int c, int d, int e, int g,\n      struct trk_error *error)\n{\n}\n'
expect functions tests/unit/test_b.c "static void f(void)\n{\n$(lines 80 '    f();')}\n"
expect exported simulator/src/b.c 'int accept(int a)\n{\n    return a;\n}\n'
expect exported recorder/src/capture.c 'int get(int a)\n{\n    return a;\n}\n'
expect exported libtrack/src/a.c 'int region_get(int a)\n{\n    return a;\n}\n'
expect headers libtrack/include/track/a.h 'struct trk_b {\n    _Atomic int count;\n};\n'
expect headers libtrack/include/track/a.h 'struct trk_b {\n    int rest[];\n};\n'
expect headers libtrack/include/track/a.h 'struct trk_b {\n    union {\n        int a;\n    };\n};\n'
expect headers libtrack/include/track/c.h 'int trk_c(void);\n'
expect fault_path libtrack/src/fault.c 'static void f(void)\n{\n    free(malloc(1));\n}\n'
expect fault_path libtrack/src/fault.c 'static void f(void)\n{\n    pthread_mutex_lock(&m);\n}\n'
expect determinism simulator/src/b.c 'static long f(void)\n{\n    return time(NULL);\n}\n'
expect determinism libtrack/src/a.c 'static char *f(void)\n{\n    return getenv("A");\n}\n'
expect text docs/b.md 'ends in a blank \n'
expect text docs/b.md '\ta tab\n'
expect text cli/main.c '/* TO''DO: later */\n'
expect text docs/b.md 'no newline'
expect paths docs/b.md 'see /ho''me/user/x\n'
expect paths cli/main.c '/* ../sha''red/spec.md */\n'
expect listed simulator/src/lost.c '#include "track/a.h"\n'
expect listed tests/unit/test_lost.c '#include "track/a.h"\n'
expect cited docs/model.md '**[M-4] Nobody cites it.** So.\n'
expect cited docs/model.md '**[M-1] Twice.** So.\n'
EXPECT_FILE=docs/model.md expect cited tests/unit/test_b.c '/* [M-3] */\n'
EXPECT_FILE=docs/model.md expect cited libtrack/src/a.c '/* [M-9] */\n'
expect bounds tests/unit/b.sh 'at_least "lines of $name" 20 "$lines"\n'
expect bounds tests/unit/b.sh "    at_most lines 4 \"\$(wc -l <out)\"\n"
expect handed tests/scenarios/handed/one.json 'changed\n'

if [ "$failures" != 0 ]; then
    echo "$failures of $cases cases failed"
    exit 1
fi
echo "$cases cases, each found by its rule"
