# Goal: trk explore finds in a trace whose recorded order is right the order that breaks, says the
# same again from its line, keeps it as a scenario file, and gives no alarm for what is right.
# Method: programs whose threads ran one after the other by chance (race_tool), right and wrong; the
# demo with several seeds.
. "$(dirname "$0")/lib.sh"
record_all

for race in good copy-first open-write branch; do
    "$trk" record -o "$race.trk" -- "$tools/race_tool" "$race" 2>err || fail "record $race: $(cat err)"
    run 0 sim "$race.trk"
done

# The right program: every order of every window, none breaks.
run 0 explore good.trk
grep -q "^orders: ok" out || fail "good: not ok"
run 0 explore --json good.trk
same schema "$(get schema)" trk-explore/1
same complete "$(get complete)" true
same recorded "$(get recorded)" ok
same finding_count "$(get finding_count)" 0
same unfaithful "$(get unfaithful)" 0
same left_out "$(get left_out)" 0
at_least schedules "$(get schedules)" 100
at_least orders "$(get orders)" 100000
for seed in 1 2 3 4 5; do
    run 3 explore --engine random --seed "$seed" --schedules 300 good.trk
    run 3 explore --engine pct --preemptions 3 --seed "$seed" --schedules 300 good.trk
done
quiet

# expect RACE VERDICT EVENT-TYPE: it is found, and found again.
expect() {
    run 1 explore --json "$1.trk"
    cp out first
    same "$1: recorded" "$(get recorded first)" ok
    same "$1: verdict" "$(get findings.0.verdict first)" "$2"
    same "$1: recorded order" "$(get findings.0.recorded first)" false
    line=$(get findings.0.schedule first)
    at_most "$1: length of the line" "${#line}" 120
    run 0 dump "$1.trk" "$(get findings.0.event_at first)"
    grep -q " $3 " out || fail "$1: the event is no $3"
    run 1 explore --json --schedule "$line" "$1.trk"
    same "$1: verdict again" "$(get findings.0.verdict)" "$2"
    same "$1: event again" "$(get findings.0.event_at)" "$(get findings.0.event_at first)"
    same "$1: line again" "$(get findings.0.schedule)" "$line"
    run 1 explore --json "$1.trk"
    cmp -s out first || fail "$1: another report the second time"
    run 1 explore --export "$1.json" "$1.trk"
    run 0 sim "$1.json"
    grep -q "verdict: $2" out || fail "$1: the exported window does not end so"
    for engine in random pct; do
        run 1 explore --engine "$engine" --schedules 4000 --export "$1-$engine.json" "$1.trk"
        grep -q "^verdict: $2" out || fail "$1: $engine does not find it"
        line=$(sed -n 's/.*--schedule //p' out)
        run 1 explore --schedule "$line" "$1.trk"
    done
    run 0 sim "$1-pct.json"
}
expect copy-first stale-gpu-read gpu_read
same "copy-first: speculative" "$(get findings.0.speculative first)" false
expect open-write lost-gpu-write op_begin
expect branch stale-gpu-read gpu_read
same "branch: speculative" "$(get findings.0.speculative first)" true
at_least "branch: lines of the story" "$(get findings.0.story.# first)" 3
run 1 explore branch.trk
grep -q "last writer: guest-two" out || fail "branch: no last writer"
grep -q "missing edge: " out || fail "branch: no missing edge"
cp out first.txt
run 1 explore --json branch.trk
cp out first
run 0 dump branch.trk "$(get findings.0.speculative_at first)"
grep -q " fault " out || grep -q " witness_check " out || fail "branch: speculative from no read on"

# A line belongs to its trace.
run 2 explore --schedule "$line" good.trk
said "another"
run 2 explore --schedule trk1:nonsense good.trk
run 2 explore --schedule "$line!" open-write.trk
# Options that would do nothing.
while IFS='|' read -r message arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    run 2 explore $arguments
    said "$message"
done <<'CASES'
--page does not go with --schedule|--schedule trkw1:x --page 0x200010000 good.trk
--engine does not go with --schedule|--schedule trkw1:x --engine pct good.trk
--budget does not go with --schedule|--schedule trkw1:x --budget 5 good.trk
a range does not go with --schedule|--schedule trkw1:x good.trk 0-10
--from does not go with a range|--from 3 good.trk 0-10
--seed does not go with --engine exhaustive|--seed 3 good.trk
--preemptions does not go with another|--engine random --preemptions 3 good.trk
CASES
# A line of another build of the core is tried; where it leads elsewhere it says so.
line=$(get findings.0.schedule first)
steps=${line##*:}
window=${line%:*:*:*}
rest=${line#"$window":}
script=${rest#*:}
run 1 explore --json --schedule "$window:00000000:$script" branch.trk
same "another core: verdict" "$(get findings.0.verdict)" stale-gpu-read
run 1 explore --json open-write.trk
other=$(get findings.0.schedule)
run 1 explore --schedule "$window:00000000:${script%:*}:${other##*:}" branch.trk
said "diverged at step [0-9]*: expected guest-two at operation 1, got .*; it was made with another core"
run 1 explore --schedule "$window:${rest%%:*}:${script%:*}:${other##*:}" branch.trk
grep -q "another core" err && fail "a core is called another that is the same"
run 2 explore --schedule "$window:${rest%%:*}:00000000:$steps" branch.trk
said "another"

# Files: whole ones, and never over another.
cp copy-first.json before
run 2 explore --export copy-first.json copy-first.trk
said "File exists"
cmp -s before copy-first.json || fail "an output was overwritten"
run 1 explore -f --export copy-first.json copy-first.trk
cmp -s before copy-first.json || fail "the second export differs"
run 2 explore --export no/such/case.json copy-first.trk
[ ! -s out ] || fail "what cannot be exported is found out when all is done"
[ -e no ] && fail "a folder appeared"
ls ./*.part 2>/dev/null && fail "a part of a file is left"

# What cannot be meant; what is not there; what is not whole.
run 2 explore --from 20 --to 10 good.trk
run 2 explore --window 0 good.trk
run 2 explore --page 5 good.trk
run 2 explore --core-limit 5 good.trk
said "--core-limit goes with --core"
run 2 sim --core-limit 5 good.trk
said "--core-limit goes with --core"
run 2 explore absent.trk
run 0 explore --page 0x200010000 --pages 2 good.trk

# Where no threads meet nothing is judged, and that is no "ok".
for none in "--page 0x200400000" "--page 0x1234 --pages 3" "--from 0 --to 3"; do
    # shellcheck disable=SC2086
    run 3 explore $none good.trk
    grep -q "^orders: not complete" out || fail "$none: $(cat out)"
    grep -q "^nothing to judge" out || fail "$none: no word of why"
    # shellcheck disable=SC2086
    run 3 explore --json $none good.trk
    same "$none: nothing" "$(get nothing)" true
    same "$none: complete" "$(get complete)" false
done
run 3 explore good.trk 0-10
grep -q "^nothing to judge" out || fail "0-10: no word of why"
run 0 explore --json good.trk
same nothing "$(get nothing)" false
run 0 explore good.trk 5-60
run 2 explore good.trk frame:0
said "nothing in range: the trace has no frames"
run 2 explore good.trk 99999
said "nothing in range: the last event is [0-9]*$"
run 2 explore good.trk time:100s-
said "nothing in range: the last event is at [0-9.]* us"
run 3 explore good.trk 20
printf "4-8\n9-60\n" >list
run 0 explore good.trk 4-60
cp out plain
run 0 explore good.trk @list
cmp -s out plain || fail "a list in one piece is another range"
printf "4-8\n10-60\n" >list
run 2 explore good.trk @list
said "a gap behind event 8"
run 2 explore good.trk region:0x200000000
run 2 explore good.trk 10-20/2
head -c "$(($(wc -c <good.trk) - 8))" good.trk >cut.trk
run 3 explore --json cut.trk
same "cut: complete" "$(get complete)" false
head -c "$(($(wc -c <copy-first.trk) - 8))" copy-first.trk >cut.trk
run 1 explore cut.trk

# The demo: right with all orders; what is broken is shown by a window, too.
"$trk" demo --frames 1 >out 2>err
if [ $? -ne 4 ]; then
    for seed in 3 5 8; do
        run 0 record -f -o demo.trk -- "$trk" demo --frames 12 --seed "$seed"
        "$trk" explore --json --schedules 20000 demo.trk >out
        same "demo, seed $seed: findings" "$(get finding_count)" 0
        same "demo, seed $seed: unfaithful" "$(get unfaithful)" 0
        same "demo, seed $seed: left out" "$(get left_out)" 0
        at_least "demo, seed $seed: windows" "$(get distinct)" 10
        for engine in random pct; do
            "$trk" explore --json --engine "$engine" --seed "$seed" --schedules 20 demo.trk >out
            same "demo, seed $seed, $engine: findings" "$(get finding_count)" 0
        done
    done
    for bug in $("$trk" demo --list-bugs); do
        frames=16
        [ "$bug" != late-texture ] || frames=216
        run 0 record -f -o bug.trk -- "$trk" demo --frames "$frames" --bug "$bug"
        run 1 explore --json bug.trk
        same "$bug: verdict" "$(get findings.0.verdict)" "$(get recorded)"
        same "$bug: in the recorded order" "$(get findings.0.recorded)" true
        # The upload is there: what it lacks is its copy.
        [ "$bug" != copy-before-arm ] || get findings.0.missing | grep -q 'took must be copied' ||
            fail "$bug: missing: $(get findings.0.missing)"
    done
fi
finish
