#!/bin/sh
# Goal: docs/integrate.md's commands do what its text says of them.
# Method: each line of its shell blocks is run as it stands there, with the example where the text has an
# emulator; the code of its plug-in is built by the text's own line, and run by each of its commands.
#   integrate.sh TRK TOOLS SOURCE EXAMPLES
. "$(dirname "$0")/lib.sh"
record_all
source=$3
examples=$4
text=$source/docs/integrate.md
command -v c++ >/dev/null || {
    echo "skipped: no c++"
    exit 77
}

# The lines that start trk, and no other program by this test: what is built otherwise is tests/package's.
mkdir bin
ln -s "$trk" bin/trk
PATH=$dir/bin:$PATH
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$text" >lines
grep -vE '^(trk|c\+\+) ' lines && fail "a command that no test knows"
grep -c '^trk ' lines >count
at_least "commands" "$(cat count)" 7
printf '#!/bin/sh\nexec "%s" 101\n' "$examples/example_emulator" >emulator
chmod +x emulator
for name in example_emulator example_core_bug1.so example_core_bug2.so example_core_bug3.so; do
    cp "$examples/$name" .
done
while read -r line; do
    case $line in
    "trk record "*) rm -f run.trk && want=0 ;;
    "trk explore --core ./example_core_bug"*) want=1 ;; # it is found
    trk*) want=0 ;;
    *) continue ;;
    esac
    sh -c "$line" </dev/null >out 2>err
    same "$line" $? $want
    [ -s out ] || fail "$line: no output"
done <lines
grep -q "^verdict: " out || fail "no finding of the last command"

# The plug-in of the text.
awk '/^## / { here = $0 == "## Running it under the simulator" }
     /^```cpp$/ { inside = here; next } /^```/ { inside = 0 } inside' "$text" >core.cpp
build=$(sed -n 's/.*`\(c++ -std=c++17 -shared -fPIC core.cpp -o mine.so\)`.*/\1/p' "$text")
[ -n "$build" ] || fail "the text has no line that builds a plug-in"
$build -I"$source/simulator/include" -I"$source/libtrack/include" || fail "the plug-in cannot be built"
for command in "trk core-check mine.so" "trk sim --core mine.so case.json" "trk sim --core mine.so trace.trk" \
    "trk explore --core mine.so trace.trk"; do
    grep -qF "\`$command\`" "$text" || fail "the text has no '$command'"
done
mv run.trk trace.trk
run 1 core-check --json mine.so
at_least "cases that hold" "$(get holds)" 30
at_least "cases of what it does not do" "$(get departs)" 1
same "crashes" "$(get crashes)" 0
same "undecided" "$(get undecided)" 0
cat >case.json <<CASE
{"scenario": 1, "name": "case", "memory": {"A": {"at": "0x200010000", "size": "2P"}},
 "threads": {"guest": ["store A 8 1"], "render": ["upload A 2P => [A 2P]"]}, "schedule": "explore"}
CASE
run 1 sim --core mine.so case.json # it joins no pages into runs
grep -q "what happened:" out || fail "no story"
line=$(sed -n 's/^  again.*--schedule \(trk1:[^ ]*\)$/\1/p' out)
run 1 sim --core mine.so --schedule "$line" case.json
run 3 sim --core mine.so trace.trk
grep -q "^core  *unknown  *0 judged, .*: the plug-in lacks" out || fail "not said that nothing was compared"
run 1 explore --core mine.so --schedules 10 trace.trk # it knows no pages of the GPU's
grep -q "^verdict: stale-cpu-read (the recorded order, too)" out || fail "nothing is found of pages that are the GPU's"
finish
