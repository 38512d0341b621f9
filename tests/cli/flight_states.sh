# Goal: a dump of a flight ring that has forgotten events begins with the state of the trackers at that
# place: it lacks nothing, is right where the program is, has the verdict of a bug that came behind the
# forgetting, and goes together with other dumps; without states, and behind a loss, it is judged by what
# rests on nothing before, as ever.
# Method: the demo, slowed down by work so that re-execution keeps up on a busy machine, in a small ring.
. "$(dirname "$0")/lib.sh"
need_vulkan

# fly CODE FILE TRIGGER OPTION... : seed 10 puts a bug into frame 15; \$demo are options of the demo.
demo=
fly() {
    want=$1
    file=$2
    trigger=$3
    shift 3
    # shellcheck disable=SC2086
    run "$want" record -f --json --flight 256K --block 20000 --cooldown 0 --trigger "$trigger" -o "$file" "$@" -- \
        "$trk" demo --frames 18 --seed 10 --pages 1400 --work 4096 $demo
    sed '/^{/,$!d' out >result
    [ -e "$file" ] || fail "no $file"
}

# until_has FRAME FILE LAST TRIGGER OPTION... : where the machine is so busy that states come late or not at
# all, try again: LAST is to have that frame, and both are to be whole.
until_has() {
    frame=$1
    last=$3
    tries=0
    first=$2
    shift 3
    while [ "$tries" -lt 8 ]; do
        tries=$((tries + 1))
        fly 0 "$first" "$@"
        "$trk" dump "$last" "frame:$frame" >out 2>err
        [ -s out ] && "$trk" info "$last" >out 2>err && "$trk" info "$first" >out 2>err && return
    done
    fail "$last begins behind frame $frame"
}

# begins FILE: with a state, though the ring has forgotten events; nothing is missing.
begins() {
    "$trk" info --json "$1" >info 2>err || fail "info of $1: $(cat err)"
    at_least "events that the ring had forgotten before $1" "$(get header.flight.forgotten_events info)" 1000
    same "dropped of $1" "$(get dropped info)" 0
    same "complete of $1" "$(get complete info)" true
    at_least "events before the state of $1" "$(get header.flight.before_state.0.events info)" 1
    run 0 doctor "$1"
    run 0 dump --text "$1"
    same "states of $1" "$(grep -c '^chunk kind=7 ' out)" 1
}

until_has 14 ok.trk ok-2.trk frame:14-14,exit
same "dumps" "$(get dumps result)" 2
for dump in ok.trk ok-2.trk; do
    begins "$dump"
    run 0 sim --json "$dump"
    same "verdict of $dump" "$(get verdict)" ok
    same "complete of $dump" "$(get complete)" true
    at_least "operations of $dump" "$(get operations)" 1000
done

# What two dumps have is one trace, which begins as the first one does.
run 0 merge ok-2.trk ok.trk -o all.trk
run 0 doctor all.trk
run 0 sim --json all.trk
same "verdict of what was merged" "$(get verdict)" ok
at_least "operations of what was merged" "$(get operations)" 2000

# A bug behind the forgetting has its verdict, at the event to blame, as in a whole recording.
for bug in lost-rearm copy-before-arm; do
    demo="--bug $bug"
    until_has 14 bug.trk bug.trk frame:16-16
    begins bug.trk
    run 1 sim --json bug.trk
    same "verdict of $bug" "$(get verdict)" stale-gpu-read
done

# Without states it is judged by bytes alone, and lacks what the ring has forgotten.
demo=
fly 0 off.trk frame:15-15 --states off
run 3 sim --json off.trk
same "verdict without states" "$(get verdict)" trace-incomplete
run 2 record --states off -o none.trk -- true
said "with --flight only"
finish
