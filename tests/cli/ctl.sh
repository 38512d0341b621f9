# Goal: trk ctl reaches a recording that runs, each command is answered, and trk stat counts.
# Method: a program that waits for files, so that the test decides what happens in which order.
. "$(dirname "$0")/lib.sh"
XDG_RUNTIME_DIR=$dir/run
export XDG_RUNTIME_DIR
mkdir run

# start OPTION...: record a program that makes 1000 marks, waits for go1, 100 marks, go2, 10 marks.
start() {
    rm -f ready ready2 go1 go2 c*.trk
    cat >script <<'SCRIPT'
marks 1000
touch ready
await go1
marks 100
touch ready2
await go2
marks 10
SCRIPT
    "$trk" record --json -o "${to:-c.trk}" "$@" -- "$tools/trace_tool" obey script >rec-out 2>rec-err &
    recorder=$!
    while [ ! -e ready ]; do sleep 0.02; done
}

stop() {
    wait "$recorder" || fail "the recorder ends with $?"
    [ ! -e "run/trk/$recorder" ] || fail "the control folder is left"
}

# disable throws away and counts; enable goes on.
start
run 0 ctl snapshot "$recorder"
same "answer" "$(cat out)" "ok 1000 events"
run 0 ctl status "$recorder"
same "status" "$(cat out)" "ok 1000 events, 0 dropped"
"$trk" info --json c.trk >info 2>/dev/null
same "events after a snapshot" "$("$tools/json_get" info events)" 1000
run 0 ctl disable "$recorder"
same "answer" "$(cat out)" ok
: >go1
while [ ! -e ready2 ]; do sleep 0.02; done
run 1 ctl mark "$recorder" 5
same "answer" "$(cat out)" "error disabled"
run 0 ctl status "$recorder"
same "status while disabled" "$(cat out)" "ok 1000 events, 100 dropped, disabled"
# What somebody began and never ended, short or long, spoils no command behind it.
printf 'ena' >"run/trk/$recorder/commands"
run 0 ctl status "$recorder"
same "status behind half a line" "$(cat out)" "ok 1000 events, 100 dropped, disabled"
head -c 3000 /dev/zero | tr '\0' x >"run/trk/$recorder/commands"
run 0 ctl status "$recorder"
same "status behind a long half" "$(cat out)" "ok 1000 events, 100 dropped, disabled"
run 0 ctl --json enable "$recorder"
same "command" "$(get command)" enable
same "ok" "$(get ok)" true
run 0 ctl mark "$recorder" 77
: >go2
stop
same "events" "$("$tools/json_get" rec-out events)" 1011
same "discarded" "$("$tools/json_get" rec-out discarded)" 100
same "dropped" "$("$tools/json_get" rec-out dropped)" 100
run 3 dump --json c.trk
same "the loss" "$(grep -c '"type":"drop".*"number":100.*"of":"mark"' out)" 1
same "the recorder's mark" "$(grep '"thread":"(recorder)"' out | grep -c '"number":77')" 1

# A guard that takes over while recording is disabled throws away and counts, too.
rm -f ready ready2 go1 go2 c*.trk
printf 'marks 1000\ntouch ready\nawait go1\nmarks 100\n' >script
"$trk" record --guard -o c.trk -- "$tools/trace_tool" obey script 2>rec-err &
recorder=$!
while [ ! -e ready ]; do sleep 0.02; done
run 0 ctl mark "$recorder" 77
run 0 ctl disable "$recorder"
kill -KILL "$recorder"
wait "$recorder" 2>rec-err
: >go1
tries=0
while [ "$tries" -lt 200 ]; do
    "$trk" info --json c.trk >info 2>/dev/null
    [ "$("$tools/json_get" info ended)" = true ] && break
    tries=$((tries + 1))
    sleep 0.1
done
same "events that the guard kept" "$("$tools/json_get" info events)" 1001
same "events that it threw away" "$("$tools/json_get" info dropped)" 100

# A snapshot of a flight recording is a dump, there when the answer is.
start --flight 1M
run 0 ctl snapshot "$recorder"
same "answer" "$(cat out)" "ok c.trk"
run 0 info --json c.trk
same "trigger" "$(get header.flight.trigger)" control
same "events of the dump" "$(get events)" 1000
: >go1
: >go2
stop
# A path that an answer has no room for is not told as if it were whole.
long=$(printf '%0120d' 0)/$(printf '%0130d' 0)
mkdir -p "$long"
to=$long/c.trk start --flight 1M
run 0 ctl snapshot "$recorder"
grep -q "^ok, but its path of 257 bytes is too long for an answer: trk record says it; it ends in 0*/c.trk$" out ||
    fail "answer: $(cat out)"
: >go1
: >go2
stop
grep -q " bytes -> $long/c.trk$" rec-err || fail "the recorder does not say the path: $(cat rec-err)"
# A dump tells what is lost so far, also while it is still disabled.
start --flight 1M --cooldown 0
run 0 ctl disable "$recorder"
: >go1
while [ ! -e ready2 ]; do sleep 0.02; done
run 0 ctl status "$recorder"
run 0 ctl snapshot "$recorder"
run 3 info --json c.trk
same "events of the dump" "$(get events)" 1000
same "losses of the dump" "$(get dropped)" 100
run 0 ctl enable "$recorder"
run 0 ctl snapshot "$recorder"
run 3 info --json c-2.trk
same "losses of the second dump" "$(get dropped)" 100
: >go2
stop
start --flight 1M --trigger exit
run 1 ctl snapshot "$recorder"
run 0 ctl status "$recorder"
same "status of a flight recording" "$(cat out)" \
    "ok 1000 events, 0 dropped, 0 forgotten, 0 dumps, 0 states made, none under way"
: >go1
: >go2
stop

# An answer that comes too late is not taken for that of the next command; a wait for another trk ctl ends in time.
start
kill -STOP "$recorder"
run 4 ctl --timeout 100 mark "$recorder" 5
said "no answer within 100 ms"
"$trk" ctl status "$recorder" >second &
second=$!
while kill -0 "$second" && flock -n "run/trk/$recorder" true; do sleep 0.02; done
run 4 ctl --timeout 300 status "$recorder"
kill -0 "$second" || fail "the second trk ctl did not wait"
said "another waits for an answer"
kill -CONT "$recorder"
wait "$second" || fail "the second trk ctl ends with $?"
same "the status, not the mark's answer" "$(cat second)" "ok 1001 events, 0 dropped"
: >go1
: >go2
stop
start --flight 1M --after 500 --cooldown 0
kill -STOP "$recorder"
run 4 ctl --timeout 20 snapshot "$recorder"
kill -CONT "$recorder"
tries=0
until "$trk" ctl snapshot "$recorder" >out || [ "$tries" -ge 200 ]; do # the first may still be taken
    tries=$((tries + 1))
    sleep 0.02
done
same "the answer of the second snapshot" "$(cat out)" "ok c-2.trk"
[ -e c-2.trk ] || fail "the answer came before the dump"
: >go1
: >go2
stop

# A recording that has no answer in time is still there; one that is killed, or ends, lets nobody wait.
start
kill -STOP "$recorder"
run 4 ctl --json --timeout 100 status "$recorder"
same "status of the error of a recorder that stands still" "$(get error.status)" system
"$trk" ctl --timeout 30000 status "$recorder" 2>second &
second=$!
while kill -0 "$second" && flock -n "run/trk/$recorder" true; do sleep 0.02; done
kill -KILL "$recorder"
wait "$recorder" 2>rec-err
wait "$second"
same "code of a trk ctl whose recorder was killed" $? 2
grep -q "no recording of process $recorder any more" second || fail "it says: $(cat second)"
: >go1
: >go2

# Before anything has come there is an answer, too.
rm -f go1 ready c*.trk
"$trk" record -o c.trk -- sh -c ': >ready; while [ ! -e go1 ]; do sleep 0.02; done; exec "$0" marks 7' \
    "$tools/trace_tool" 2>rec-err &
recorder=$!
while [ ! -e ready ]; do sleep 0.02; done
run 0 ctl status "$recorder"
same "status before anything" "$(cat out)" "ok 0 events, 0 dropped, nothing is recorded yet"
run 1 ctl mark "$recorder" 5
same "a mark before anything" "$(cat out)" "error nothing is recorded yet"
: >go1
stop
"$trk" info --json c.trk >info
same "events behind that" "$("$tools/json_get" info events)" 7

# Where no FIFO can be made the recording goes on and says so.
run_with "XDG_RUNTIME_DIR=$dir/absent" 0 record -o c-3.trk -- "$tools/trace_tool" marks 3
said "trk ctl will not reach it: control: $dir/absent/trk: No such file or directory"
rm -f c-3.trk

# What cannot be meant or is not there.
run 2 ctl snapshot 999999999
run 2 ctl explode 1
run 2 ctl mark 1
run 2 ctl mark 1 many
run 2 ctl enable 0
mkdir -p run/trk/1234567
run 2 ctl snapshot 1234567
mkfifo run/trk/1234567/commands run/trk/1234567/answers
run 2 ctl snapshot 1234567 # its recorder was killed
said "no recording of process 1234567 any more"
run 2 ctl --json snapshot 1234567
same "ok" "$(get ok)" false
same "status of the error" "$(get error.status)" argument
chmod 777 run/trk/1234567
run 4 ctl status 1234567
said "run/trk/1234567: not a folder that this user alone can write to"
run 2 ctl --json status 999999999
same "status of the error" "$(get error.status)" argument

# Whatever else is written to the FIFO is answered, line by line, and does nothing.
start
folder=run/trk/$recorder
{
    printf 'mark -5\nmark  -5\nmark +5\nmark 5 \nmark 0x5\nmark 18446744073709551616\nmark\n\n'
    printf 'mark 1\0002\n%600s\n%255s\nmark 9\n' '' ''
} >"$folder/commands"
timeout 100 sed 12q <"$folder/answers" >answers
same "answers" "$(grep -c . answers)" 12
same "what nobody can mean" "$(grep -c '^error' answers)" 11
same "what can be meant" "$(tail -1 answers)" ok
: >go1
: >go2
stop
run 0 dump --json c.trk
same "marks of the recorder" "$(grep -c '"thread":"(recorder)"' out)" 1
grep '"thread":"(recorder)"' out | grep -q '"number":9' || fail "the mark is not the one of the whole line"

# Counting: the command's own output and code, and the same counts as a file has.
printf 'marks 1000\nframe 1\nframe 2\nexit 7\n' >script
"$trk" stat --json -- sh -c "echo said; exec $tools/trace_tool obey script" >all 2>err
same "exit code of stat" $? 7
same "output" "$(head -1 all)" said
sed 1d all >out
same "marks" "$(get events_of.mark)" 1000
same "frames" "$(get events_of.frame)" 2
same "events" "$(get events)" 1002
same "dropped" "$(get dropped)" 0
same "exit code in the JSON" "$(get exit_code)" 7
run 7 stat -- "$tools/trace_tool" obey script
said "1000  mark"
run 0 stat -- true
said "did not join"
run 2 stat -- ./no-such-command
finish
