# Goal: a dump of a flight ring that has forgotten events begins with the state of the trackers at that
# place: it lacks nothing, is right where the program is, has the verdict of a bug that came behind the
# forgetting, and goes together with other dumps; without states it is judged by what rests on nothing
# before, as ever.
# Method: a program that stops behind each burst until the recording says that no state is under way. So
# the order is the same however fast the machine is.
. "$(dirname "$0")/lib.sh"
XDG_RUNTIME_DIR=$dir/run
export XDG_RUNTIME_DIR
mkdir run

# status: what the recording says of itself.
status() {
    "$trk" ctl --timeout 120000 status "$recorder" 2>>ctl-err
}

# await COMMAND...: until it succeeds, or the recording is over.
await() {
    until "$@"; do
        kill -0 "$recorder" 2>>ctl-err || {
            fail "the recording ended: $(cat rec-err)"
            finish
            exit 1
        }
        sleep 0.02
    done
}

no_state_under_way() {
    status >now
    grep -q 'none under way\|no states\|no more to come' now
}

# fly FILE TRIGGER OPTION... -- STEP...
fly() {
    file=$1
    trigger=$2
    shift 2
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    rm -f did-* go-*
    # shellcheck disable=SC2086
    "$trk" record -f --json --flight 64K --block 60000 --ring 4096 --cooldown 0 --trigger "$trigger" \
        -o "$file" $options -- "$tools/burst_target" "$@" >rec-out 2>rec-err &
    recorder=$!
    step=0
    for _ in "$@"; do
        step=$((step + 1))
        await [ -e "did-$step" ]
        await no_state_under_way
        : >"go-$step"
    done
    wait "$recorder" || fail "the recording ends with $?: $(cat rec-err)"
    [ -e "$file" ] || fail "no $file: $(cat rec-err)"
}

# begins FILE: with a state, though the ring has forgotten events; nothing is missing.
begins() {
    "$trk" info --json "$1" >info 2>err || fail "info of $1: $(cat err)"
    at_least "events that the ring had forgotten before $1" "$(get header.flight.forgotten_events info)" 1000
    same "dropped of $1" "$(get dropped info)" 0
    same "complete of $1" "$(get complete info)" true
    at_least "events before the state of $1" "$(get header.flight.before_state.0.events info)" 1000
    run 0 doctor "$1"
    run 0 dump --text "$1"
    same "states of $1" "$(grep -c '^chunk kind=7 ' out)" 1
}

# A burst is about 31000 events, and half the ring to all of it: a slower machine has larger steps of the clock.
# A dump goes back at least half a ring. What comes between two that must overlap is so little that it is a small part of
# that on any machine: about 2000 events.
burst=60
little=4
fly ok.trk frame:1-1,exit -- $burst $burst $burst $burst frame:1 frame:2 $little
same "dumps" "$(get dumps rec-out)" 2
for dump in ok.trk ok-2.trk; do
    begins "$dump"
    run 0 sim --json "$dump"
    same "verdict of $dump" "$(get verdict)" ok
    same "complete of $dump" "$(get complete)" true
    at_least "operations of $dump" "$(get operations)" 1000
done

# A burst of many times the ring waits in a file until it is looked at.
fly long.trk exit -- 600 $burst
begins long.trk
run 0 sim --json long.trk
same "verdict behind a long burst" "$(get verdict)" ok
same "states that were given up" "$(grep -c 'any more' rec-err)" 0
[ -z "$(ls -A | grep '^.trk-flight')" ] || fail "the file of a long burst is left"

# What two dumps have is one trace, which begins as the first one does.
run 0 merge ok-2.trk ok.trk -o all.trk
run 0 doctor all.trk
run 0 sim --json all.trk
same "verdict of what was merged" "$(get verdict)" ok
first=$("$trk" info --json ok.trk 2>err >info && get events info)
"$trk" info --json all.trk >info 2>err
at_least "events of what was merged" "$(get events info)" "$((first + 1000))"

# A bug behind the forgetting has its verdict, as in a recording that has all.
fly bug.trk exit -- $burst $burst $burst $burst stale
begins bug.trk
run 1 sim --json bug.trk
same "verdict of a bug" "$(get verdict)" stale-gpu-read

# A ring that has forgotten nothing needs no state: the beginning stands in for one, however short the time before
# is that is asked for.
fly young.trk exit --flight 64M --before 1 -- $burst $burst $burst
"$trk" info --json young.trk >info 2>err || fail "info of young.trk: $(cat err)"
same "dropped with a short time before" "$(get dropped info)" 0
run 0 sim --json young.trk
same "verdict with a short time before" "$(get verdict)" ok

# Without states it is judged by bytes alone, and lacks what the ring has forgotten.
fly off.trk exit --states off -- $burst $burst $burst $burst
run 3 sim --json off.trk
same "verdict without states" "$(get verdict)" trace-incomplete
run 2 record --states off -o none.trk -- true
said "with --flight only"
finish
