# Goal: trk why says of a byte, at any moment, who wrote it, which side has it, and what must happen.
# Method: traces of the demo's bugs, looked at just before and behind the steps that trk sim tells; every
# event of a short trace once; what cannot be meant.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

# at N: the event of the N-th step (from 0) of the story in bad.txt
at() {
    get "story.$1.event" bad.txt
}

# why KEY EVENT VALUE: what trk why says of the verdict's byte behind an event
why() {
    run 0 why --json bad.trk "$addr" "@$2"
    same "$name, event $2: $1" "$(get "$1")" "$3"
}

record() {
    name=$1
    run 0 record -f -o bad.trk -- "$trk" demo --frames 24 --bug "$name"
    run 1 sim --json bad.trk
    cp out bad.txt
    addr=$(get guest_addr bad.txt)
}

# CLEAN, copied, stored past the tracker, read: the GPU's copy is older from the store on.
record kernel-store
why state "$(at 0)" clean
store=$(at 2)
why gpu $((store - 1)) current
why guest $((store - 1)) current
why gpu "$store" older
why guest "$store" current
why state "$store" clean
get for_gpu | grep -q "^an invalidate of the page, and an upload then" || fail "for the GPU: $(get for_gpu)"
same "for the CPU" "$(get for_cpu)" "nothing: guest memory is current"
same "the writer's event" "$(get stores.0.event)" "$store"
get writer | grep -q "^render, by the kernel, event $store: stamp " || fail "writer: $(get writer)"
why gpu "$(at 3)" older
same schema "$(get schema)" trk-why/1
run 0 why bad.trk "$addr" "@$store"
grep -q "^the GPU's copy   older: the last copy there, by render, event $(at 1)," out || fail "text: $(cat out)"
run 0 why bad.trk "$addr" "@$store"
cp out first
run 0 why bad.trk "$addr" "@$store"
cmp -s out first || fail "another answer the second time"

# Given up for the GPU at the end: no upload of what was stored last comes any more, open though the page is.
seed=1
while [ "$seed" -lt 9 ]; do
    run 0 record -f -o bad.trk -- "$trk" demo --frames 8 --threads 1 --seed "$seed" --bug kernel-store
    run 1 sim --json bad.trk
    addr=$(get guest_addr)
    run 0 why --json bad.trk "$addr"
    [ "$(get gpu)" != older ] || [ "$(get state)" != cpu ] || break
    seed=$((seed + 1))
done
gone=$(get unregistered)
get for_gpu | grep -q "^a register of these bytes, .* and an upload of the page" || fail "given up: $(get for_gpu)"
run 0 dump bad.trk "$gone"
grep -q "op_end .*unregister" out || fail "given up, event $gone: $(cat out)"
why unregistered "$((gone - 1))" null
why unregistered "$gone" "$gone"
run 0 why bad.trk "$addr"
grep -qx "registered       no more, since event $gone" out || fail "given up: $(cat out)"

# Written by the GPU, brought home before that had run.
record early-read-back
why guest "$(at 0)" older
why gpu "$(at 0)" current
[ "$(get under_way)" != null ] || fail "nothing under way inside the upload"
why guest "$(at 2)" older
get guest_text | grep -q "came before the GPU had run its work" || fail "guest: $(get guest_text)"

# A copy home over what was stored since: no side has it any more, whatever is copied then.
record late-invalidate
same "late-invalidate: verdict" "$(get verdict bad.txt)" lost-cpu-write
lost=$(get event_visible bad.txt)
why guest "$((lost - 1))" current
why gpu "$((lost - 1))" older
why guest "$lost" older
get guest_text | grep -q "^older: .* the copy home that ended at event $lost put older bytes over it" ||
    fail "overwritten: $(get guest_text)"
why gpu "$lost" older
same "overwritten: for the GPU" "$(get for_gpu)" \
    "these bytes to be stored anew: neither guest memory nor the GPU's copy has them"
same "overwritten: for the CPU" "$(get for_cpu)" "$(get for_gpu)"

# Copies over the newest bytes whose own bytes nobody knows: from there on nothing is known of either side.
# doubt NAME EVENT...: a trace of these events, looked at behind the last.
doubt() {
    name=$1
    shift
    {
        text_begin '{}' '0 render'
        echo 'events stream=0 shift=5 flags=1
32 tracker argument=0x10001000
64 map context=3 seq=1048576 argument=0x200000000'
        at=96
        for event; do
            echo "$at $event argument=0x200000000"
            at=$((at + 32))
        done
        echo 'end status=0 cut=0'
    } >doubt.txt
    run 0 assemble -f doubt.txt -o bad.trk
    addr=0x200000000
    last=$(($# + 1))
}
cpu="witness_store domain=1 seq=16"
gpu="gpu_write domain=2 seq=16"
up="copy_begin seq=4096/copy_end seq=4096"
down="copy_begin context=1 seq=4096/copy_end context=1 seq=4096"
# doubts GUEST GPU STEPS: what is known of each side behind the steps, with "/" between them.
doubts() {
    IFS=/
    # shellcheck disable=SC2086 # a word an event
    set -- "$1" "$2" $3
    unset IFS
    expected_guest=$1 expected_gpu=$2
    shift 2
    doubt "$*" "$@"
    why guest "$last" "$expected_guest"
    why gpu "$last" "$expected_gpu"
}
doubts unclear older "$cpu/$down"
get guest_text | grep -q "^not clear: .* the copy home that ended at event 4 may have put older" || fail "$name: $(get guest_text)"
same "$name: for the GPU" "$(get for_gpu)" \
    "not known: a copy may have put older bytes over the newest, and neither side has them then"
same "$name: for the CPU" "$(get for_cpu)" "$(get for_gpu)"
doubts unclear unclear "$cpu/$down/$up"
get gpu_text | grep -q "^not clear: the last copy there, by render, event 5, brought what may have been put over" ||
    fail "$name: $(get gpu_text)"
doubts unclear unclear "$cpu/$down/$up/$down/$up/$down"
doubts unclear unclear "${down%/*}/$gpu/${down#*/}/$up"
# What is known, on the other hand.
doubts current current "$cpu/$up/$down/$up/$down"
doubts current current "$gpu/$down/$up/$down/$up"
doubts current older "$cpu/$down/$cpu"
doubts older older "$gpu/$down/$cpu/$down"
doubts older older "$gpu/$up"

# A copy home that was left out; the page is given back, and nobody will bring the bytes.
record lost-read-back
visible=$(get event_visible bad.txt)
why guest "$visible" unclear
get guest_text | grep -q "no copy is noted" || fail "guest: $(get guest_text)"

# Another view of the same bytes has the same answer.
record alias-write
why untracked "$(at 2)" false
hle=$(get guest_addr)
run 0 why --json bad.trk 0x300000000
same "the alias: untracked" "$(get untracked)" true

# Every moment of a short trace, and bytes that are nobody's.
"$trk" record -f -o race.trk -- "$tools/race_tool" good 2>err || fail "record race"
run 0 info --json race.trk
events=$(get events)
event=0
while [ "$event" -lt "$events" ]; do
    run 0 why --json race.trk 0x200010000 "@$event"
    same "event" "$(get event)" "$event"
    event=$((event + 1))
done
run 0 why --json race.trk 0x200010000
same "without an event: the last" "$(get event)" $((events - 1))
run 0 why --json race.trk 0x12345
same "nobody's" "$(get guest)" unknown
same "nobody's page" "$(get state)" none

# What cannot be meant.
run 2 why race.trk 0x200010000 "@$events"
said "no event $events"
run 2 why race.trk 0x200010000 4
said "expected @"
run 2 why race.trk 0x200010000 @
run 2 why race.trk nowhere
said "no guest address"
run 2 why race.trk 0x8000000000000000
run 2 why race.trk
run 2 why absent.trk 0x1000
head -c "$(($(wc -c <race.trk) - 8))" race.trk >cut.trk
run 3 why --json cut.trk 0x200010000
same "cut: complete" "$(get complete)" false
run 0 why --json race.trk 0x200010000 @5
same "all threads, of the whole" "$(get all_threads)" true
run 0 why --json cut.trk 0x200010000 @5
# A cut that took nothing but the end mark leaves the totals.
same "all threads, of what is cut off behind the totals" "$(get all_threads)" true
head -c "$(($(wc -c <race.trk) * 3 / 4))" race.trk >cut3.trk
run 3 why --json cut3.trk 0x200010000
same "all threads, of what is cut off" "$(get all_threads)" false
run 3 why cut3.trk 0x200010000
grep -q "^threads  *those that are in the file; it has no end" out || fail "cut: threads: $(cat out)"
# Behind what made the page's state an operation may be missing.
run 0 dump --text race.trk
awk '{ line[NR] = $0; if ($2 == "op_end") { last = NR; time = $1 } }
     END { for (i = 1; i <= NR; i++) { print line[i]; if (i == last) print time " drop argument=4" } }' out >drop.txt
run 0 assemble drop.txt -o drop.trk
run 3 why --json drop.trk 0x200010000
get state_text | grep -q "; since event .* of main, unless what is missing made another$" || fail "missing: $(get state_text)"
# What is missing may have met the page; where no event is left, none is the last.
run 3 why --json cut.trk 0x12345
same "cut, nobody's page: state" "$(get state)" null
get state_text | grep -q "^not known: events are missing" || fail "cut, nobody's page: $(get state_text)"
size=$(wc -c <race.trk)
while [ "$size" -gt 100 ]; do
    size=$((size - 40))
    head -c "$size" race.trk >none.trk
    "$trk" info --json none.trk >out 2>err
    [ "$(get events)" != 0 ] || break
done
run 3 why none.trk 0x200010000
grep -q "^after event  *none: no event is left$" out || fail "no event is left: $(cat out)"
[ -n "$hle" ] || fail "no address"
finish
