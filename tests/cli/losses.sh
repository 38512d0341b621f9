# Goal: behind a loss, regions that lost nothing are followed to the end, with exit code 3 and the
# gaps named; and a trace can be followed while it is written.
# Method: a recorded trace out of which events are cut in its text form, with a DROP in their place.
. "$(dirname "$0")/lib.sh"

# Following needs no device.
"$tools/trace_tool" make t.trk || fail "trace_tool make"
run 0 follow t.trk
quiet
same "events followed" "$(wc -l <out)" 40
run 0 follow --json t.trk
json
"$tools/trace_tool" unended u.trk || fail "trace_tool unended"
run 3 follow --idle 1 u.trk
same "events followed without an end" "$(wc -l <out)" 40
said "nothing was written for 1 s"
run 2 follow nowhere.trk
echo "no trace, but more than sixty-four bytes of something else altogether, as we see" >text.trk
run 3 follow text.trk
size=$(wc -c <t.trk)
head -c $((size / 2)) t.trk >grows.trk
"$trk" follow --idle 10 grows.trk >out 2>err &
follower=$!
sleep 0.3
tail -c +$((size / 2 + 1)) t.trk >>grows.trk
wait "$follower"
same "exit code of following a file that grows" $? 0
same "events of a file that grows" "$(wc -l <out)" 40

need_vulkan
"$trk" record -o ok.trk -- "$trk" demo --frames 40 >out 2>err || fail "record"
"$trk" dump --text ok.trk >text.txt 2>err
# Out of a guest's chunk behind the middle, 15 events from a LOCK of the arena band on.
awk -v half="$(($(wc -l <text.txt) / 2))" '
    /^events / { guest = $2 == "stream=1" && NR > half }
    guest && !cut && / lock domain=0x1004/ { cut = 15; print $1 " drop argument=15" }
    cut > 1 { cut--; next }
    { print }' text.txt >lost.txt
grep -q "drop argument=15" lost.txt || fail "nothing was cut"
run 0 assemble lost.txt -o lost.trk
run 3 sim --json lost.trk
same verdict "$(get verdict)" trace-incomplete
same complete "$(get complete)" false
get text | grep -q "2 of 4 regions lost nothing and were followed to the end" ||
    fail "what lost nothing was not followed: $(get text)"
run 3 doctor --json lost.trk
same dropped "$(get dropped)" 15
get gaps.0.region | grep -q 0x80000 || fail "the gap is not named"
finish
