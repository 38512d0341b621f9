# Goal: trk bisect names the event, the decision or the swap that broke it, in as few probes as halving
# takes; what cannot be tested, flaps or makes no sense is said.
# Method: traces of the demo's bugs by every way, each held against what trk sim says; commands whose
# answer is known; two scenario files with passing and failing orders.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

mkdir temporary
TMPDIR=$dir/temporary
export TMPDIR

run 0 record -f -o bad.trk -- "$trk" demo --frames 8 --threads 1 --bug kernel-store
run 1 sim --json bad.trk
cp out sim.txt
broken=$(get event_at sim.txt)
addr=$(get guest_addr sim.txt)

# One pass of the oracle.
run 1 bisect --json bad.trk
same schema "$(get schema)" trk-bisect/1
same "event" "$(get event_at)" "$broken"
same "verdict" "$(get verdict)" stale-gpu-read
same "missing" "$(get missing)" "$(get missing sim.txt)"
same "probes" "$(get probes)" 1
same "one order only: no return" "$(get no_return.step)" 0
run 1 bisect bad.trk
grep -q "^no return:  every order of the case fails" out || fail "no return: $(tail -3 out)"
run 0 record -f -o good.trk -- "$trk" demo --frames 6
run 0 bisect good.trk
run 2 bisect absent.trk
head -c 200 bad.trk >cut.trk
"$trk" bisect cut.trk >out 2>err
[ $? -eq 3 ] || fail "a cut trace: $(cat out err)"

# By a command: what sim finds is found by halving alone, to the event that shows it. A part that ends before that
# breaks no rule: the program may tell of its store behind it.
events=$(get events sim.txt)
run 0 info --json bad.trk
all=$(get events)
run 1 bisect run bad.trk --json -- "$trk" sim --oracle-only
same "run: event" "$(get event)" "$(get event_visible sim.txt)"
at_most "run: probes" "$(get probes)" "$(log2 $((all + 1)))"
{
    text_begin '{}' "0 render"
    cat <<'END'
events stream=0 shift=5 flags=1
1000000 foreign seq=4096
1000032 map context=3 seq=1048576 argument=0x200000000
1000064 op_begin context=7 seq=4096 argument=0x200000000
1000080 handed seq=4096 argument=0x200000000
1000096 copy_begin seq=4096 argument=0x200000000
1000128 copy_end seq=4096 argument=0x200000000
1000160 op_end context=7 argument=1
1000192 witness_store flags=3 domain=2 seq=64 argument=0x200000000
1000224 frame
end status=0 cut=0
END
} >latent.txt
run 0 assemble latent.txt -o latent.trk
run 1 sim latent.trk
run 1 bisect run latent.trk --json -- sh -c '"$1" sim "$2"; [ $? -ne 1 ]' - "$trk" '{}'
same "run: what shows at the end alone" "$(get event)" 8
for place in 0 777 $((all - 1)); do
    printf '#!/bin/sh\n"%s" info --json "$1" >info.txt\n[ "$("%s" info.txt events)" -le %s ]\n' \
        "$trk" "$tools/json_get" "$place" >ask
    chmod +x ask
    run 1 bisect run bad.trk --json -- ./ask '{}'
    same "run: the only bad event" "$(get event)" "$place"
    at_most "run, $place: probes" "$(get probes)" "$(log2 $((all + 1)))"
done
run 0 bisect run bad.trk -- true
grep -q "good to the end" out || fail "all good: $(cat out)"
run 3 bisect run bad.trk --json -- sh -c 'exit 125'
same "nothing can be tested: found" "$(get found)" false
same "nothing can be tested: probes" "$(get probes)" 256
get why | grep -q "too many in a row cannot be tested" || fail "nothing can be tested: $(get why)"
run 4 bisect run bad.trk -- ./absent
run 2 bisect run bad.trk
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"

# A symptom: the store that nobody told of is where the copies get out of step.
run 1 bisect bad.trk --json --symptom "frame:6,range:$addr+64"
same "symptom: event" "$(get event)" "$broken"
same "symptom: side" "$(get side)" gpu
run 0 bisect good.trk --symptom "frame:3,range:$addr+64"
run 2 bisect bad.trk --symptom "frame:3"
run 2 bisect bad.trk --symptom "frame:99,range:$addr+64"
said "no frame 99: the last one is 7"

# git's codes.
run 1 bisect --git bad.trk
run 0 bisect --git good.trk
cp bad.trk ./-h
run 1 bisect --git -- -h
run 125 bisect --git absent.trk
run 125 bisect --git cut.trk
run 0 bisect --git record -- "$trk" demo --megabytes 2 --frames 2
run 1 bisect --git record -- "$trk" demo --frames 8 --bug kernel-store
run 125 bisect --git
run 125 bisect --git -
said "-: can be read once; name a file"
run 125 bisect --git --help
run 0 bisect --help
# What is asked the wrong way is no answer: git would blame its first revision for it.
for wrong in "bad.trk --core-limit 5" "bad.trk --repeat 3" "bad.trk -o x" "bad.trk --good x.so" "bad.trk --corre x.so" \
    "bad.trk --core" "bad.trk good.trk" "run bad.trk true" "live true" "bad.trk --symptom x" "bad.trk --json"; do
    # shellcheck disable=SC2086 # a list of words
    run 125 bisect --git $wrong
done
# However git is meant, and also where what means it is wrong itself: a value, a letter, its place.
for wrong in "--git=1 bad.trk" "--git= bad.trk" "--gti bad.trk" "-git bad.trk" "bad.trk --core --git" \
    "bad.trk --symptom --git"; do
    # shellcheck disable=SC2086
    run 125 bisect $wrong
done
run 125 bisekt --git bad.trk
for setting in TRK_GIT=1 TRK_GIT=zz TRK_GIT=2 TRK_BISECT_GIT=1; do
    run_with "$setting" 125 bisect bad.trk --nonsense
    run_with "$setting" 125 bisect
    run_with "$setting" 125 bisekt bad.trk
done
run_with TRK_GIT=zz 125 bisect bad.trk
run_with TRK_GIT=1 1 bisect bad.trk
for line in 'git = 1' 'git = zz' 'git =' 'git'; do
    for rest in '' 'nonsense = 1' 'nonsense'; do
        printf '[bisect]\n%s\n%s\n' "$rest" "$line" >meant
        run_with TRK_CONFIG=meant 125 bisect bad.trk --nonsense
        run_with TRK_CONFIG=meant 125 bisekt bad.trk
    done
done
# Or what cannot be read beside it: no text, more than is read, a line of a section that is none.
printf '[bisect]\ngit = 1\n\0\n' >zero
{
    printf '[bisect]\ngit = 1\n'
    printf '#%070000d\n' 0
} >large
printf '[demo]\n[bisect\ngit = 1\n' >section
for settings in zero large section; do
    run_with TRK_CONFIG=$settings 125 bisect bad.trk
    sed 's/^git = 1/git = 0/' $settings >meant
    run_with TRK_CONFIG=meant 2 bisect bad.trk
done
printf 'nonsense\n' >broken
for settings in broken absent .; do
    run_with "TRK_CONFIG=$settings" 125 bisect --git bad.trk
    TRK_GIT=1
    export TRK_GIT
    run_with "TRK_CONFIG=$settings" 125 bisect bad.trk
    unset TRK_GIT
done
# And where it is not meant, the usual codes.
run 2 bisect bad.trk --corre x.so
run 2 bisect good.trk --core x.so
run 2 bisect bad.trk --nonsense -- --git
run 2 bisekt bad.trk
run_with TRK_GIT=0 2 bisect bad.trk --nonsense
printf '[bisect]\ngit = 0\n[demo]\nframes = 1\n' >meant
run_with TRK_CONFIG=meant 2 bisect bad.trk --nonsense
printf '[bisect]\ngit = 1\n' >meant
TRK_GIT=0
export TRK_GIT
run_with TRK_CONFIG=meant 2 bisect bad.trk --nonsense
unset TRK_GIT
run_with TRK_CONFIG=broken 2 bisect bad.trk
run_with TRK_GIT=1 2 simm bad.trk

# A named pipe can be read once, and nobody may ever write to it: it is refused, not waited for.
mkfifo fifo fifo.json
for form in "fifo" "fifo.json" "fifo --json" "run fifo -- true" "hashes fifo" "fifo --symptom frame:6,range:$addr+64" \
    "bad.trk --symptom fifo" \
    "fifo --good x.so --bad y.so" "fifo.json --good x.so --bad y.so"; do
    # shellcheck disable=SC2086
    timeout 60 "$trk" bisect $form >out 2>err
    same "$form: exit code" $? 2
    said "fifo.* is a named pipe, which can be read once"
done
timeout 60 "$trk" bisect fifo --json >out 2>err
get error.text | grep -q "is a named pipe" || fail "a named pipe: $(cat out)"
timeout 60 "$trk" bisect --git fifo >out 2>err
same "--git fifo: exit code" $? 125
said "fifo: is a named pipe"
# Pipes without a name have somebody who writes, and are kept.
"$trk" bisect - <bad.trk >out 2>err
same "standard input: exit code" $? 1
# shellcheck disable=SC2002
cat bad.trk | "$trk" bisect /dev/stdin >out 2>err
same "a pipe of the shell's: exit code" $? 1
grep -q "verdict" out || fail "a pipe of the shell's: $(cat out)"

unset TRK_RECORD_BLOCK # trk bisect live waits for room of itself
# The running program: the decision about the page that sim names, in at most log2(n) + 2 runs.
for name in kernel-store lost-rearm; do
    run 1 bisect live -f --json -o live.trk -- "$trk" demo --megabytes 2 --frames 8 --threads 1 --bug "$name" --check
    cp out live.txt
    same "live, $name: found" "$(get found live.txt)" true
    at_most "live, $name: runs" "$(get runs live.txt)" $(($(log2 "$(get decisions live.txt)") + 2))
    run 1 sim --json live.trk
    same "live, $name: page" "$(get page live.txt)" \
        "$(printf '0x%x' $(($(get guest_addr) & ~4095)))"
    same "live, $name: event" "$(get event_at live.txt)" "$(get event_at)"
    run 0 dump live.trk "$(get event live.txt)"
    grep -q "decision .*$(get page live.txt).*skip" out || fail "live, $name: $(cat out)"
done
run 0 bisect live -f -o x.trk -- "$trk" demo --megabytes 2 --frames 2 --check
[ -e x.trk ] && fail "a trace is kept though nothing is found"
# Two threads do not do the same twice: a search may see that and say so, and is made again then.
for try in 1 2 3; do
    "$trk" bisect live --json -f -o x.trk --answer sim -- "$trk" demo --megabytes 2 --frames 8 --threads 2 \
        --bug kernel-store >out 2>err
    code=$?
    [ "$code" -eq 3 ] && [ -n "$(get why)" ] || break
    echo "two threads, search $try: $(get why)"
done
same "live, two threads: exit code" "$code" 1
run 4 bisect live --json -f -o x.trk -- "$trk" demo --frames 6 --bug nothing-of-this-name
said "nothing was recorded"
# A run that left no recording is not judged by that of the run before, and its exit code is no answer: the
# second run is the last that there is a program for.
cat >program <<EOF
#!/bin/sh
[ "\$TRK_TRUST_LIMIT" = 0 ] && rm -f fleeting
exec "$trk" demo --megabytes 2 --frames 8 --threads 1 --bug kernel-store --check
EOF
chmod +x program
for answer in exit sim; do
    cp program fleeting
    run 4 bisect live --json -f -o x.trk --answer $answer -- ./fleeting
    said "nothing was recorded"
    same "a run that failed, $answer: runs" "$(grep -c '^run ' err)" 3
done
# Nor by what a recording that was killed says of the command.
printf '#!/bin/sh\n"%s" demo --frames 2 --megabytes 2\nkill -9 $PPID\n' "$trk" >killer
chmod +x killer
run 4 bisect live --json -f -o x.trk -- ./killer
said "the recording was ended by signal 9"
printf '#!/bin/sh\nn=$(cat count)\necho $((n + 1)) >count\n[ $((n %% 2)) -eq 0 ]\n' >flap
chmod +x flap
echo 1 >count
run 3 bisect live --json -f -o x.trk --repeat 2 --judge ./flap -- "$trk" demo --megabytes 2 --frames 2
same "it flaps" "$(get flaps)" true
get why | grep -q "^a probe flaps" || fail "it flaps: $(get why)"
# A limit that is bad once and then not to be tested is not bad: the recording is of the run that trusts all.
cat >once <<EOF
#!/bin/sh
"$trk" demo --megabytes 2 --frames 2 --threads 1
case \$TRK_TRUST_LIMIT in
18446744073709551615) exit 1 ;;
0) exit 0 ;;
esac
[ -e half ] || echo "\$TRK_TRUST_LIMIT" >half
[ "\$(cat half)" = "\$TRK_TRUST_LIMIT" ] || exit 0
[ ! -e asked ] || exit 125
: >asked
exit 1
EOF
chmod +x once
run 1 bisect live --json -f -o x.trk --repeat 2 -- ./once
[ -e asked ] || fail "bad, then not to be tested: it was not asked"
run 0 info --json x.trk
same "bad, then not to be tested: the trace's run" "$(get header.environment.TRK_TRUST_LIMIT)" 18446744073709551615
# Nor is a decision blamed that the bad run did not trust.
printf '#!/bin/sh\nTRK_TRUST_LIMIT=0 "%s" demo --frames 2 --megabytes 2\n[ "$TRK_TRUST_LIMIT" = 0 ]\n' "$trk" >own
chmod +x own
run 3 bisect live --json -f -o x.trk -- ./own
same "a limit of its own: why" "$(get why)" "the last run that was bad did not trust that decision"
printf 'bad\nbad\n' >answers
"$trk" bisect live -f -o x.trk --answer ask -- "$trk" demo --megabytes 2 --frames 2 <answers >out 2>err
[ $? -eq 3 ] || fail "bad without any trust: $(cat out)"
grep -q "though no decision is trusted" out || fail "bad without any trust: $(cat out)"
# What cannot be tested is neither good nor bad, whatever says so.
for code in 125 3; do
    run 3 bisect live --json -f -o x.trk --judge "exit $code" -- "$trk" demo --megabytes 2 --frames 2
    same "nothing can be tested: found" "$(get found)" false
    same "nothing can be tested: why" "$(get why)" "the run that trusts every decision cannot be tested"
done
# The decisions are those of the first run: of one that lost events they are not known. A small ring that
# waits for room loses none, so they are found as above.
TRK_RECORD_RING=4096
export TRK_RECORD_RING
run_with TRK_RECORD_BLOCK=0 3 bisect live --json -f -o x.trk -- \
    "$trk" demo --megabytes 2 --frames 8 --threads 1 --bug lost-rearm --check
same "lost decisions: found" "$(get found)" false
get why | grep -q "lacks events, so its decisions are not known" || fail "lost decisions: $(get why)"
printf '[record]\nblock = 0\n' >drops
run_with TRK_CONFIG=drops 3 bisect live --json -f -o x.trk --answer sim -- \
    "$trk" demo --megabytes 2 --frames 8 --threads 1
same "sim of lost events: why" "$(get why)" "the run that trusts every decision cannot be tested: its recording\
 lacks events (TRK_RECORD_RING gives it more room)"
run 1 bisect live --json -f -o x.trk -- \
    "$trk" demo --megabytes 2 --frames 8 --threads 1 --bug lost-rearm --check
same "a small ring: found" "$(get found)" true
run 0 info --json x.trk
same "a small ring: lost" "$(get dropped)" 0
unset TRK_RECORD_RING
# Behind a decision of its frame that was lost another one has its number; behind one of the end none has.
cat >judge <<EOF
"$trk" sim "\$1" >/dev/null && exit 0
[ -e first ] || { : >first; exit 1; }
"$tools/trace_tool" doubt "\$WHERE" "\$1" doubtful.trk && mv doubtful.trk "\$1"
exit 1
EOF
for where in frames:3:false end:1:true; do
    rm -f first
    code=${where#*:}
    run_with "WHERE=${where%%:*}" "${code%:*}" bisect live --json -f -o x.trk --judge ". ./judge" -- \
        "$trk" demo --megabytes 2 --frames 8 --threads 1 --bug kernel-store
    same "lost at ${where%%:*}: found" "$(get found)" "${code#*:}"
    [ "${code%:*}" -eq 1 ] || get why | grep -q "which one it is is not certain" || fail "lost: $(get why)"
done
run 2 bisect live -- true
said "-o is missing"
run 2 bisect live -o x.trk
for path in - /dev/stdout out; do
    run 2 bisect live -f -o "$path" -- true
    said "the report goes there"
done
run 2 bisect live -f -o x.trk --answer ask --judge true -- true
said "answer does not go with --judge"
run 4 bisect live -f -o x.trk -- true
run 2 bisect bad.trk --answer sim
run_with TRK_TRUST_LIMIT=5:6 0 demo --frames 2
quiet
TRK_TRUST_LIMIT=5:6 "$trk" record -f -o x.trk -- "$trk" demo --frames 2 >out 2>err
said "TRK_TRUST_LIMIT: '5:6' is neither a number nor FRAME:PAGE:ORDINAL"

# Orders.
cat >order.json <<'CASE'
{"scenario": 1, "name": "order",
 "memory": {"N": {"at": "0x200010000", "size": "4P", "mapped": false, "gpu": false}},
 "init": ["map N"],
 "threads": {"mapper": ["there: unmap N 4P => ok", "map N => ok"],
             "guest": {"kind": "guest", "run": ["load N 8"]}},
 "schedule": "explore", "expect": {"verdict": "ok"}}
CASE
run 1 sim --json order.json
fails=$(get schedule)
passes=$(get passing.schedule)
run 1 bisect --json order.json --schedule "$passes" "$fails"
same "order: steps" "$(get no_return.steps)" 4
same "order: no return" "$(get no_return.step)" 4
same "order: whose" "$(get no_return.at.thread)" guest
same "order: whole" "$(get no_return.whole)" true
at_most "order: probes" "$(get swap.probes)" 4
fails=$(get swap.fails)
run 0 sim order.json --schedule "$(get swap.passes)"
run 1 sim order.json --schedule "$fails"
run 1 bisect order.json
grep -q "^no return:  step 4 of 4, guest: load N 8" out || fail "order: $(cat out)"
run 2 bisect order.json --schedule "$fails" "$fails"
run 2 bisect order.json --schedule "$passes"
run 2 bisect order.json --schedule "$passes" trk1:0:0:aa
run 2 bisect bad.trk --schedule a b
finish
