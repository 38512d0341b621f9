# Goal: `trk regress` says of stored traces and scenarios what is expected, what fails and what has
# changed, and by which event; what cannot be read, is left out or is not the same twice has ends of
# its own. The stored corpus is as its manifest says.
# Method: the corpus, the example tracker's plug-in with and without a bug, a core with seeded faults,
# and damaged, wrong and missing files.
#   regress.sh TRK TOOLS CORPUS EXAMPLES MUTABLE_CORE BAD_CORES WRONG_CORES SCENARIOS
. "$(dirname "$0")/lib.sh"
record_all
corpus=$3
examples=$4
mutable=$5
bad=$6
wrong=$7/wrong_core
large=$8/own/an-invalidate-of-large-pages-reaches-its-end.json
docs=$3/../../docs

# All of the corpus, twice each; any number of processes gives the same bytes.
run 0 regress --json --repeat 2 "$corpus"
cp out one.json
same schema "$(get schema)" trk-regress/1
at_least "stored traces" "$(get pass)" 20
same "all of them" "$(get items.#)" "$(get pass)"
run 0 regress --json --repeat 2 -j 4 "$corpus"
cmp -s out one.json || fail "another report with -j 4"
bytes=$(cat "$corpus"/*.trk | wc -c)
[ "$bytes" -lt 8388608 ] || fail "the corpus has $bytes bytes"

# A trace of a tracker of one's own, and a bug in the tracker: the first event that changed.
mkdir own
run 0 record -o own/mine.trk -- "$examples/example_emulator" 6
run 0 regress own
run 0 regress --core "$examples/example_core.so" own
run 1 regress --core "$examples/example_core_bug2.so" own
grep -q '^fail  *divergence  *mine.trk$' out || fail "the table lacks the trace"
grep -q 'first changed event: [0-9]*, thread .*: ' out || fail "no first event"
grep -q 'again:  trk sim --core .*bug2.so own/mine.trk$' out || fail "no command to see it again"
# The command that a report gives again says the same again, byte for byte.
run 1 sim --core "$examples/example_core_bug2.so" --core-limit 60 own/mine.trk
cp out told
line=$(sed -n 's/^again:  *trk //p' out)
run 1 $line
cmp -s out told || fail "trk $line: not the same again"
# Whatever the path is, a shell takes it as that.
odd="own/it's \$a
line.trk"
mv own/mine.trk "$odd"
run 1 sim --core "$examples/example_core_bug2.so" --core-limit 60 "$odd"
sed -n 's/^again:  *trk/"$trk"/p' out >line
cp out told
trk=$trk bash -c '. ./line' >again 2>&1
cmp -s again told || fail "not the same again: $(cat line)"
sed -n 's/^around it:  *trk/"$trk"/p' told >line
trk=$trk bash -c '. ./line' >again 2>&1 || fail "$(cat line): $(cat again)"
run 1 regress --core "$examples/example_core_bug2.so" own
for what in again around; do
    sed -n "s/^ *$what:  *trk/\"\$trk\"/p" out >line
    trk=$trk bash -c '. ./line' >again 2>&1
    grep -q "No such" again && fail "$(cat line): $(cat again)"
    [ -s again ] || fail "$what: no line of a command"
done
mv "$odd" own/mine.trk
run 1 sim --json --core "$examples/example_core_bug2.so" own/mine.trk
cp out told
line=$(get again)
run 1 ${line#trk } --json
cmp -s out told || fail "$line --json: not the same again"
run 1 regress --core "$examples/example_core_bug2.so" --against "$examples/example_core.so" --json \
    --junit out.xml own
same changed "$(get changed)" 1
same "other verdict" "$(get items.0.other.verdict)" ok
first=$(get items.0.first_changed)
same "first changed event" "$first" "$(get items.0.event_at)"
run 0 dump own/mine.trk "$first"
grep -q '<testsuite name="trk regress" tests="1" failures="1" errors="0" skipped="0">' out.xml ||
    fail "JUnit: $(sed -n 2p out.xml)"
grep -q "first changed event: $first, thread" out.xml || fail "JUnit lacks the event"
run 2 regress --junit out.xml own
said "exists"

# A tracker that throws or breaks the interface is at fault, not the trace or the scenario: it fails
# or has changed, with what it did.
mkdir throws
cp own/mine.trk "$large" throws
large=$(basename "$large")
crashes() { # NUMBER WORDS
    run 1 regress --core "${wrong}_$1.so" throws
    for name in mine.trk "$large"; do
        grep -q "^fail  *crashed  *$name$" out || fail "wrong core $1, $name: $(cat out)"
        sed -n "/ $name$/,/again:/p" out | grep -q "^ *$2$" || fail "wrong core $1, $name, why: $(cat out)"
    done
    grep -q 'first changed event: [0-9]*, thread [a-z]' out || fail "wrong core $1: no event: $(cat out)"
}
crashes 2 'create gave no tracker, and no refusal'
crashes 3 'an operation gave the status "memory"'
crashes 4 'an exception left invalidate: .*'
crashes 9 'upload called done() twice'
crashes 37 'page() takes a lock: it is to look, and to call nobody'
run 0 regress --core "$examples/example_core.so" throws
run 1 regress --json --core "${wrong}_4.so" --against "$examples/example_core.so" --junit throws.xml throws
same "a core that throws: changed" "$(get changed)" 2
same "a core that throws: unreadable" "$(get unreadable)" 0
grep -q 'failures="2" errors="0"' throws.xml || fail "a core that throws, JUnit: $(sed -n 2p throws.xml)"
event=$(tr -d '\t\n' <out | sed 's/.*"name":"mine.trk".*"first_changed":\([0-9]*\).*/\1/')
run 0 dump own/mine.trk "$event"
grep -q "op_end  *op=invalidate" out || fail "a core that throws, at another event than an invalidate's end: $(cat out)"
run 1 regress --core "$examples/example_core.so" --against "${wrong}_4.so" throws
grep -q 'was crashed, is ok' out || fail "the other side throws: $(cat out)"
run 1 regress --json --core "${wrong}_4.so" throws
cp out throws.json
run 1 regress --core "${wrong}_4.so" --against throws.json throws
grep -q ' 0 changed, 0 unstable,' out || fail "a core that throws, and did: $(cat out)"
run 1 regress --core "$examples/example_core.so" --against throws.json throws
grep -q ' 2 changed, 0 unstable,' out || fail "a core that threw once: $(cat out)"

# Against an earlier run; of the same key it must be the same.
run 0 regress --json --core "$examples/example_core.so" own
cp out earlier.json
run 0 regress --core "$examples/example_core.so" --against earlier.json own
run 1 regress --core "$examples/example_core_bug2.so" --against earlier.json own
grep -q '^changed ' out || fail "a change since the earlier run is not told"
sed 's/"verdict":\t"ok"/"verdict":\t"watch-leak"/' earlier.json >lies.json
run 70 regress --core "$examples/example_core.so" --against lies.json own
grep -q '^unstable ' out || fail "another verdict of the same key is not told"
# How long a core may take is chance: one that was ended then has changed, and is not two things at once.
sed 's/"verdict":\t"ok"/"verdict":\t"crashed"/' earlier.json >late.json
run 1 regress --core "$examples/example_core.so" --against late.json own
grep -A 1 '^changed ' out | grep -q 'was crashed, is ok' || fail "ended in the earlier run: $(cat out)"
for turn in 1 2; do # ended at the first of two, and at the second
    rm -f sometimes
    [ "$turn" -eq 1 ] || : >sometimes
    run_with WRONG_CORE_SIGN=sometimes 1 regress --limit 1 --repeat 2 --core "${wrong}_44.so" own
    grep -A 1 '^fail  *crashed ' out | grep -q 'expected ok, is crashed' || fail "ended at $turn of 2: $(cat out)"
    grep -q ' took longer than 1 s' out || fail "ended at $turn of 2, why: $(cat out)"
    rm -f sometimes
    run_with WRONG_CORE_SIGN=sometimes 1 regress --json --limit 1 --core "${wrong}_44.so" own
    same "ended, in JSON" "$(get items.0.verdict) $(get items.0.ended)" "crashed true"
done
run 3 regress --against out.xml own
said "no earlier run"
run 2 regress --against absent.json own
said "absent.json"

# What a run cannot say of an item is no earlier run; what it says twice it says once.
one=$(tr -d '\t\n' <earlier.json)
damaged() { # SED WORDS
    printf '%s' "$one" | sed "$1" >damaged.json
    run 3 regress --core "$examples/example_core.so" --against damaged.json own
    said "damaged.json: no earlier run: $2"
}
damaged 's/"verdict":"ok"/"verdict":"nonsense"/' 'items\[0\].verdict has a value that cannot be'
damaged 's/"verdict":"ok"/"verdict":7/' 'items\[0\].verdict has a value that cannot be'
damaged 's/"verdict":"ok",//' 'items\[0\].verdict is missing'
damaged 's/"hash":"[0-9a-f]*"/"hash":"0"/' 'items\[0\].hash has a value that cannot be'
damaged 's/"hash":"[0-9a-f]*",//' 'items\[0\].hash is missing'
damaged 's/"items":\[/"items":[5,/' 'items\[0\] is no object'
for number in 1e30 -3 1.5 true '"7"'; do
    for key in event_at event_visible; do
        damaged "s/\"$key\":null/\"$key\":$number/" "items\[0\].$key has a value that cannot be"
    done
done
damaged 's/"event_at":null/"event_at":99999999/' 'items\[0\].event_at: the trace has no event 99999999'
damaged 's/"items":\[\(.*\)\]/"items":[\1,\1]/; s/"verdict":"ok"/"verdict":"watch-leak"/' \
    'items\[0\] and items\[1\] are of the same, and say two things'
damaged 's/"id":/"di":/' 'not JSON of schema'
printf '%s' "$one" | sed 's/"items":\[\(.*\)\]/"items":[\1,\1]/' >twice.json
run 0 regress --core "$examples/example_core.so" --against twice.json own

# A run that says nothing of any is no run to compare with; what one lacks is told.
run 2 regress --against earlier.json "$corpus"
said "the earlier run has no verdict of any of these"
mkdir more
cp own/mine.trk more
cp "$corpus/policy-strict.trk" more
run 0 regress --against earlier.json more
said "earlier.json: the earlier run has no verdict of 1 of them"
rm -r more

# What changes while it is run is no outcome of what it was.
cp "$mutable" moving.so
mkdir moving
cp "$corpus"/*.trk moving
cp "$corpus/manifest.json" moving
late=$(ls moving/*.trk | tail -1)
for moves in moving.so "$late"; do
    rm -f moved moves
    (while [ ! -e moved ]; do
        touch "$moves"
        : >moves
    done) &
    while [ ! -e moves ]; do
        sleep 0.01
    done
    want=4
    [ "$moves" = moving.so ] || want=3
    run $want regress --core ./moving.so moving
    : >moved
    wait
    if [ "$want" -eq 4 ]; then
        said "./moving.so has changed while it was tried"
    else
        grep -A 1 "^unreadable .*$(basename "$late")" out | grep -q "it has changed while it was run" ||
            fail "a trace that changes: $(tail -4 out)"
    fi
done

# What a core cannot be judged by is left out, and told.
run 1 regress --core "$examples/example_core.so" "$corpus"
grep -q '^left-out .*demo-seed-1.trk' out || fail "a trace that the plug-in cannot run is not left out"

mkdir middle
run 0 trim "$corpus/demo-seed-1.trk" 1000-2000 -o middle/part.trk
run 0 regress middle
run 3 regress --core "$examples/example_core.so" --junit middle.xml middle
grep -A 1 '^left-out .*part.trk' out | grep -q 'begins with a snapshot, which no plug-in can take' ||
    fail "a trace that no plug-in can take: $(cat out)"
grep -q 'failures="0" errors="0" skipped="1"' middle.xml || fail "JUnit of one: $(sed -n 2p middle.xml)"

# A side that cannot be judged has not changed; what the other one did is judged by what is expected.
mkdir kinds
cp "$corpus/demo-seed-1.trk" "$corpus/bug-alias-write.trk" kinds
run 1 regress --against "$examples/example_core.so" kinds
grep -A 1 '^left-out  *ok  *demo-seed-1.trk' out | grep -q 'nothing to judge the other side by: ' ||
    fail "a side that cannot be judged: $(cat out)"
grep -A 1 '^fail  *stale-gpu-read  *bug-alias-write.trk' out | grep -q 'expected ok, is stale-gpu-read' ||
    fail "what is not as expected, beside a side that cannot be judged: $(cat out)"
run 1 regress --json --against "$examples/example_core.so" kinds
same "first changed event, of the core that can be judged" \
    "$(get items.0.first_changed)" "$(get items.0.event_at)"
# What fails on both sides alike has not changed.
run 1 regress --against built-in --junit alike.xml kinds
grep -q "first changed" out alike.xml && fail "nothing has changed: $(cat out)"
grep -A 2 '^fail  *stale-gpu-read  *bug-alias-write.trk' out | grep -q '^ *broken at event: [0-9]*, thread' ||
    fail "where both broke: $(cat out)"
grep -q "broken at event: [0-9]*, thread" alike.xml || fail "JUnit lacks where both broke"
run 1 regress --json --against built-in kinds
same "first changed event, where none has" "$(get items.0.first_changed)" null
run 3 regress --core "$examples/example_core.so" --against built-in kinds
grep -A 1 '^left-out  *unknown  *demo-seed-1.trk' out | grep -q 'nothing to judge this core by: ' ||
    fail "a core that cannot be judged: $(cat out)"

# A fault in the core changes verdicts of the corpus.
TRK_MUTANT=1 run 1 regress --core "$mutable" "$corpus"
TRK_MUTANT=1 run 1 regress --core "$mutable" --against built-in --json -j 2 "$corpus"
at_least changed "$(get changed)" 10

# Budgets.
run 3 regress --events 100 "$corpus"
grep -q 'events, more than 100$' out || fail "traces that are too long are not told"
run 0 regress --budget 1000 own

# Manifests: what is expected, what the bytes are; scenarios say it themselves.
mkdir wrong
cp "$corpus/demo-seed-1.trk" "$corpus/manifest.json" wrong
cp "$corpus/demo-seed-2.trk" wrong/demo-seed-3.trk
head -c 100 "$corpus/demo-seed-1.trk" >wrong/bug-alias-write.trk
echo '{"schema":1}' >wrong/none.json
run 3 regress wrong
grep -q '^unreadable  *-  *demo-seed-3.trk' out || fail "other bytes than the manifest says"
grep -q '^unreadable  *-  *none.json' out || fail "what is no scenario"
grep -q '^unreadable  *-  *policy-strict.trk' out || fail "a trace that is not there"
grep -q '^pass  *ok  *demo-seed-1.trk' out || fail "the right one"
mkdir expects
cp "$corpus/bug-alias-write.trk" expects
run 1 regress expects
grep -q '^fail  *stale-gpu-read  *bug-alias-write.trk' out || fail "a trace without a manifest is to be ok"
echo 'no manifest' >expects/manifest.json
run 3 regress expects
said "manifest.json: no JSON from byte 0 on"
run 3 regress --json expects
same "no report, in JSON" "$(get schema) $(get error.status)" "trk-regress/1 damaged"
printf '{"schema":"trk-corpus/1","traces":[{"file":"../x.trk"}]}' >expects/manifest.json
run 3 regress expects
said "traces\[0\].hash"
# The manifest as it is described, and what is wrong in one by a key.
mkdir described
cp "$corpus/bug-alias-write.trk" described/first.trk
run 0 regress --json "$corpus"
hash=$(tr -d '\t\n' <out | sed 's/.*"name":"bug-alias-write.trk"[^}]*"hash":"\([0-9a-f]*\)".*/\1/')
sed -n '/^## Stored traces/,/^## Ranges/p' "$docs/cli.md" | sed -n '/^```json/,/^```$/p' | sed '/^```/d' |
    sed "s/HASH/$hash/; s/\"bytes\": 0/\"bytes\": $(wc -c <described/first.trk)/" >described/right.txt
cp described/right.txt described/manifest.json
run 1 regress described
grep -q '^fail  *stale-gpu-read  *first.trk' out || fail "the described manifest: $(cat out)"
change() { # SED EXIT WORDS
    sed "$1" described/right.txt >described/manifest.json
    run "$2" regress described
    cat out err >told
    grep -q -- "$3" told || fail "$1: $(cat told)"
}
change 's/"expected": "ok"/"expected": "stale-gpu-read"/' 0 "^pass"
for key in file hash bytes command origin licence policy expected; do
    change "s/\"$key\": /\"other\": /" 3 "described: manifest.json: traces\[0\].$key is no "
done
change 's/"expected": "ok"/"expected": "nonsense"/' 3 "traces\[0\].expected is no verdict: 'nonsense'"
change 's/"expected": "ok"/"expected": ""/' 3 "traces\[0\].expected is no verdict"
change 's/"bytes": [0-9]*/"bytes": 5/' 3 "^unreadable"
for bytes in 1.5 -1 1e30 '"7"'; do
    change "s/\"bytes\": [0-9]*/\"bytes\": $bytes/" 3 "traces\[0\].bytes is no size"
done
change 's,"first.trk","./first.trk",' 3 "traces\[0\].file is no plain path"
change 's,"first.trk","a//first.trk",' 3 "traces\[0\].file is no plain path"
change 's,"first.trk","../first.trk",' 3 "traces\[0\].file is no plain path"
change '$s/$/ trailing/' 3 "no JSON from byte [0-9]* on"
change '$d' 3 "no JSON from byte [0-9]* on"
# Each folder's manifest counts for what is below it; one above says more.
mkdir -p nested/below/more
cp "$corpus"/*.trk "$corpus/manifest.json" nested/below/more
run 0 regress --json nested
same "by the manifest below" "$(get pass)" "$(get items.#)"
cp "$corpus/demo-seed-2.trk" nested/below/more/demo-seed-1.trk
rm nested/below/more/foreign.trk
run 3 regress nested
grep -q '^unreadable .*below/more/demo-seed-1.trk' out || fail "other bytes than the manifest below says"
grep -q '^unreadable .*below/more/foreign.trk' out || fail "what the manifest below has, and nobody else"
cp "$corpus/demo-seed-1.trk" "$corpus/foreign.trk" nested/below/more
sed "s,first.trk,below/more/bug-alias-write.trk,; s/\"expected\": \"ok\"/\"expected\": \"unknown\"/" described/right.txt >nested/manifest.json
run 1 regress nested
grep -A 1 '^fail .*below/more/bug-alias-write.trk' out | grep -q 'expected unknown, is stale-gpu-read' ||
    fail "the manifest above says nothing: $(grep -A 1 alias out)"
# The bytes, too: what the one above says is all that counts, right or wrong.
cp described/right.txt one.txt
sed "s,first.trk,more/bug-alias-write.trk,; s/$hash/00000000000000000000000000000000/" one.txt >nested/below/manifest.json
sed "s,first.trk,below/more/bug-alias-write.trk,; s/\"expected\": \"ok\"/\"expected\": \"stale-gpu-read\"/" one.txt >nested/manifest.json
run 0 regress nested
sed "s,first.trk,more/bug-alias-write.trk,; s/\"bytes\": /&1/" one.txt >nested/below/manifest.json
run 0 regress nested
cp nested/manifest.json kept.json
sed "s/$hash/00000000000000000000000000000000/" kept.json >nested/manifest.json
sed "s,first.trk,more/bug-alias-write.trk," one.txt >nested/below/manifest.json
run 3 regress nested
grep -A 1 '^unreadable .*below/more/bug-alias-write.trk' out | grep -q 'the manifest says 0000' ||
    fail "other bytes than the manifest above says: $(cat out)"
cp kept.json nested/manifest.json
# Another program's manifest.json, below what was named, is that; one of a later version is not.
for other in '{"name":"mine","version":"1"}' '[]' '{"schema":"other/1","traces":[]}' '{"schema":5}'; do
    printf '%s' "$other" >nested/below/manifest.json
    run 0 regress nested
    said "nested/below/manifest.json: another program's; passed over"
    cp nested/below/manifest.json nested/manifest.json
    run 3 regress nested
    said "nested: manifest.json: no object of schema trk-corpus/1"
    cp kept.json nested/manifest.json
done
printf '{"schema":"trk-corpus/2","traces":[]}' >nested/below/manifest.json
run 3 regress nested
said "nested/below: manifest.json: no object of schema trk-corpus/1"
rm nested/below/manifest.json
mkfifo nested/below/manifest.json
run 3 regress nested
said "nested/below: manifest.json: it is no regular file"
rm nested/below/manifest.json
# None is run twice.
ln -s nested/below alias
for twice in "nested nested" "nested nested/below" "nested/below/. nested" "alias nested"; do
    run 2 regress $twice
    said "each is run once"
done
run 0 regress own nested
echo broken >nested/below/manifest.json
run 3 regress nested
said "nested/below: manifest.json: no JSON"
# What cannot be reached is unreadable, not passed over; a file is no folder.
mkdir links
cp "$corpus/demo-seed-1.trk" links
ln -s nowhere links/link.trk
mkfifo links/pipe.trk
run 3 regress links
grep -q '^unreadable .*link.trk' out || fail "a link to nowhere: $(cat out)"
grep -q '^unreadable .*pipe.trk' out || fail "a pipe: $(cat out)"
run 2 regress described/first.trk
said "described/first.trk: no folder"

# The recipe for a project of one's own: its tests hold with the right tracker, and fail with a broken one.
run 0 regress --init --core "$examples/example_core.so" own
same "files of the recipe" "$(cat out)" "$(printf 'trk-regress.cmake\n.github/workflows/trk-regress.yml')"
run 2 regress --init own
said "exists"
run 2 regress --init --json own
grep -q "ctest --test-dir build" .github/workflows/trk-regress.yml || fail "the job runs no tests"
printf 'cmake_minimum_required(VERSION 3.25)\nproject(mine NONE)\nenable_testing()\ninclude(trk-regress.cmake)\n' \
    >CMakeLists.txt
cmake -S . -B build -DTRK_PROGRAM="$trk" >cmake.log 2>&1 || fail "the recipe: $(tail -3 cmake.log)"
for turn in 1 2; do
    ctest --test-dir build >ctest.log 2>&1 || fail "the recipe's test, turn $turn: $(tail -5 ctest.log)"
done
[ -s build/trk-regress.xml ] || fail "the recipe writes no report"
cmake -S . -B build -DTRK_CORE="$examples/example_core_bug2.so" >cmake.log 2>&1
ctest --test-dir build >ctest.log 2>&1 && fail "the recipe's test holds with a broken tracker"

mkdir empty
run 2 regress empty
said "no traces"
run 2 regress absent
run 4 regress --core ./absent.so own
# A plug-in that ends while it is loaded, or does not end to: nothing is run, and none waits for it.
run 4 regress --core "$bad/bad_core_5.so" own
said "crashed while it was loaded: SIGABRT"
before=$(date +%s)
run 4 regress --core "$bad/bad_core_13.so" --limit 1 own
said "took longer than 1 s to be loaded"
run 4 regress --against "$bad/bad_core_13.so" --limit 1 own
[ $(($(date +%s) - before)) -lt 20 ] || fail "--limit does not hold for the loading"
run 2 regress --seed 3 own
run 2 regress --make again own expects
run 2 regress --make again own
said "no manifest.json"
finish
