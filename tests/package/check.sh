#!/bin/sh
# Install a finished build into a prefix of its own and use it from outside, through CMake and
# through pkg-config.
#   check.sh SOURCE BUILD
set -eu
source=$(CDPATH='' cd -- "$1" && pwd)
build=$(CDPATH='' cd -- "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }

cmake -G Ninja -S "$source/tests/package" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    >"$scratch/log" 2>&1 && cmake --build "$scratch/consumer" >>"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; exit 1; }
"$scratch/consumer/consumer_c"
"$scratch/consumer/consumer_cxx"

PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name trk_capture.pc)")
export PKG_CONFIG_PATH
flags=$(pkg-config --define-variable=prefix="$scratch/prefix" --cflags --libs trk_capture)
# shellcheck disable=SC2086 # a list of flags
cc -std=c11 -Wall -Wextra -Werror "$source/tests/package/consumer.c" -o "$scratch/by-pkg-config" $flags
"$scratch/by-pkg-config"

# The example of a foreign tracker, with the public headers alone: as a project of its own and by
# pkg-config, with each compiler that there is; it runs without a session.
for compiler in g++ clang++; do
    command -v "$compiler" >/dev/null || { echo "package: no $compiler here, not tried"; continue; }
    cmake -G Ninja -S "$source/examples" -B "$scratch/examples-$compiler" \
        -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" >"$scratch/log" 2>&1 &&
        cmake --build "$scratch/examples-$compiler" >>"$scratch/log" 2>&1 ||
        { cat "$scratch/log"; exit 1; }
    "$scratch/examples-$compiler/example_emulator" 2 >/dev/null
    # shellcheck disable=SC2086
    "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror \
        "$source/examples/emulator.cpp" -o "$scratch/emulator" $flags
    "$scratch/emulator" 2 >/dev/null
    # The same tracker as a plug-in, which the installed program takes.
    # shellcheck disable=SC2086
    "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror -O2 -shared -fPIC \
        "$source/examples/core.cpp" -o "$scratch/core.so" $flags
    for core in "$scratch/examples-$compiler/example_core.so" "$scratch/core.so"; do
        "$scratch/prefix/bin/trk" core-check --core-limit 120 "$core" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
    done
done

# An emulator's shared object must not show our symbols.
# shellcheck disable=SC2086
cc -shared -fPIC "$source/tests/package/consumer.c" -o "$scratch/emulator.so" $flags
if nm -D --defined-only "$scratch/emulator.so" | grep ' trk_'; then
    echo "symbols of ours are visible outside (above)" >&2
    exit 1
fi
echo "package: installed, found by CMake (C, C++) and pkg-config, examples built, nothing exported"
