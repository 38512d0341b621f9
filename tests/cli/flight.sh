# Goal: a flight recording writes what it holds when a trigger fires, nothing before, and tells at the
# end what never fired and what came closest.
# Method: a program that does what a script says, one script a trigger; the dumps are read back.
. "$(dirname "$0")/lib.sh"
XDG_RUNTIME_DIR=$dir/run
export XDG_RUNTIME_DIR
mkdir run

# fly CODE OPTION... : the script on standard input is recorded into f.trk and its successors.
fly() {
    want=$1
    shift
    cat >script
    rm -f f*.trk
    "$trk" record --flight 1M --json -o f.trk "$@" -- "$tools/trace_tool" obey script >out 2>err
    got=$?
    [ "$got" -eq "$want" ] || {
        fail "record $*: exit code $got, expected $want"
        sed 's/^/    /' err
    }
}

# dump_is FILE TRIGGER EVENTS
dump_is() {
    [ -e "$1" ] || {
        fail "no $1 for $2"
        return
    }
    "$trk" info --json "$1" >info 2>/dev/null
    same "trigger of $1" "$("$tools/json_get" info header.flight.trigger)" "$2"
    same "events of $1" "$("$tools/json_get" info events)" "$3"
}

# Nothing fires: nothing is written.
fly 5 <<'SCRIPT'
marks 1000
exit 5
SCRIPT
[ ! -e f.trk ] || fail "a dump without a trigger"
same "dumps" "$(get dumps)" 0
same "path without a dump" "$(get path)" null
same "complete without a dump" "$(get complete)" false
said "no dump was written$"
for trigger in signal api control fail fatal; do
    said "trigger $trigger never fired"
done

# What comes closest to a frame and to a mark is told.
fly 0 --trigger frame:7-9,mark:2000 <<'SCRIPT'
frame 3
frame 5
marks 1990
SCRIPT
said "trigger frame:7-9 never fired: the last frame was 5"
said "trigger mark:2000 never fired: the nearest mark was 1990"
[ ! -e f.trk ] || fail "a dump without a trigger"

# held_until FILE: the program is ready; what it does from then until it makes FILE finds the recorder stopped.
held_until() {
    while [ ! -e ready ]; do sleep 0.02; done
    kill -STOP "$recorder"
    : >go
    while [ ! -e "$1" ]; do sleep 0.02; done
}

# What found no room in its ring is lost before anything comes behind it, and a dump says so.
printf 'marks 1\ntouch ready\nawait go\nmarks 1000\ntouch ready2\nawait go2\n' >script
"$trk" record --flight 1M --ring 4K --trigger signal -o f.trk -- "$tools/trace_tool" obey script >out 2>err &
recorder=$!
held_until ready2
kill -USR2 "$recorder"
kill -CONT "$recorder"
while kill -0 "$recorder" && [ ! -e f.trk ]; do sleep 0.02; done
run 3 info --json f.trk
at_least "losses of the dump" "$(get dropped)" 800
same "events and losses of the dump" "$(($(get events) + $(get dropped)))" 1001
: >go2
wait "$recorder" || fail "the recorder ends with $?"
rm -f ready ready2 go go2

# A trigger behind the first event is served at once. A machine may be too busy for that, but not five times.
tries=0
events=2001
printf 'marks 1\ntrigger\npause 60\nmarks 2000\n' >script
while [ "$events" -ge 2001 ] && [ "$tries" -lt 5 ]; do
    rm -f early.trk
    run 0 record --flight 1M --trigger api -o early.trk -- "$tools/trace_tool" obey script
    "$trk" info --json early.trk >info 2>/dev/null
    events=$("$tools/json_get" info events)
    tries=$((tries + 1))
done
same "events of an early dump" "$events" 1

# A fault that is nobody's: the fault handler reports it, fires, and the program ends as it would have.
fly 139 --trigger api <<'SCRIPT'
marks 1000
crash
SCRIPT
dump_is f.trk api 1000
said '^thread: player one$'
said '^Unhandled host exception: type=SIGSEGV code=2 pc=0x.* access=write address=0x'

# A file that -f might have replaced stays, and is not called the recording's.
"$tools/trace_tool" make old.trk
cp old.trk was.trk
printf 'marks 10\n' >script
run 0 record -f --flight 1M --trigger mark:99 --json -o old.trk -- "$tools/trace_tool" obey script
cmp -s old.trk was.trk || fail "a recording without a dump changed the file"
same "path without a dump" "$(get path)" null
said "no dump was written; old.trk is what it was before"

# A dump that cannot be written is none.
mkdir gone
printf 'marks 10\ntrigger\npause 200\n' >script
run 0 record --flight 1M --trigger api --json -o gone/g.trk -- \
    sh -c 'rm -r gone; exec "$0" obey script' "$tools/trace_tool"
same "dumps that failed" "$(get dumps)" 0
same "path of a dump that failed" "$(get path)" null
said "no dump was written$"

# One that cannot be written for a while takes nothing from those behind it: the ring goes on, and the
# recording says to its end what fired.
cat >script <<'SCRIPT'
marks 100
trigger
await f.trk
marks 100
trigger
await fixed
marks 107
trigger
await f-2.trk
marks 50
exit 7
SCRIPT
rm -f f*.trk fixed
echo junk >f-2.trk
(
    until grep -q 'api: no dump: f-2.trk' err; do sleep 0.02; done
    rm f-2.trk
    : >fixed
) &
run 7 record --flight 1M --trigger api,exit,mark:5000 --cooldown 0 --json -o f.trk -- \
    "$tools/trace_tool" obey script
for dump in f.trk:api:100 f-2.trk:api:307 f-3.trk:exit:357; do
    events=${dump##*:}
    trigger=${dump%:*}
    "$trk" info --json "${dump%%:*}" >info 2>/dev/null
    same "trigger beside a dump that failed: $dump" "$(get header.flight.trigger info)" "${trigger#*:}"
    same "events beside a dump that failed: $dump" "$(get events info)" "$events"
    same "missing beside a dump that failed: $dump" "$(get dropped info)" 0
done
same "dumps beside one that failed" "$(get dumps)" 3
same "complete with a dump that failed" "$(get complete)" false
same "error of a dump that failed" "$(get error.status)" exists
said "api: no dump: f-2.trk: File exists"
said "trigger mark:5000 never fired"

# Each trigger; the program goes on when the dump is there, so that what comes then is in none.
fly 0 --trigger api <<'SCRIPT'
marks 1000
trigger
await f.trk
marks 10
SCRIPT
dump_is f.trk api 1000
same "missing in a whole dump" "$(get missing)" 0
same "complete of a whole dump" "$(get complete)" true
fly 0 <<'SCRIPT'
marks 1000
fail
await f.trk
marks 10
SCRIPT
dump_is f.trk fail 1001
fly 134 <<'SCRIPT'
marks 1000
abort
SCRIPT
dump_is f.trk fatal 1000
same "signal" "$("$tools/json_get" info signal)" 6
fly 3 --trigger exit <<'SCRIPT'
marks 1000
exit 3
SCRIPT
dump_is f.trk exit 1000
same "exit code" "$("$tools/json_get" info exit_code)" 3
fly 0 --trigger frame:2-3 <<'SCRIPT'
frame 1
marks 10
frame 2
marks 10
frame 3
marks 10
frame 4
await f.trk
marks 10
SCRIPT
dump_is f.trk frame 34
fly 0 --trigger frame:2-99 <<'SCRIPT'
frame 1
frame 2
marks 10
SCRIPT
dump_is f.trk frame 12

# At the end two triggers fire at once: one dump, and a word about the other.
fly 0 --trigger exit,frame:2-99 --cooldown 0 <<'SCRIPT'
frame 2
marks 10
SCRIPT
dump_is f.trk frame 11
same "dumps for two triggers at once" "$(get dumps)" 1
said "exit: one dump with frame, which was still to be made"
fly 0 --trigger mark:1 <<'SCRIPT'
marks 600
await f.trk
marks 10
SCRIPT
dump_is f.trk mark 600

# Each place of a list fires, and each that did not is told.
fly 0 --trigger mark:1,frame:2-3,mark:5000,frame:5,frame:8-9,frame:7 --cooldown 0 <<'SCRIPT'
marks 1000
await f.trk
frame 2
frame 4
await f-2.trk
frame 5
frame 6
SCRIPT
same "dumps of a list of places" "$(get dumps)" 3
dump_is f.trk mark 1000
dump_is f-2.trk frame 1002
dump_is f-3.trk frame 1004
said "trigger mark:5000 never fired: the nearest mark was 1000"
said "trigger frame:8-9 never fired: the last frame was 6"
said "trigger frame:7 never fired: the last frame was 6"
same "places that never fired" "$(grep -c 'never fired' err)" 3

# SIGUSR2 to the recorder.
cat >script <<'SCRIPT'
marks 1000
touch ready
await go
SCRIPT
rm -f f*.trk
"$trk" record --flight 1M -o f.trk -- "$tools/trace_tool" obey script 2>err &
recorder=$!
while [ ! -e ready ]; do sleep 0.02; done
kill -USR2 "$recorder"
while [ ! -e f.trk ]; do sleep 0.02; done
: >go
wait "$recorder" || fail "recorder with SIGUSR2: $?"
dump_is f.trk signal 1000

# Where that is no trigger the recording goes on, and says so.
rm -f ready go f*.trk
"$trk" record --flight 1M --trigger exit -o f.trk -- "$tools/trace_tool" obey script 2>err &
recorder=$!
while [ ! -e ready ]; do sleep 0.02; done
kill -USR2 "$recorder"
until grep -q "SIGUSR2 came, and signal is no trigger here" err || ! kill -0 "$recorder"; do sleep 0.02; done
: >go
wait "$recorder" || fail "recorder with a SIGUSR2 that is no trigger: $?"
dump_is f.trk exit 1000

# The time after: longer than the program lives, or over at once.
fly 0 --trigger api --after 60000 <<'SCRIPT'
marks 100
trigger
pause 200
marks 10
SCRIPT
dump_is f.trk api 110
fly 0 --trigger api --after 1 <<'SCRIPT'
marks 100
trigger
await f.trk
marks 10
SCRIPT
dump_is f.trk api 100

# The cooldown, in which the recording sees the second firing, and the last dump.
printf 'marks 100\ntrigger\nawait f.trk\ntrigger\ntouch ready\nawait go\n' >script
rm -f f*.trk ready go
"$trk" record --flight 1M --json -o f.trk --trigger api --cooldown 600000 -- "$tools/trace_tool" obey script >rec-out 2>rec-err &
recorder=$!
while [ ! -e ready ]; do sleep 0.02; done
run 0 ctl status "$recorder"
run 0 ctl status "$recorder" # behind the turn in which the first was answered
: >go
wait "$recorder" || fail "recorder with a cooldown: $?"
same "dumps in the cooldown" "$(get dumps rec-out)" 1
grep -q "1 firings made no dump" rec-err || fail "a firing in the cooldown: $(cat rec-err)"
fly 0 --trigger api --cooldown 0 --dumps 2 <<'SCRIPT'
marks 100
trigger
await f.trk
marks 100
trigger
await f-2.trk
trigger
SCRIPT
same "dumps" "$(get dumps)" 2
dump_is f.trk api 100
dump_is f-2.trk api 200
[ ! -e f-3.trk ] || fail "more dumps than allowed"

# The time before: chunks that ended before it stay away, and count as missing. A busy machine has time
# for the dump of the end.
fly 0 --trigger api,exit --cooldown 0 --before 2000 <<'SCRIPT'
marks 9000
pause 50
trigger
pause 4000
marks 20
SCRIPT
"$trk" info --json f-2.trk >info 2>/dev/null
same "events in the time before" "$("$tools/json_get" info events)" 20
same "events missing" "$("$tools/json_get" info dropped)" 9000
said "exit: 20 events, 9000 missing, "
"$trk" info --json f.trk >info 2>/dev/null
missing=$((9000 + $("$tools/json_get" info dropped)))
same "events missing, as the recording tells" "$(get missing)" "$missing"
same "complete with events missing" "$(get complete)" false
said "2 dumps, [0-9]* events, $missing missing, 0 dropped, "

# A ring that is full forgets the oldest; nothing is uncounted.
rm -f f*.trk
run 0 record --flight 64K --block 20000 --trigger exit --json -o f.trk -- "$tools/trace_tool" marks 1500000
"$trk" info --json f.trk >info 2>/dev/null
events=$("$tools/json_get" info events)
at_least "events that fit" "$events" 100000
same "all" $((events + $("$tools/json_get" info dropped))) 1500000
at_least "forgotten" "$("$tools/json_get" info dropped)" 1
same "forgotten, as the recording tells" "$(get missing)" "$("$tools/json_get" info dropped)"
same "complete with events forgotten" "$(get complete)" false

# A dump closes open chunks, and what is forgotten to make room for them is in its header.
fly 0 --flight 64K --block 20000 --trigger api --cooldown 0 <<'SCRIPT'
marks 900000
trigger
await f.trk
marks 8000
trigger
await f-2.trk
marks 8000
trigger
await f-3.trk
marks 8000
trigger
SCRIPT
for dump in f.trk f-2.trk f-3.trk f-4.trk; do
    "$trk" info --json "$dump" >info 2>/dev/null
    same "forgotten events of $dump" "$("$tools/json_get" info header.flight.forgotten_events)" \
        "$("$tools/json_get" info dropped)"
done
at_least "forgotten by the last dump" "$("$tools/json_get" info dropped)" 1

# A dump stands alone: whatever the ring has forgotten, re-executing it finds nothing that was not there.
head -c 65536 /dev/zero >shared
# A signal in the middle of a thread's claim of a ring finds none; that is counted, and tried again.
tries=0
while [ "$tries" -lt 8 ]; do
    tries=$((tries + 1))
    run 0 record --json --flight 64M --block 20000 --trigger exit -f -o f.trk -- "$tools/storm_target" shared 40
    [ "$(get dropped)" = 0 ] && break
done
run 0 sim --json f.trk
same "verdict on a dump that has everything" "$(get verdict)" ok
run 0 record --flight 64K --states off --block 20000 --trigger exit -f -o f.trk -- \
    "$tools/storm_target" shared 200
run 3 sim --json f.trk
same "verdict on a dump" "$(get verdict)" trace-incomplete
same "divergences of a dump" "$(get divergences)" 0
run 3 dump --json f.trk
grep -q '"type":"tracker","tracker":0,' out || fail "the dump lacks its tracker"
run 3 doctor --json f.trk

# The event that fires is in the dump, however much comes behind it: more than the ring holds in one turn of a
# recorder that was stopped meanwhile.
cat >script <<'SCRIPT'
touch ready
await go
marks 900000
touch done
await go2
SCRIPT
rm -f f*.trk ready go go2 done
"$trk" record --flight 64K --ring 32M --trigger mark:899990 -o f.trk -- "$tools/trace_tool" obey script 2>err &
recorder=$!
held_until done
kill -CONT "$recorder"
while [ ! -e f.trk ]; do sleep 0.02; done
: >go2
wait "$recorder" || fail "a recorder that was stopped: $?"
"$trk" info --json f.trk >info 2>/dev/null
same "the trigger's event" "$("$tools/json_get" info header.flight.trigger_event)" "in the dump"
same "the mark that fired" "$("$trk" dump f.trk 2>/dev/null | grep -c ' mark  *number=899990$')" 1

# A dump of before the end does not have the command's status, though the command has ended meanwhile.
cat >script <<'SCRIPT'
touch ready
await go
marks 20000
exit 3
SCRIPT
rm -f f*.trk ready go
"$trk" record --flight 1M --trigger mark:19990,exit --cooldown 0 -o f.trk -- \
    sh -c '"$0" obey script; code=$?; touch done2; exit $code' "$tools/trace_tool" 2>err &
recorder=$!
held_until done2
sleep 0.2
kill -CONT "$recorder"
wait "$recorder"
same "status of a recorder that was stopped" $? 3
dump_is f-2.trk exit 20000
same "exit code at the end" "$("$tools/json_get" info exit_code)" 3
"$trk" info --json f.trk >info 2>/dev/null
same "exit code before the end" "$("$tools/json_get" info exit_code)" null
same "trigger before the end" "$("$tools/json_get" info header.flight.trigger)" mark
[ "$("$tools/json_get" info events)" -lt 20000 ] || fail "a dump of the middle has everything"

# Where so much comes in the time after that the ring forgets it, that is said.
fly 0 --flight 64K --block 20000 --trigger mark:1499990 --after 60000 <<'SCRIPT'
marks 1500000
SCRIPT
"$trk" info --json f.trk >info 2>/dev/null
same "a forgotten event" "$("$tools/json_get" info header.flight.trigger_event)" "forgotten"
said "^trk record: mark: the ring had forgotten the event that fired"

# What nobody made an event fires without one.
fly 0 --trigger exit <<'SCRIPT'
marks 10
SCRIPT
"$trk" info --json f.trk >info 2>/dev/null
same "no event" "$("$tools/json_get" info header.flight.trigger_event 2>/dev/null)" ""

# A frame whose event is lost is over with the next one, and the dump says what fired.
cat >script <<'SCRIPT'
frame 1
touch ready
await go
frame 2
frame 3
touch ready2
await go2
frame 4
SCRIPT
rm -f f*.trk ready ready2 go go2
"$trk" record --flight 1M --trigger frame:2-3,frame:9 -o f.trk -- "$tools/trace_tool" obey script 2>err &
recorder=$!
while [ ! -e ready ]; do sleep 0.02; done
run 0 ctl disable "$recorder"
: >go
while [ ! -e ready2 ]; do sleep 0.02; done
run 0 ctl enable "$recorder"
: >go2
wait "$recorder" || fail "recorder of lost frames: $?"
dump_is f.trk frame 2
note="no event of frame:2-3 came, it is lost or there was none: frame 4 fired"
same "the note" "$("$tools/json_get" info header.flight.trigger_note)" "$note"
grep -q "^trk record: frame: $note\$" err || fail "standard error does not say what fired"
grep -q "trigger frame:9 never fired: the last frame was 4; 2 events were lost" err ||
    fail "standard error does not say what was lost"

# What cannot be meant, and files that are there.
run 2 record --flight 1K -o g.trk -- true
run 2 record --flight 1M -o - -- true
run 2 record --flight 1M --trigger frame:9-7 -o g.trk -- true
said "frame:9-7"
run 2 record --flight 1M --trigger frame:10,frame:9-7 -o g.trk -- true
said "frame:9-7"
for list in noise mark: mark:0x mark:0xg mark:0x10000000000000000 mark:5- frame:-5 frame:0x7-3 frame:5--; do
    run 2 record --flight 1M --trigger "$list" -o g.trk -- true
    said "trigger '$list' is none of"
done
places=mark:1
for i in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do
    places=$places,mark:$i
done
run 0 record --flight 1M --trigger "$places" -o g.trk -- true
run 2 record --flight 1M --trigger "$places,frame:3" -o g.trk -- true
said "frame:3.*more than 32 places"
run 2 record --before 5 -o g.trk -- true
said "with --flight only"
run 2 record --flight 1M -o f.trk -- touch ran
said "give -f"
[ ! -e ran ] || fail "the command ran though the file exists"
run 0 record --flight 1M --trigger exit -f -o f.trk -- true

# The name of the second dump is taken when it is made: it gets another one, and the command ran once.
mkdir kept
echo another >kept/trk-1-2.trk
printf 'marks 10\ntrigger\nawait kept/trk-1.trk\nmarks 10\n' >script
export TRK_TRACE_DIR="$dir/kept"
run 0 record --flight 1M --trigger api,exit --cooldown 0 -- sh -c 'echo ran >>runs; exec "$0" obey script' \
    "$tools/trace_tool"
said "api: 10 events, .* -> .*/kept/trk-1.trk$"
said "exit: 20 events, .* -> .*/kept/trk-2.trk$"
said "2 dumps, .* -> .*/kept/trk-1.trk$"
unset TRK_TRACE_DIR
same "runs" "$(wc -l <runs)" 1
same "what was there" "$(cat kept/trk-1-2.trk)" another

# Threads that have ended: nothing of them is kept beside the ring, and no number of them is too much.
printf 'threads 1000\nmarks 90000\n' >script
run 0 record --json --block 60000 --flight 64K --trigger exit -f -o f.trk -- "$tools/trace_tool" obey script
at_most "bytes of a dump behind many threads" "$(get bytes)" 400000
run 3 doctor --json f.trk
at_least "the newest events, of the last thread" "$(get events)" 90000
same "events and what is missing" $(($(get events) + $(get dropped))) 190000
"$trk" dump --text f.trk 2>err | grep '^note.*(forgotten)' >out
grep -q '^note stream=4294967294 ' out || fail "what is forgotten has the number of a thread: $(cat out)"
printf 'threads 4200\n' >script
run 0 record --json --block 60000 --flight 64M --trigger exit -f -o f.trk -- "$tools/trace_tool" obey script
run 0 info --json f.trk
at_most "threads of the dump" "$(get threads)" 1024
run 0 doctor --json f.trk
same "events of 4200 threads" "$(get events)" 420000
printf 'tracker\nthreads 1200\n' >script
run 0 record --json --block 60000 --flight 64K --trigger exit -f -o f.trk -- "$tools/trace_tool" obey script
same "missing behind the state of many threads" "$(get missing)" 0
run 0 sim f.trk
[ -z "$(ls | grep part)" ] || fail "a half-written dump is left"
finish
