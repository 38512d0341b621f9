# Goal: what a loss may explain is blamed on nobody. Of a damaged, cut off or lossy recording of a right
# program, trk bisect by a symptom, by a file of contents, by a command and with trk minimise ends with 3
# and says what is missing; what is wrong before the loss is still found.
# Method: recordings of the demo, right and with bugs, spoilt and cut at fourteenths, recovered, and with a
# ring that is too small; commands that answer to the loss, or to nothing.
#   bisect_lost.sh TRK TOOLS CORPUS
. "$(dirname "$0")/lib.sh"
record_all
corpus=$3
need_vulkan

# spoil PART TRACE: damaged.trk, eight bytes of it spoilt, and cut.trk, both at so many fourteenths.
spoil() {
    at=$(($(wc -c <"$2") * $1 / 14))
    cp "$2" damaged.trk
    printf 'TRKdamag' | dd of=damaged.trk bs=1 seek="$at" conv=notrunc 2>err
    head -c "$at" "$2" >cut.trk
    "$trk" recover -f damaged.trk -o recovered.trk >out 2>err || fail "recover: $(cat err)"
}

# lacks COMMAND...: ends with 3, with a word of what is missing.
lacks() {
    run 3 "$@"
    grep -q "damaged\|incomplete\|missing\|too short" err || fail "trk $*: no word of the loss"
}

demo="demo --megabytes 2 --frames 60 --threads 1"
whole=0x200000000+0x100000
# shellcheck disable=SC2086 # words
run 0 record --payload hash -o good.trk -- "$trk" $demo
run 0 bisect hashes good.trk
cp out good.hashes
sort good.hashes >good.sorted
run 0 bisect good.trk --symptom good.hashes
for frame in 10 30 50; do
    run 0 bisect good.trk --symptom "frame:$frame,range:$whole"
done
for part in 1 3 5 8 12; do
    spoil "$part" good.trk
    for copy in damaged cut recovered; do
        for frame in 10 30 50; do
            lacks bisect $copy.trk --symptom "frame:$frame,range:$whole"
        done
        lacks bisect $copy.trk --symptom good.hashes
        # And what such a one has of contents is what the right one has.
        "$trk" bisect hashes $copy.trk >some.hashes 2>err
        [ $copy != cut ] || [ ! -s some.hashes ] || grep -q "others may be missing" err || fail "$copy: threads: $(cat err)"
        sort some.hashes >some.sorted
        comm -23 some.sorted good.sorted >others
        [ ! -s others ] || fail "$copy at $part: contents that are none: $(wc -l <others)"
        lacks minimise -f $copy.trk -o x.json
    done
done

# What is wrong in frame 10 is before the loss, in the beginning of the file.
for bug in kernel-store lost-rearm; do
    # shellcheck disable=SC2086
    run 0 record -f -o bad.trk -- "$trk" $demo --bug "$bug"
    run 1 sim --json bad.trk
    range=$(get guest_addr)+64
    run 1 bisect --json bad.trk --symptom "frame:10,range:$range"
    event=$(get event)
    found=0
    for part in 1 3 7 9 12 13; do
        spoil "$part" bad.trk
        for copy in damaged cut recovered; do
            "$trk" bisect --json $copy.trk --symptom "frame:10,range:$range" >out 2>err
            code=$?
            if [ "$code" -eq 1 ]; then
                found=$((found + 1))
                [ $copy != cut ] || same "$bug, $copy at $part: all threads" "$(get all_threads)" false
                same "$bug, $copy at $part: event" "$(get event)" "$event"
            else
                same "$bug, $copy at $part: exit code" "$code" 3
            fi
        done
    done
    at_least "$bug: found before the loss" "$found" 6
done

# A copy home that may have overwritten the newest bytes is behind a loss no proof that it did, and what reads
# them later is not blamed on the copy to the GPU that brought what was there then.
for bug in late partial; do
    over=$corpus/bug-$bug-invalidate.trk
    run 1 bisect --json "$over"
    same "$bug-invalidate: verdict" "$(get verdict)" lost-cpu-write
    for less in 1 100 300; do
        head -c $(($(wc -c <"$over") - less)) "$over" >cut.trk
        "$trk" recover -f cut.trk -o recovered.trk >out 2>err || fail "recover: $(cat err)"
        for copy in cut recovered; do
            "$trk" bisect --json $copy.trk >out 2>err
            code=$?
            [ "$code" -eq 3 ] || same "$bug-invalidate, $copy, $less bytes less, code $code" "$(get detail)" \
                "stored without invalidate"
        done
    done
done

# A moment is told of as it was, if the loss is behind it.
spoil 12 bad.trk
run 0 why damaged.trk "${range%+*}" @100
run 3 info --full --json damaged.trk
lacks why damaged.trk "${range%+*}" @$(($(get events) - 1))

# A part of a trace begins with what is not in it, and ends where no frame ends.
run 0 info --json good.trk
all=$(get events)
for part in 0-4 1-3 3-9 5-8; do
    run 0 trim -f good.trk $((all * ${part%-*} / 10))-$((all * ${part#*-} / 10)) -o part.trk
    run 3 bisect part.trk --symptom good.hashes
    run 0 bisect hashes part.trk
    sort out | comm -23 - good.sorted >others
    [ ! -s others ] || fail "part $part: contents that are none: $(wc -l <others)"
done
run 0 why --json part.trk 0x33000000
get state_text | grep -q "^not known: the trace begins in the middle" || fail "a part: $(get state_text)"
run 0 why --json good.trk 0x33000000
same "the whole: state" "$(get state_text)" "the CPU's: no operation of the tracker has met it"

# What such a part has no store to is not well because nothing is known of it.
# shellcheck disable=SC2086
run 0 record -f -o bad.trk -- "$trk" $demo --bug kernel-store
run 1 sim --json bad.trk
range=$(get guest_addr)+64
at=$(get event_at)
"$trk" trim -f bad.trk $((at + 1))-$(($(get event_visible) + 3000)) -o part.trk 2>err || fail "trim: $(cat err)"
run 0 sim part.trk
run 3 bisect part.trk --symptom frame:8,range:0x80000000000+0x100000
run 1 bisect bad.trk --symptom "frame:8,range:${range%+*}+4096"

# By a command: trk's own 3 is no answer, and where events are missing a program is not to blame.
# shellcheck disable=SC2086
run 0 record -f --ring 4096 --block 0 -o lossy.trk -- "$trk" $demo
spoil 3 good.trk
for copy in lossy recovered; do
    lacks info --full --json $copy.trk
    [ "$copy" = recovered ] || [ "$(get dropped)" -gt 0 ] || continue
    lacks bisect run $copy.trk --json -- "$trk" sim --oracle-only
    same "$copy, by trk sim: found" "$(get found)" false
    get why | grep -q "the command ends with 3" || fail "$copy, by trk sim: $(get why)"
    lacks bisect run $copy.trk --json -- sh -c "[ \"\$('$trk' dump \"\$1\" | grep -c ' drop ')\" -eq 0 ]" sh
    same "$copy, by its losses: found" "$(get found)" false
    get why | grep -q "from where events are missing on" || fail "$copy, by its losses: $(get why)"
    lacks bisect $copy.trk --symptom "frame:30,range:$whole"
done
lacks bisect run damaged.trk --json -- true
same "a refusal is an object, too" "$(get error.status)" damaged
same "a refusal is an object, too: complete" "$(get complete)" false
# One that is bad whatever it is asked is no judge of events, nor is one that cannot be found.
for command in false "sh -c nowhere" "$trk sim --no-such-option"; do
    # shellcheck disable=SC2086
    run 3 bisect run bad.trk --json -- $command
    same "$command: found" "$(get found)" false
    same "$command: why" "$(get why)" "the command is bad with no event at all, too"
done

# Of half the range, and of half the file of contents, nothing is known.
run 3 bisect --json good.trk --symptom frame:10,range:0x1fff00000+0x200000
get why | grep -q "it cannot be told of 1048576 of the 2097152 bytes" || fail "half a range: $(get why)"
same "half a range: bytes" "$(get unknown_bytes)" 1048576
sed 's/^frame:/&1000/' good.hashes | cat good.hashes - >more.hashes
run 3 bisect --json good.trk --symptom more.hashes
same "more frames than the trace has" "$(get contents.absent)" "$(wc -l <good.hashes)"
get why | grep -q "the trace has no such frame" || fail "more frames: $(get why)"
finish
