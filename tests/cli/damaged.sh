# Goal: whatever reads a whole trace says of a damaged one what is damaged and missing, and never that all
# is well: 3, where what is left breaks no rule and has nothing otherwise.
# Method: copies of a right trace, cut at ninths and with eight bytes spoilt in other places, to each command;
# the whole trace beside them; a trace that differs, cut.
#   damaged.sh TRK TOOLS CORPUS CORE
. "$(dirname "$0")/lib.sh"
corpus=$3
core=$4
whole=$corpus/demo-seed-1.trk
bytes=$(wc -c <"$whole")
range=0x200000000+0x100000

# gives_3 ARGUMENT...: so the last copy fares, with a word of what is wrong.
gives_3() {
    run 3 "$@"
    grep -q "$copy: .*\(damaged\|incomplete\|missing\|too short\)" err || {
        fail "$copy, trk $*: no word of damage:"
        sed 's/^/    /' err | head -5
    }
}

try() {
    gives_3 sim "$copy"
    gives_3 bisect "$copy"
    gives_3 bisect "$copy" --symptom "frame:1,range:$range"
    gives_3 bisect run "$copy" -- true
    grep -q "good to the end" out && fail "$copy: bisect run calls it good to the end"
    gives_3 minimise "$copy" -o case.json
    [ -e case.json ] && fail "$copy: a case of a right trace"
    gives_3 diff "$copy" "$whole"
    gives_3 diff "$whole" "$copy"
    gives_3 diff --asked "$copy" "$whole"
    gives_3 why "$copy" 0x200010000
    gives_3 info --full "$copy"
    gives_3 dump "$copy"
    gives_3 report "$copy"
    gives_3 explore "$copy"
    gives_3 query "$copy" "SELECT count(*) FROM events"
}
for part in 1 4 8; do
    copy=cut-$part.trk
    head -c $((bytes * part / 9)) "$whole" >"$copy"
    try
done
for part in 1 2 3 5 8 11; do
    copy=spoilt-$part.trk
    cp "$whole" "$copy"
    printf 'TRKdamag' | dd of="$copy" bs=1 seek=$((bytes * part / 12)) conv=notrunc 2>err
    try
done
copy=cut-4.trk
gives_3 bisect "$copy" --good "$core" --bad "$core"

# A part whose beginning is spoilt, the state that it begins with too, is repaired: that state is told as lost,
# and nobody is blamed for it.
run 0 trim "$whole" 2000- -o part.trk
states=0
at=1504
while [ "$at" -lt 2600 ]; do
    cp part.trk spoilt.trk
    printf 'TRKdamag' | dd of=spoilt.trk bs=1 seek="$at" conv=notrunc 2>err
    run 0 recover -f --json spoilt.trk -o repaired.trk
    if [ "$(get state_lost)" = true ]; then
        states=$((states + 1))
        same "complete, spoilt at $at" "$(get complete)" false
        same "losses, spoilt at $at" "$(get dropped)" 1
        run 3 sim --json repaired.trk
        same "verdict, spoilt at $at" "$(get verdict)" trace-incomplete
    fi
    "$trk" doctor repaired.trk >out 2>err
    grep -q "fault of the recorder" out && fail "spoilt at $at: the recorder is blamed"
    at=$((at + 60))
done
[ "$states" -ge 3 ] || fail "a lost state was told $states times only"

# A trace whose header was lost is not whole, though all of its events are there: a verdict stands, and all that
# read it say so. It may be a part of a region, whose other events are no difference.
# spoil_header FILE AT: repaired.trk.
spoil_header() {
    cp "$1" spoilt.trk
    printf 'TRKdamag' | dd of=spoilt.trk bs=1 seek="$2" conv=notrunc 2>err
    run 0 recover -f --json spoilt.trk -o repaired.trk
    same "header lost, events lost" "$(get header_lost) $(get dropped)" "true 0"
}
spoil_header "$corpus/bug-copy-before-arm.trk" 300
run 1 sim --json repaired.trk
is="$(get verdict) $(get event_at) $(get complete)"
run 1 sim --json "$corpus/bug-copy-before-arm.trk"
same "verdict without a header" "$is" "$(get verdict) $(get event_at) false"
spoil_header "$whole" 300
copy=repaired.trk
for command in "sim --json" "info --json" "pack -f -o packed.trk --json"; do
    # shellcheck disable=SC2086
    gives_3 $command "$copy"
    same "$command: complete" "$(get complete)" false
done
run 3 sim --json repaired.trk
same "verdict without a header" "$(get verdict)" ok
run 3 sim --oracle-only repaired.trk
gives_3 dump "$copy"
gives_3 diff "$copy" "$whole"
grep -q "^traces: same as far as they go" out || fail "without a header: $(cat out)"
run 0 trim "$whole" region:0x200000000 -o region.trk
spoil_header region.trk 200
gives_3 diff "$whole" repaired.trk
at_least "events of a region's part without a header" "$(sed -n 's/^compared: [0-9]* events of A with \([0-9]*\) of B$/\1/p' out)" 1000

# What is damaged behind the last events takes none away: what is right gives 3, with a word of the damage alone,
# what is wrong is found as in the whole.
# spoil_end PLACE FILE: spoilt.trk, damaged in its last INDEX or its end mark.
spoil_end() {
    size=$(wc -c <"$2")
    at=$((size - 8))
    [ "$1" = index ] && at=$(($(od -An -tu8 -j$((size - 16)) -N8 "$2") - 8))
    cp "$2" spoilt.trk
    printf 'TRKdamag' | dd of=spoilt.trk bs=1 seek="$at" conv=notrunc 2>err
}
for place in index mark; do
    spoil_end $place "$whole"
    run 3 sim --json spoilt.trk
    same "verdict, $place" "$(get verdict)" trace-incomplete
    get text | grep -q "none is missing; but the file is damaged" || fail "$place: $(get text)"
    run 3 sim --json --oracle-only spoilt.trk
    get text | grep -q "damaged where it has no events" || fail "$place: $(get text)"
    for bug in copy-before-arm late-invalidate early-read-back skipped-copy; do
        run 1 sim --json "$corpus/bug-$bug.trk"
        is="$(get verdict) $(get detail) $(get event_at)"
        spoil_end $place "$corpus/bug-$bug.trk"
        run 1 sim --json spoilt.trk
        same "$bug, $place" "$(get verdict) $(get detail) $(get event_at)" "$is"
        same "$bug, $place: complete" "$(get complete)" false
    done
done

# A closed standard input is no folder.
"$trk" sim - <&- >out 2>err
same "closed standard input: exit code" $? 4
said "sim: -: cannot read: Bad file descriptor"

# The whole one; and what differs still does where half of it is left.
run 0 diff "$whole" "$whole"
run 0 bisect run "$whole" -- true
run 0 bisect "$whole" --symptom "frame:2,range:$range"
head -c $((bytes * 8 / 9)) "$whole" >cut.trk
run 1 diff "$corpus/demo-seed-2.trk" cut.trk
said "cut.trk: incomplete"
finish
