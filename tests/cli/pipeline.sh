# Goal: the main road: record the demo, run the trace again, get ok; every command counts the same.
# Method: one short demo, recorded once; its trace through sim, info and dump in every form.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

run 0 record -o t.trk -- "$trk" demo --frames 12 --threads 3 --check --json
said "events"
cp out demo.json
at_least "faults of the demo" "$(get faults demo.json)" 100
same "mismatches of the demo" "$(get mismatches demo.json)" 0
same "failures of the demo" "$(get failures demo.json)" 0
run 0 info --json t.trk
get header.program.signals.caught | grep -q '"SIGSEGV"' || fail "the demo's handler is not in the header"

run 0 info --full --json t.trk
quiet
cp out info.json
same complete "$(get complete)" true
same dropped "$(get dropped)" 0
at_least threads "$(get threads)" 4
at_least regions "$(get regions)" 2
at_least "faults in the trace" "$(get faults)" "$(get faults demo.json)"
run 0 info t.trk
grep -q '^complete *yes' out || fail "info does not say that the trace is complete"

run 0 sim --json t.trk
quiet
cp out sim.json
same verdict "$(get verdict)" ok
same divergences "$(get divergences)" 0
same complete "$(get complete)" true
same event_at "$(get event_at)" null
at_least operations "$(get operations)" 1000
at_least checks "$(get checks)" 100
for key in events faults threads regions; do
    same "$key of sim and info" "$(get $key sim.json)" "$(get $key info.json)"
done
run 0 sim --json t.trk
cmp -s out sim.json || fail "sim gives another report the second time"
run 0 sim t.trk
same "first line" "$(head -1 out)" "verdict: ok"
"$trk" sim --json - <t.trk 2>err | sed 's/"path".*//; s/"again".*//' >out
sed 's/"path".*//; s/"again".*//' sim.json | cmp -s - out || fail "sim of standard input differs"

run 0 dump t.trk
same "lines of dump" "$(wc -l <out)" "$(get events info.json)"
run 0 dump --json t.trk 0-4999
json
same "JSON lines" "$(wc -l <out)" 5000
grep -q '"time_us":' out || fail "dump gives no times"
run 0 dump t.trk frame:5
at_least "lines of frame:5" "$(wc -l <out)" 100
run 0 dump t.trk region:0x200000000
at_least "lines of the first region" "$(wc -l <out)" 100

# Through pipes all the way, and by the names in the trace directory.
"$trk" record -o - -- "$trk" demo --frames 3 2>err | "$trk" sim - >out 2>>err
same "first line" "$(head -1 out)" "verdict: ok"
run 0 record -- "$trk" demo --frames 3
run 0 sim

# Cut in the middle: what there is gets judged, and it is not called whole.
head -c "$(($(wc -c <t.trk) / 2))" t.trk >half.trk
run 3 sim --json half.trk
json
same "verdict of a half" "$(get verdict)" trace-incomplete
same "complete of a half" "$(get complete)" false

run 4 demo --device 4000
said "device"

# A dump from the middle ends all its threads at one moment: nothing is in it that rests on what is not.
run 0 record -f --block 60000 --flight 256K --trigger frame:10 -o middle.trk -- "$trk" demo --frames 30
run 0 doctor middle.trk
run 0 sim --json middle.trk
same "verdict of a dump from the middle" "$(get verdict)" ok
finish
