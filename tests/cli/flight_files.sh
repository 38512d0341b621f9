# Goal: the files of a flight recording. What cannot be written is refused before the command runs; no
# recording writes over another one's file while that runs; --fsync is obeyed; a pipe gets all dumps; and a
# recorder that is killed in a dump leaves nothing half written.
# Method: recordings side by side, each held by a program that waits for a file; a libc that fails, or never
# comes back from, fsync.
. "$(dirname "$0")/lib.sh"
obey="$tools/trace_tool obey"

# soon COMMAND...: it succeeds before long.
soon() {
    tries=0
    until "$@" || [ "$tries" -ge 1500 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    [ "$tries" -lt 1500 ] || fail "in vain: $*"
}

# events_of FILE
events_of() {
    "$trk" info --json "$1" >info 2>/dev/null
    get events info
}

# What cannot be: the command does not run.
run 2 record --flight 1M -o nosuch/x.trk -- touch ran
said "nosuch/x.trk: No such file or directory"
printf x >file
run 2 record --flight 1M -o file/x.trk -- touch ran
said "file/x.trk: Not a directory"
[ ! -e ran ] || fail "the command ran though its dumps can be nowhere"
run 0 record --flight 1M -o new.trk -- true
same "files of a recording without a dump" "$(ls new* 2>/dev/null)" ""

# A file that a recording writes as events come.
printf 'marks 15\ntouch ready\nawait go\n' >script
"$trk" record -f -o same.trk -- $obey script 2>plain-err &
plain=$!
soon [ -e ready ]
run 2 record -f --flight 1M --trigger exit -o same.trk -- touch ran
said "same.trk: another recording writes it"
[ ! -e ran ] || fail "the command ran though another recording has the file"
: >go
wait "$plain" || fail "the plain recording: $(cat plain-err)"
same "events of the plain recording" "$(events_of same.trk)" 15

# One that came while the flight recording ran; and no third one takes what that dumped.
rm -f same.trk ready go
printf 'marks 3\ntouch ready\nawait go\ntrigger\nawait free\ntrigger\nawait end\n' >flying
"$trk" record -f --flight 1M --trigger api --cooldown 0 -o same.trk -- $obey flying 2>flight-err &
flight=$!
soon [ -e ready ]
printf 'marks 15\ntouch ready2\nawait go2\n' >script
"$trk" record -f -o same.trk -- $obey script 2>plain-err &
plain=$!
soon [ -e ready2 ]
: >go
soon grep -q "api: no dump: same.trk: another recording writes it" flight-err
: >go2
wait "$plain" || fail "the plain recording beside a dump: $(cat plain-err)"
same "events of the plain recording beside a dump" "$(events_of same.trk)" 15
: >free
soon grep -q "api: 3 events, .* -> same.trk" flight-err
same "events of the dump that took the place" "$(events_of same.trk)" 3
run 2 record -f -o same.trk -- touch ran
said "same.trk: another recording writes it"
run 2 record -f --flight 1M -o same.trk -- touch ran
said "same.trk: another recording writes it"
[ ! -e ran ] || fail "the command ran though another recording has dumped there"
: >end
wait "$flight" || fail "the flight recording: $(cat flight-err)"
run 0 record -f --flight 1M --trigger exit -o same.trk -- "$tools/trace_tool" marks 4
same "events of a dump over an older one" "$(events_of same.trk)" 4

# Recordings side by side that were given no name: each dump finds one, whatever came before it, also
# where files have a name while they are written.
TRK_TRACE_DIR=$dir/traces
export TRK_TRACE_DIR
printf 'marks 5\ntouch ready\nawait go\ntrigger\nawait go2\nmarks 7\n' >script
sed 's/ready/ready2/' script >script2
rm -f ready ready2 go go2
"$trk" record --json --flight 1M --trigger api,exit --cooldown 0 -- $obey script >first-out 2>first-err &
first=$!
env LD_PRELOAD="$tools/no_tmpfile.so" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
    "$trk" record --json --flight 1M --trigger api,exit --cooldown 0 -- $obey script2 >second-out 2>second-err &
second=$!
soon [ -e ready ]
soon [ -e ready2 ]
run 0 record -- "$tools/trace_tool" marks 3
same "events of the plain recording of no name" "$(events_of traces/trk-1.trk)" 3
: >go
soon grep -q "api: 5 events" first-err
soon grep -q "api: 5 events" second-err
: >go2
wait "$first" || fail "the first flight recording of no name: $(cat first-err)"
wait "$second" || fail "the second flight recording of no name: $(cat second-err)"
for out in first-out second-out; do
    path=$(get path $out)
    same "dumps of no name" "$(get dumps $out)" 2
    later=${path%.trk}-2.trk
    same "events of dumps of no name" "$(($(events_of "$path") + $(events_of "$later")))" "$(get events $out)"
done
same "files of recordings of no name" "$(ls traces | tr '\n' ' ')" \
    "trk-1.trk trk-2-2.trk trk-2.trk trk-3-2.trk trk-3.trk "
unset TRK_TRACE_DIR

# All dumps go to a pipe.
mkfifo pipe
rm -f go
printf 'marks 10\ntrigger\nawait go\nmarks 10\n' >script
(
    cat pipe >first.trk
    : >go
    cat pipe >second.trk
) &
reader=$!
run 0 record -f --flight 1M --trigger api,exit --cooldown 0 -o pipe -- $obey script
if [ -e pipe-2 ]; then
    fail "a pipe's second dump is a file beside it"
    : >pipe
fi
wait "$reader"
same "events of a pipe's first dump" "$(events_of first.trk)" 10
same "events of a pipe's second dump" "$(events_of second.trk)" 20

# --fsync, and a recorder that is killed in a dump; also where each file has a name.
asan_options=${ASAN_OPTIONS:-}
ASAN_OPTIONS="$asan_options:verify_asan_link_order=0" # which comes behind what is loaded here
export ASAN_OPTIONS
for others in "" ":$tools/no_tmpfile.so"; do
    rm -f sync*.trk at-fsync go
    run_with LD_PRELOAD="$tools/bad_fsync.so$others" 0 record --flight 1M --trigger exit --fsync -o sync.trk -- \
        "$tools/trace_tool" marks 3
    said "exit: no dump: sync.trk: Input/output error"
    same "what a dump leaves that is not on the disk" "$(ls sync* 2>/dev/null)" ""
    run_with LD_PRELOAD="$tools/bad_fsync.so$others" 0 record --flight 1M --trigger exit -o sync.trk -- \
        "$tools/trace_tool" marks 3
    same "events without --fsync" "$(events_of sync.trk)" 3
done
rm -f sync*.trk
printf 'marks 3\ntrigger\nawait go\n' >script
env LD_PRELOAD="$tools/bad_fsync.so" BAD_FSYNC=at-fsync \
    "$trk" record --flight 1M --trigger api --fsync -o sync.trk -- $obey script 2>err &
recorder=$!
soon [ -e at-fsync ]
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null
: >go
same "what a killed recorder leaves" "$(ls sync* 2>/dev/null)" ""
finish
