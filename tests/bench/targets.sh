#!/bin/sh
# The table of what the simulator aims at, with what is measured here beside each aim: one JSON object.
#
#     targets.sh BUILD [ROUNDS]
#
# BUILD is a build folder with tests and benchmarks. The engines' and the replay's rows come from the
# benchmarks of their own; the rest is timed here. What is not built says so. Nothing is judged: an aim
# stands for an idle processor of the kind that it was set for.
set -eu
build=$(cd "$1" && pwd)
rounds=${2:-15}
trk=$build/cli/trk
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

get()
{
    "$build/tests/cli/json_get" "$1" "$2"
}

now_ms()
{
    echo $(($(date +%s%N) / 1000000))
}

# row TARGET AIM UNIT MEASURED [NOTE]; MEASURED is JSON.
rows=0
row()
{
    [ "$rows" -eq 0 ] || printf ',\n'
    rows=$((rows + 1))
    printf '  {"target": "%s", "aim": "%s", "unit": "%s", "measured": %s, "note": "%s"}' \
        "$1" "$2" "$3" "$4" "${5:-}"
}

# spread FILE KEY: p5, median and p95 of a benchmark's figure.
spread()
{
    echo "{\"p5\": $(get "$1" "$2.p5"), \"median\": $(get "$1" "$2.median"), \"p95\": $(get "$1" "$2.p95")}"
}

replay_rows()
{
    row 'replay, oracle by pages' '>= 20e6' 'events/s' "$(spread bench.json oracle_pages_events_per_second)" \
        'from the file'
    row 'replay, oracle by 64 bytes' '>= 8e6' 'events/s' \
        "$(spread bench.json oracle_lines_events_per_second)" 'from the file'
}

# Goal 16: beside what the least replay does with the same records; replay.c.
goal16_rows()
{
    bare=$(get replay.json bare_events_per_second.median)
    row 'goal 16: simulator to the bare replay loop, decoded records' '>= 0.6' 'ratio' \
        "$(spread replay.json simulator_to_bare)" \
        "$(met "$(get replay.json goals.simulator_to_bare.met)"); bare loop $bare events/s, \
simulator $(get replay.json simulator_events_per_second.median)"
    row 'goal 16: file to verdict to 1 / (1/decode + 1/bare replay)' '>= 0.7' 'ratio' \
        "$(spread replay.json verdict_to_bound)" \
        "$(met "$(get replay.json goals.verdict_to_bound.met)"); file to verdict \
$(get replay.json verdict_events_per_second.median) events/s, \
decode $(get replay.json decode_events_per_second.median)"
    row 'file to verdict to 1 / (1/decode + 1/simulator)' '-' 'ratio' \
        "$(spread replay.json verdict_to_own_bound)" 'what decoding and replaying lose by being together'
}

met()
{
    if [ "$1" = true ]; then echo met; else echo missed; fi
}

matrix_row()
{
    if [ ! -x "$build/tests/mutants/matrix" ]; then
        row 'scenarios x mutants' '60 x 60 in <= 5 s' 's' null 'not built'
        return
    fi
    start=$(now_ms)
    ctest --test-dir "$build" -R '^mutants.matrix$' >/dev/null
    row 'scenarios x mutants' '60 x 60 in <= 5 s' 's' "$(seconds "$start")" \
        'all files against all faults that they meet; ctest and its start included'
}

# seconds START: since then, of now_ms.
seconds()
{
    awk "BEGIN { print ($(now_ms) - $1) / 1000 }"
}

# A trace whose cause is far before its symptom (long_trace.c).
long_trace_rows()
{
    "$build/tests/bench/trk_long_trace" --events 1000000 -o long.trk
    start=$(now_ms)
    "$trk" minimise --json long.trk -o case.json >case.txt
    row 'minimise a trace of 1e6 events' '<= 1 s' 's' "$(seconds "$start")" \
        "$(get case.txt replays) replays, $(get case.txt to.operations) operations are left"
    line=$(get case.txt schedule)
    row 'line of a minimised case' '<= 120 characters' 'characters' "${#line}"
    start=$(now_ms)
    "$trk" bisect --json long.trk >bisected.txt || [ $? -eq 1 ]
    row 'bisect 1e8 events' '<= 27 probes, <= 10 s' 'probes' "$(get bisected.txt probes)" \
        "$(seconds "$start") s for 1e6 events"
}

same_row()
{
    "$trk" fuzz --runs 5 --json >first.json
    same=0
    for run in $(seq 100); do
        "$trk" fuzz --runs 5 --json >next.json
        cmp -s first.json next.json && same=$((same + 1))
    done
    row 'determinism' '100 runs alike' 'runs' "$same" 'gcc, clang, -O0, -O3: .ci/checks same'
}

alarm_row()
{
    failed=0
    steps=0
    start=$(now_ms)
    for way in random pct walk explore; do
        "$trk" fuzz --steps 500000 --schedules 20 --schedule $way --json >alarm.json || true
        failed=$((failed + $(get alarm.json failed)))
        steps=$((steps + $(get alarm.json steps)))
    done
    ms=$(($(now_ms) - start + 1))
    row 'false alarms' '0 over 1e9 steps' 'alarms' "$failed" "over $steps steps; .ci/long random runs 1e8"
    row 'random steps with the full oracle' '-' 'steps/s' $((steps * 1000 / ms)) 'programs made and read, too'
}

"$build/tests/bench/trk_bench" --rounds "$rounds" --trk "$trk" --frames 300 >bench.json 2>bench.err
"$build/tests/bench/trk_bench_engines" --rounds "$rounds" >engines.json
"$build/tests/bench/trk_bench_replay" --rounds "$rounds" --trk "$trk" >replay.json 2>replay.err
printf '{"schema": "trk-bench-targets/1", "rounds": %s, "rows": [\n' "$rounds"
row 'random schedules, 2 x 2 locks, k = 3' '>= 2e6' '1/s' "$(spread engines.json random_schedules_per_s)"
row 'DPOR classes, two locks, k = 5' '>= 1e6' '1/s' "$(spread engines.json dpor_classes_per_s)" \
    "$(get engines.json dpor_classes) classes"
row 'hashed states with the full oracle' '>= 2e6' '1/s' "$(spread engines.json hashed_states_per_s)"
row 'three stores against three uploads, complete' '<= 100' 'ms' "$(spread engines.json three_against_three_ms)"
replay_rows
goal16_rows
matrix_row
long_trace_rows
same_row
alarm_row
printf '\n]}\n'
