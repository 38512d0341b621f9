# Goal: a disk that fills, a folder that cannot be written, forks and threads that end without a word
# neither change what the recorded program says and how it ends, nor lose an event uncounted.
# Method: real file systems of 64 KiB in a mount namespace of the test's own; a program that forks.
. "$(dirname "$0")/lib.sh"

# A child that forks away is silent; 200 threads share the rings that their predecessors left.
run 9 record --block 20000 --json -o x.trk -- "$tools/trace_tool" fork 100
same "output of the command" "$(head -1 out)" forked
sed 1d out >json
same "events" "$("$tools/json_get" json events)" 20100
same "dropped" "$("$tools/json_get" json dropped)" 0
same "complete" "$("$tools/json_get" json complete)" true
run 0 info --json x.trk
same "events of info" "$(get events)" 20100

# Threads that come faster than the rings of their predecessors are emptied: counted, or waited for.
printf 'threads 300\n' >script
run 0 record --json -f -o x.trk -- "$tools/trace_tool" obey script
same "all of many threads" $(($(get events) + $(get dropped))) 30000
for guard in "" --guard; do
    run 0 record $guard --block 20000 --json -f -o x.trk -- "$tools/trace_tool" obey script
    same "events of threads that wait $guard" "$(get events)" 30000
    same "dropped of threads that wait $guard" "$(get dropped)" 0
    same "threads $guard" "$(get threads)" 300
done

# A guard that is not needed leaves nothing; one that is killed with the parent leaves the parent's file.
run 9 record --guard --block 20000 -f -o g.trk -- "$tools/trace_tool" fork 10
run 0 info --json g.trk
same "events with a guard" "$(get events)" 2010
[ "$(ls g.trk*)" = g.trk ] || fail "the guard left a file"
run 2 record --guard -o - -- true
run 2 record --guard --flight 1M -o h.trk -- true
printf 'marks 1000\ntouch guarded\nawait on\nmarks 1000\nexit 3\n' >script
"$trk" record --guard -f -o g.trk -- "$tools/trace_tool" obey script 2>err &
recorder=$!
while [ ! -e guarded ]; do sleep 0.02; done
kill -KILL "$recorder"
wait "$recorder" 2>err
: >on
# Until the guard is through, the file is what the parent left: it may not even have emptied it yet.
tries=0
while [ "$tries" -lt 200 ]; do
    "$trk" info --json g.trk >out 2>err
    [ "$(get complete)" = true ] && [ "$(get events)" != 2010 ] && break
    tries=$((tries + 1))
    sleep 0.1
done
same "events that the guard wrote" "$(get events)" 2000
same "complete" "$(get complete)" true

# The rest needs file systems of its own.
if ! unshare -rm true 2>/dev/null; then
    [ "$failures" -eq 0 ] || finish
    echo "skipped: no mount namespace for a full and a read-only file system"
    exit 77
fi

mkdir disk
cat >full.sh <<'SCRIPT'
mount -t tmpfs -o size=64k none disk || exit 77
"$1" record --json --block 20000 -o disk/x.trk -- sh -c "echo said; \"$2/trace_tool\" marks 1000000; exit 7" >out 2>err
echo $? >code
cp disk/x.trk full.trk
"$1" info --json disk/x.trk >info 2>/dev/null
echo $? >info_code
"$1" recover disk/x.trk -o whole.trk >/dev/null 2>recover_err
echo $? >recover_code
SCRIPT
unshare -rm sh full.sh "$trk" "$tools"
if [ $? -ne 77 ]; then
    same "exit code" "$(cat code)" 7
    same "output" "$(head -1 out)" said
    said "No space left"
    said "NOT COMPLETE"
    sed 1d out >json
    events=$("$tools/json_get" json events)
    dropped=$("$tools/json_get" json dropped)
    at_least "events in the file" "$events" 8192
    at_least "dropped" "$dropped" 1
    same "all events" $((events + dropped)) 1000000
    same "info" "$(cat info_code)" 3
    same "events of info" "$("$tools/json_get" info events)" "$events"
    run 3 info --json whole.trk
    same "events of the repaired file" "$(get events)" "$events"
fi

cat >closed.sh <<'SCRIPT'
mount -t tmpfs -o size=64k none disk && mount -o remount,ro disk || exit 77
"$1" record -o disk/x.trk -- touch ran >out 2>err
echo $? >code
SCRIPT
unshare -rm sh closed.sh "$trk"
if [ $? -ne 77 ]; then
    same "exit code on a read-only disk" "$(cat code)" 4
    said "Read-only file system"
    [ ! -e ran ] || fail "the command ran though nothing could be written"
fi
finish
