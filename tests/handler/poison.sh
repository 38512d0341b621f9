#!/bin/sh
# Goal: on the way of a fault, from the handler through the core to the recorder's ring, nobody
# allocates, takes a lock of libc, uses stdio or looks for symbols.
# Method: a storm of real faults and timer signals under a preloaded library that ends the process at
# the first such call (poison.c); first with handlers that do it, to see that it would show.
# poison.sh TRK STORM_TARGET POISON BAD
set -u
trk=$1 target=$2 poison=$3 bad=$4
dir=$(mktemp -d) || exit 70
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 70
fail()
{
    echo "FAIL: $*"
    cat out
    exit 1
}

env LD_PRELOAD="$poison" "$bad" nothing >out 2>&1 || fail "a harmless handler ends with $?"
grep -q "poison: watched 1" out || fail "the handler was not watched"
for how in malloc free lock stdio getenv; do
    # A shell of its own: it would tell of the abort otherwise.
    sh -c "LD_PRELOAD=\"$poison\" \"$bad\" $how; exit \$?" >out 2>&1
    [ $? -eq 134 ] || fail "$how in a handler does not end the process"
    grep -q "in a signal handler" out || fail "$how in a handler is not told"
done

# Rings that fill and rings that do not; with and without waiting.
for options in "--ring 4K" "--ring 4M" "--ring 4K --block 50"; do
    head -c 8192 /dev/zero >shared
    # shellcheck disable=SC2086 # a list of words
    "$trk" record $options -f -o storm.trk -- env LD_PRELOAD="$poison" "$target" "$dir/shared" 10 \
        >out 2>&1 || fail "$options: the storm ends with $?"
    watched=$(sed -n 's/.*poison: watched \([0-9]*\).*/\1/p' out | head -1)
    [ "${watched:-0}" -ge 5000 ] || fail "$options: only ${watched:-0} handler calls were watched"
done
