# Goal: each bug of the demo gets its verdict and an event at fault, from the events alone, with and
# without the core run again; the same seed without the bug is ok. The story names the write, the
# copy or the call that is to blame, and the edge that was missing.
# Method: record each bug; run the trace again as it is, and with command line and environment
# blanked in its header; let the oracle judge it alone.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

run 0 demo --list-bugs
cp out names.txt
run 0 demo --list-bugs --json
cp out bugs.json
count=$(get bugs.# bugs.json)
at_least "number of bugs" "$count" 12
same "names" "$(wc -l <names.txt)" "$count"

# Every policy keeps every byte, where its owner does what the policy leaves to it.
for policy in strict default,invalidate=per-region default,download=all-regions kyty-2026-08,arena=low+extended; do
    run 0 record -f -o good.trk -- "$trk" demo --frames 24 --policy "$policy" --check
    run 0 sim good.trk
    run 0 sim --oracle-only good.trk
done

for seed in 1 2; do
    run 0 record -f -o good.trk -- "$trk" demo --frames 24 --seed "$seed" --check
    run 0 sim good.trk
    run 0 sim --oracle-only good.trk
    run 0 sim --oracle-only --granule 64 good.trk
    run 0 sim --oracle-only --granule 4096 good.trk
    index=0
    while [ "$index" -lt "$count" ]; do
        name=$(get "bugs.$index.name" bugs.json)
        verdict=$(get "bugs.$index.verdict" bugs.json)
        frames=$(get "bugs.$index.frames" bugs.json)
        [ "$frames" -ge 24 ] || frames=24
        index=$((index + 1))
        grep -qx "$name" names.txt || fail "$name is not in the plain list"

        run 0 record -f -o bad.trk -- "$trk" demo --frames "$frames" --seed "$seed" --bug "$name"
        run 1 sim --json bad.trk
        cp out bad.json
        same "$name, seed $seed: verdict" "$(get verdict)" "$verdict"
        at=$(get event_at)
        at_least "$name, seed $seed: event_at" "$at" 1
        run 0 dump bad.trk "$at"
        same "$name: lines of the event at fault" "$(wc -l <out)" 1

        # The oracle alone finds the same, and says the same of it.
        run 1 sim --oracle-only --json bad.trk
        for key in verdict detail event_at event_visible guest_addr writer holder missing passes; do
            same "$name, alone: $key" "$(get $key)" "$(get $key bad.json)"
        done
        [ -n "$(get missing)" ] || fail "$name: no missing edge"
        [ -n "$(get passes)" ] || fail "$name: no order that would pass"
        steps=$(get story.#)
        at_least "$name: steps of the story" "$steps" 3
        grep -q '"role":.*event at fault' out || fail "$name: no step is at fault"
        grep -q '"text":.*undefined\|"text":.*(null)' out && fail "$name: a hole in the story"
        run 1 sim --oracle-only --granule 64 bad.trk

        # A rule that is broken stays broken when the end of the file is lost behind it.
        head -c "$(($(wc -c <bad.trk) - 8))" bad.trk >cut.trk
        run 1 sim --json cut.trk
        same "$name, cut: verdict" "$(get verdict)" "$verdict"
        same "$name, cut: complete" "$(get complete)" false
        same "$name, cut: event_at" "$(get event_at)" "$at"

        "$tools/trace_tool" blank bad.trk blank.trk || fail "$name: blank"
        "$tools/trace_tool" same bad.trk blank.trk || fail "$name: other events when blanked"
        run 1 sim --json blank.trk
        grep -v '"path":\|"again":' bad.json >bad.txt
        grep -v '"path":\|"again":' out | cmp -s - bad.txt || fail "$name: another report when blanked"
        run 0 info --json blank.trk
        grep -qF "$name" out && fail "$name: the header names the bug"
    done
done

# --check makes the demo itself tell: 1 with wrong bytes, 0 without being asked.
run 1 demo --frames 24 --bug copy-before-arm --check
run 0 demo --frames 24 --bug copy-before-arm
run 2 demo --frames 200 --bug late-texture
said "late-texture needs at least 216 frames"
finish
