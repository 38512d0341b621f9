# Goal: from bytes that look wrong, trk bisect --symptom finds the event that let the copies get out of
# step, in at most log2(n) + 2 probes of n events; each probe forces a synchronisation in the re-executed
# core, from the nearest checkpoint. What pages should hold may stand in a file, made of a good recording.
# Method: stored traces of the demo's bugs, held against what trk sim says of them, with and without
# checkpoints; a long trace; the demo with a bug against the demo without; files that are none.
#   bisect_symptom.sh TRK TOOLS TRK_LONG_TRACE CORPUS
. "$(dirname "$0")/lib.sh"
record_all
maker=$3
corpus=$4

# probes WHAT EVENTS: the last run's probes are few, and all by the core.
probes() {
    at_most "$1: probes" "$(get probes)" $(($(log2 "$2") + 2))
    at_most "$1: probes of the moments" "$(get probes)" $(($(log2 "$(get moments)") + 1))
    at_least "$1: probes" "$(get probes)" 2
    same "$1: forced" "$(get forced)" "$(get probes)"
}

# symptom BUG SIDE: found in the frame of the wrong read, not behind it, nor before what trk sim blames.
symptom() {
    run 1 sim --json "$corpus/bug-$1.trk"
    cp out sim.txt
    range=$(get guest_addr sim.txt)+64
    all=$(get events sim.txt)
    run 1 bisect --json "$corpus/bug-$1.trk" --symptom "frame:2,range:$range"
    cp out found.txt
    same "$1: schema" "$(get schema)" trk-bisect-symptom/1
    same "$1: side" "$(get side)" "$2"
    same "$1: byte" "$(get guest_addr)" "$(get guest_addr sim.txt)"
    at_most "$1: event" "$(get event)" "$(get event_visible sim.txt)"
    at_least "$1: event" "$(get event)" "$(get event_at sim.txt)"
    probes "$1" "$all"
    same "$1: without checkpoints" "$(get from_checkpoint)" 0
    # The same, and less work, from checkpoints.
    run 0 pack -f --checkpoints 200 "$corpus/bug-$1.trk" -o cp.trk
    run 1 bisect --json cp.trk --symptom "frame:2,range:$range"
    for key in event side probes moments writer gpu_text guest_text good_until; do
        same "$1, checkpoints: $key" "$(get $key)" "$(get $key found.txt)"
    done
    probes "$1, checkpoints" "$all"
    at_least "$1: from a checkpoint" "$(get from_checkpoint)" "$(($(get probes) - 1))"
    at_most "$1: events again" $((2 * $(get events_again))) "$(get events_again found.txt)"
}
for bug in alias-write copy-before-arm kernel-store late-invalidate lost-rearm skipped-copy; do
    symptom "$bug" gpu
done
symptom early-read-back cpu
# A store that nobody was told of is itself the moment.
run 1 sim --json "$corpus/bug-kernel-store.trk"
broken=$(get event_at)
addr=$(get guest_addr)
for size in 1 4096 0x100000000; do
    run 1 bisect --json "$corpus/bug-kernel-store.trk" --symptom "frame:2,range:$addr+$size"
    same "$size bytes: event" "$(get event)" "$broken"
    same "$size bytes: good until" "$(get good_until)" $((broken - 1))
done
run 1 bisect "$corpus/bug-kernel-store.trk" --symptom "frame:2,range:$addr+64"
grep -q "^out of step    event $broken: byte $addr, the GPU's copy has older bytes" out ||
    fail "text: $(cat out)"
grep -q "^probes .* by the core, 0 from a checkpoint" out || fail "text: $(cat out)"
run 0 bisect --json "$corpus/bug-kernel-store.trk" --symptom "frame:1,range:$addr+64"
same "the frame before: found" "$(get found)" false
run 0 bisect "$corpus/demo-seed-1.trk" --symptom "frame:2,range:0x200000000+0x100000"

# A foreign tracker's trace: nothing is re-executed, the log's operations answer.
run 1 sim --json "$corpus/foreign-bug-1.trk"
cp out sim.txt
run 1 bisect --json "$corpus/foreign-bug-1.trk" --symptom "frame:1,range:$(get guest_addr)+64"
same "foreign: forced" "$(get forced)" 0
same "foreign: byte" "$(get guest_addr)" "$(get guest_addr sim.txt)"
at_least "foreign: event" "$(get event)" "$(get event_at sim.txt)"
at_most "foreign: event" "$(get event)" "$(get event_visible sim.txt)"
at_most "foreign: probes" "$(get probes)" $(($(log2 "$(get events sim.txt)") + 2))

# A long trace: few probes, and from checkpoints few events.
"$maker" --events 300000 -o long.trk || fail "no long trace"
run 0 pack -f --checkpoints 4000 long.trk -o cp.trk
run 1 sim --json cp.trk
cp out sim.txt
last=$(($(get frames) - 1))
run 1 bisect --json cp.trk --symptom "frame:$last,range:$(get guest_addr)+1"
same "long: event" "$(get event)" "$(get event_at sim.txt)"
probes long "$(get events sim.txt)"
same "long: from a checkpoint" "$(get from_checkpoint)" "$(get probes)"
at_most "long: events again" "$(get events_again)" 150000

# Damage before the last checkpoints: whatever is left answers, or it is said that nothing does.
cp cp.trk bad.trk
printf 'TRKdamag' | dd of=bad.trk bs=1 seek=$(($(wc -c <cp.trk) / 6)) conv=notrunc 2>err
"$trk" bisect --json bad.trk --symptom "frame:$last,range:$(get guest_addr sim.txt)+1" >out 2>err
code=$?
[ "$code" -eq 0 ] || [ "$code" -eq 1 ] || [ "$code" -eq 3 ] || fail "damage: exit code $code: $(cat err)"

# What cannot be meant.
for wrong in frame:2 frame:2,range: frame:2,range:0x1000 frame:x,range:0x1000+1; do
    run 2 bisect "$corpus/demo-seed-1.trk" --symptom "$wrong"
    said "expected frame:N,range:A+S"
done
for wrong in 0x1000+0:"expected 1 to 2^32 bytes" 0x1000+0x100000001:"expected 1 to 2^32 bytes" \
    0x7f0000000000+4096:"expected one below 2^46" 0x3fffffffffff+2:"expected one below 2^46" \
    0xffffffffffffffff+4096:"expected one below 2^46"; do
    run 2 bisect "$corpus/demo-seed-1.trk" --symptom "frame:2,range:${wrong%%:*}"
    said "the range 0x[0-9a-f]*+[0-9]*: ${wrong#*:}"
done
run 2 bisect "$corpus/demo-seed-1.trk" --symptom frame:2,range:0x1000+1 --schedule x
said "schedule does not go with --symptom"
run 2 bisect run "$corpus/demo-seed-1.trk" --symptom frame:2,range:0x1000+1 -- true
said "symptom does not go with live, run or hashes"
run 2 bisect bad.trk --symptom .
said "directory"
run 125 bisect --git "$corpus/demo-seed-1.trk" --symptom frame:2,range:0x1000+1
said "symptom does not go with --git"
echo "{}" >case.json
run 2 bisect case.json --symptom frame:2,range:0x1000+1
said "symptom goes with one trace"

# Of what the trace knows nothing, nothing is said to be well.
run 3 bisect --json "$corpus/demo-seed-1.trk" --symptom frame:2,range:0x33000000+4096
get why | grep -q "^it cannot be told: no store to the range, no copy" || fail "unknown: $(get why)"
run 2 bisect "$corpus/demo-seed-1.trk" --symptom frame:99,range:0x200000000+64
said "no frame 99: the last one is "

# A file: each line that is none is named.
page=0x20009d000
line="frame:2,range:$page+4096,hash:0x0123456789abcdef"
# refuses TEXT WHY: a file with this as its third line
refuses() {
    printf '# a comment\n\n%s\n' "$1" >wrong.hashes
    run 2 bisect "$corpus/demo-seed-1.trk" --symptom wrong.hashes
    said "wrong.hashes, line 3: $2"
    [ ! -s out ] || fail "a report of a file that is none"
}
refuses "frame:2" "expected frame:N,range:A+4096,hash:H"
refuses "frame:2,range:$page+4096" "expected frame:N"
refuses "frame:,range:$page+4096,hash:0x0123456789abcdef" "frame, address and size must be numbers"
refuses "frame:2,range:$page+64,hash:0x0123456789abcdef" "the range must be one page"
refuses "frame:2,range:0x20009d001+4096,hash:0x0123456789abcdef" "the range must be one page"
refuses "frame:2,range:$page+4096,hash:0123456789abcdef" "the hash must be 0x and 16"
refuses "frame:2,range:$page+4096,hash:0x123" "the hash must be 0x and 16"
refuses "$line x" "the hash must be 0x and 16"
refuses "$line$(printf '%300s' '')" "it is too long"
run 2 bisect "$corpus/demo-seed-1.trk" --symptom /dev/zero
said "/dev/zero, line 1: it is no text"
run 2 bisect "$corpus/demo-seed-1.trk" --symptom absent.hashes
said "absent.hashes: No such file"
: >empty.hashes
run 2 bisect "$corpus/demo-seed-1.trk" --symptom empty.hashes
said "it has no line"
echo "$line" >one.hashes
run 3 bisect --json "$corpus/demo-seed-1.trk" --symptom one.hashes
get why | grep -q "the trace has no contents of these pages" || fail "no contents: $(get why)"
run 3 bisect hashes "$corpus/demo-seed-1.trk"
said "it has no contents of pages in a frame"
run 2 bisect hashes
run 2 bisect hashes "$corpus/demo-seed-1.trk" more

# Of a good recording, for a bad one: the page that is out of step, among others that differ by chance.
"$trk" demo --frames 1 >out 2>err
if [ $? -eq 4 ]; then
    echo "without a recording of the demo: $(cat err)"
    finish
fi
demo="demo --megabytes 2 --frames 8 --threads 1"
# shellcheck disable=SC2086 # words
{
    run 0 record -f --payload hash -o good.trk -- "$trk" $demo
    run 0 bisect hashes good.trk
    cp out good.hashes
    for bug in kernel-store lost-rearm; do
        run 0 record -f --payload hash -o bad.trk -- "$trk" $demo --bug "$bug"
        run 1 sim --json bad.trk
        cp out sim.txt
        run 1 bisect --json bad.trk --symptom good.hashes
        same "$bug, by a file: found" "$(get found)" true
        same "$bug, by a file: byte" "$(get guest_addr)" "$(get guest_addr sim.txt)"
        same "$bug, by a file: page" "$(get contents.guest_addr)" \
            "$(printf '0x%x' $(($(get guest_addr) & ~4095)))"
        same "$bug, by a file: frame" "$(get contents.frame)" 6
        at_least "$bug, by a file: event" "$(get event)" "$(get event_at sim.txt)"
        at_most "$bug, by a file: event" "$(get event)" "$(get event_visible sim.txt)"
        probes "$bug, by a file" "$(get events sim.txt)"
    done
}
run 0 bisect --json good.trk --symptom good.hashes
same "with itself: same" "$(get contents.same)" "$(wc -l <good.hashes)"
same "with itself: different" "$(get contents.different)" 0
# Another content, but nothing out of step: it is told who wrote.
sed '$s/hash:0x.*/hash:0x0123456789abcdef/' good.hashes >other.hashes
run 1 bisect --json good.trk --symptom other.hashes
same "other content: found" "$(get found)" false
same "other content: different" "$(get contents.different)" 1
get why | grep -q "^other bytes were written" || fail "other content: $(get why)"
same "other content: page" "$(get contents.guest_addr)" \
    "$(tail -1 good.hashes | sed 's/.*range:\(.*\)+.*/\1/')"
finish
