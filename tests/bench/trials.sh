#!/bin/sh
# What trk bench says of two policies, held against what is known of them, many times.
#   trials.sh TRK TOOLS RUNS SEED
# RUNS benches of a policy against itself: nine in ten say "no difference shown". Then RUNS benches
# against the same with a seeded slow-down of 5 %, counting those whose own smallest detectable
# difference is 4 % or less: nine in ten show it. Each bench takes as many rounds as it needs for that
# (--detect 4), for TRK_BENCH_SECONDS (60) at most; where the time is over before, it does not count.
# At most three times RUNS benches are made to find so many. Needs a Vulkan device. Prints the counts;
# 1 where one is too small.
set -eu

trk=$1
tools=$2
runs=$3
seed=$4
seconds=${TRK_BENCH_SECONDS:-60}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
least=$((runs * 9 / 10))

# Pages in a shuffled order, in submits that are small enough for a twentieth of them to be many.
"$trk" record -o "$dir/t.trk" -- "$trk" demo --frames 2 --pages 512 --megabytes 8 >/dev/null 2>&1
policy=per-range,batch=64K

# bench SEED POLICY: into shown, detected (4 % would show) and all_rounds, which grows
all_rounds=0
bench()
{
    "$trk" bench --a "$policy" --b "$2" --seed "$1" --detect 4 --seconds "$seconds" --no-check --json \
        "$dir/t.trk" >"$dir/out"
    shown=$("$tools/json_get" "$dir/out" comparisons.0.shown)
    detected=$("$tools/json_get" "$dir/out" detected)
    all_rounds=$((all_rounds + $("$tools/json_get" "$dir/out" rounds)))
}

quiet=0
i=0
short=0
while [ "$i" -lt "$runs" ]; do
    bench $((seed + i)) "$policy"
    if [ "$shown" = false ]; then
        quiet=$((quiet + 1))
    fi
    if [ "$detected" != true ]; then
        short=$((short + 1))
    fi
    i=$((i + 1))
done
echo "against itself: $quiet of $runs show no difference (at least $least); in $short of them the time" \
    "was over before 4 % would show; $((all_rounds / runs)) rounds a bench"
all_rounds=0

sure=0
found=0
tried=0
while [ "$sure" -lt "$runs" ] && [ "$tried" -lt $((3 * runs)) ]; do
    bench $((seed + runs + tried)) "$policy,slow=5%"
    if [ "$detected" = true ]; then
        sure=$((sure + 1))
        if [ "$shown" = true ]; then
            found=$((found + 1))
        fi
    fi
    tried=$((tried + 1))
done
echo "5 % slower: $found of $sure found (at least $least), of $tried benches; in the others the time was" \
    "over before 4 % would show; $((all_rounds / tried)) rounds a bench"
[ "$quiet" -ge "$least" ] && [ "$found" -ge "$least" ]
