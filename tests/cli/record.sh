# Goal: `trk record` ends as its command ends, never hurts a file, and its own errors are 2 or 4.
# Method: commands that end in every way; outputs that exist, cannot be, or have no name.
. "$(dirname "$0")/lib.sh"

while IFS='|' read -r code command; do
    rm -f x.trk
    run "$code" record -o x.trk -- sh -c "$command"
    run 0 info --json x.trk
    if [ "$code" -gt 128 ]; then
        same "signal of '$command'" "$(get signal)" $((code - 128))
    else
        same "exit code of '$command'" "$(get exit_code)" "$code"
    fi
done <<'CASES'
0|true
1|false
7|exit 7
3|exit 3
137|kill -9 $$
143|kill -TERM $$
141|kill -PIPE $$
CASES

# The header names what wrote the trace, the build that ran, whoever started it, and the limit on mappings.
run 0 record -f -o x.trk -- sh -c "\"$tools/trace_tool\" marks 10"
run 0 info --json x.trk
version=$(get header.tool.version)
same "build of the program" "$(get header.program.build_id)" "$(readelf -n "$tools/trace_tool" | sed -n 's/.*Build ID: //p')"
same "build of the tool" "$(get header.tool.build_id)" "$(readelf -n "$trk" | sed -n 's/.*Build ID: //p')"
same "limit on mappings" "$(get header.host.mapping_limit)" "$(cat /proc/sys/vm/max_map_count)"
run 0 version
same "version of the tool" "$(cat out)" "trk $version"
run 0 record -f -o x.trk -- true
run 0 info --json x.trk
same "build of a program that did not join" "$(get header.program.build_id)" null

# What the program says of itself before its first tracker is in the header: the last text of a key, cut, and
# whatever bytes it has; --redact leaves it out.
long=$(head -c 200 /dev/zero | tr '\0' x)
printf 'about first\nabout \377%s\nmarks 10\n' "$long" >script
run 0 record -f -o x.trk -- "$tools/trace_tool" obey script
run 0 info --json x.trk
same "what the program says" "$(get header.about.word)" "?$(printf %.94s "$long")"
same "write watches" "$(get header.model.write_watches)" 127
run 0 pack --redact -f -o y.trk x.trk
run 0 info --json y.trk
same "what the program says, redacted" "$(get header.about.word 2>/dev/null)" ""
same "write watches, redacted" "$(get header.model.write_watches)" 127
rm y.trk
for i in 1 2 3 4 5 6 7 8; do printf 'about a\nabout b\nabout taken\n'; done >script
printf 'about late\nmarks 10\n' >>script
run 0 record -f -o x.trk -- "$tools/trace_tool" obey script
run 0 info --json x.trk
same "the last of what was taken" "$(get header.about.word)" taken

XDG_RUNTIME_DIR=$dir/run
export XDG_RUNTIME_DIR
mkdir run

# held ARGUMENT...: record a program that waits for the file go; that comes when the recording has looked at it, and,
# without --flight, written its header.
held() {
    rm -f go
    "$trk" record -f "$@" >out 2>err &
    recorder=$!
    until "$trk" ctl status "$recorder" 2>ctl-err | grep -q '^ok [1-9]'; do
        kill -0 "$recorder" || break
        sleep 0.02
    done
    : >go
    wait "$recorder" || fail "record $*: $?, $(cat err)"
    rm go
}

# The signals that the program takes and those that it ignores, as the kernel has it; a flight dump has them
# though the program has ended.
printf 'handle\nmarks 10\nawait go\n' >script
for flight in "" "--flight 1M --trigger exit"; do
    # shellcheck disable=SC2086 # the options are words
    held $flight -o x.trk -- sh -c 'trap "" HUP; exec "$0" obey script' "$tools/trace_tool"
    run 0 info --json x.trk
    for signal in SIGSEGV SIGBUS SIGILL; do
        get header.program.signals.caught | grep -q "\"$signal\"" || fail "$flight: $signal is not caught"
    done
    same "ignored signal" "$(get header.program.signals.ignored.0)" SIGHUP
    get header.mappings.modules | grep -q '"trace_tool"' || fail "$flight: no modules"
done

# Where a fault was is told by a module's name, whatever is in that but spaces and quotes.
cp "$tools/burst_target" "b(1)+e' x"
ln -s go go-1
held -o x.trk -- "./b(1)+e' x" 2
run 0 dump x.trk
grep -q " at=b(1)+e'?x+0x[0-9a-f]*\$" out || fail "no module's name: $(grep -m 1 ' fault_at ' out)"
rm go-1 did-1 "b(1)+e' x"

# A module whose path is long is named, and so are those behind it.
part=$(printf '%0230d' 0)
mkdir -p "long/$part/$part/$part/$part/$part"
cp "$tools/trace_tool" "long/$part/$part/$part/$part/$part/"
printf 'marks 1\nawait go\n' >short
held -o x.trk -- "long/$part/$part/$part/$part/$part/trace_tool" obey short
rm -r long
run 0 info --json x.trk
get header.mappings.modules | grep -q '"trace_tool".*"libc' || fail "modules behind a long path: $(get header.mappings)"
same "left out" "$(get header.mappings.left_out)" 0

# However many mappings lie below the modules, the modules are known.
printf 'mappings 17000\nmarks 1\nawait go\n' >script
held -o m.trk -- "$tools/trace_tool" obey script
run 0 info --json m.trk
get header.mappings.modules | grep -q '"trace_tool".*"libc' || fail "modules above many mappings: $(get header.mappings.modules)"
# (Beside the address sanitizer guest memory lies elsewhere, and is not in the list.)
readelf -d "$tools/trace_tool" | grep -q libasan ||
    at_least "mappings left out" "$(get header.mappings.left_out)" 15000

# What a program becomes is another one: nothing of that is called the recorded one's.
printf 'marks 1\nawait go\nbecome sleep\n' >script
held --flight 64K --trigger exit -o m.trk -- "$tools/trace_tool" obey script
run 0 info --json m.trk
get header.mappings.modules | grep -q '"trace_tool"' || fail "modules of another program: $(get header.mappings.modules)"
get header.mappings.modules | grep -q '"sleep"' && fail "modules of what the program became"
run 0 record -f -o x.trk -- true
run 0 info --json x.trk
same "signals of a program that did not join" "$(get header.program.signals)" null

# A signal that wants a dump ends no recording that makes none.
printf 'marks 1\ntouch ready\nawait go\n' >script
"$trk" record -f -o m.trk -- "$tools/trace_tool" obey script >out 2>err &
recorder=$!
until [ -e ready ]; do sleep 0.02; done
kill -USR2 "$recorder"
until grep -q "SIGUSR2 came, and signal is no trigger here" err || ! kill -0 "$recorder"; do sleep 0.02; done
: >go
wait "$recorder" || fail "a recording that a SIGUSR2 came to: $?"
rm ready go

# What it says when the header is written is nowhere, and that is told.
printf 'about first\nmarks 1\n' >script
run 0 record -f -o x.trk -- "$tools/trace_tool" obey script
grep -q "said of itself" err && fail "something came too late for the header"
printf 'marks 1\nawait go\nabout late\nabout later\nmarks 1\n' >script
held -o x.trk -- "$tools/trace_tool" obey script
said "2 things that the program said of itself came after the header was written"
run 0 info --json x.trk
same "what came too late" "$(get header.about.word 2>/dev/null)" ""

# Turns of a drain that is in no hurry do not wake the thread that gives way to nobody: it would come before the
# program's own each time. Where many want a processor it takes its turns for a while, so five tries.
wakes()
{
    sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$recorder/status"
}
printf 'marks 10\npause 300\ntouch still\npause 700\n' >script
woken=6
for _ in 1 2 3 4 5; do
    [ "$woken" -gt 5 ] || break
    rm -f still
    "$trk" record -f -o x.trk -- "$tools/trace_tool" obey script 2>err &
    recorder=$!
    until [ -e still ]; do sleep 0.02; done
    before=$(wakes)
    sleep 0.5
    woken=$(($(wakes) - before))
    wait "$recorder"
done
at_most "wakes of the recording thread" "$woken" 5

# More threads, one after the other, than a file has streams: all that they say is in it.
printf 'tracker\nthreads 1200\nmarks 3\n' >script
run 0 record --json --block 60000 -f -o x.trk -- "$tools/trace_tool" obey script
same "events of 1200 threads" "$(get events)" $((120004 + 1200 * 4 + 1200 / 256)) # and hashes of the state
same "what is lost of 1200 threads" "$(get dropped)" 0
same "threads" "$(get threads)" 1201
run 0 doctor x.trk
run 0 sim x.trk
run 0 info --json x.trk
at_most "streams of 1200 threads" "$(get threads)" 1024
grep -o '(several threads [0-9]*)' out >names
at_least "streams of several threads" "$(wc -l <names)" 2
same "names of those" "$(sort -u names | wc -l)" "$(wc -l <names)"

# What the recording cost the program: what the file says, however often it is asked.
run 0 record -f -o x.trk -- "$tools/trace_tool" marks 10
run 0 info --json x.trk
append=$(get overhead_append_ns)
same "an append" "$append" "$(get header.capture.append_ns)"
cost=$(get overhead_ns)
awk "BEGIN { exit !($append > 0 && $append < 100000 && $cost > 9.99 * $append && $cost < 10.01 * $append) }" ||
    fail "10 events of $append ns cost $cost ns"
cp out first
run 0 info --json x.trk
cmp -s first out || fail "info says another thing the second time"
run 0 info x.trk
grep -q "^overhead   about " out || fail "no overhead in the text"
grep -q "^overhead .* on top" out && fail "something on top of the overhead of events alone"
run 0 record -f --payload hash --block 5 -o x.trk -- "$tools/trace_tool" marks 10
run 0 info x.trk
grep -q "^overhead .*; hashes of pages and waits for room on top" out || fail "no word of what is on top"

# Output and input of the command are its own.
run 0 record -o x.trk -f -- echo hello
same "output of the command" "$(cat out)" hello
said "did not join"
echo word | "$trk" record -o x.trk -f -- cat >out 2>err
same "input of the command" "$(cat out)" word

# Errors before the start leave nothing.
run 2 record -o y.trk -- ./no-such-command
[ ! -e y.trk ] || fail "a file is left though the command did not start"
echo text >script
chmod 600 script
run 4 record -o y.trk -- ./script
[ ! -e y.trk ] || fail "a file is left though the command was not executable"

# An existing file stays as it is, unless -f is given and the command starts.
echo precious >z.trk
run 2 record -o z.trk -- touch ran
said "give -f"
same "the file" "$(cat z.trk)" precious
[ ! -e ran ] || fail "the command ran though the file exists"
run 2 record -f -o z.trk -- ./no-such-command
same "the file" "$(cat z.trk)" precious
run 0 record -f -o z.trk -- true
run 0 info z.trk
run 2 record -o . -- true
run 2 record -o no/such/folder.trk -- true
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed
    chmod 500 closed
    run 4 record -o closed/x.trk -- true
fi

# Without a name: the next one in the trace directory; other commands take the latest.
TRK_TRACE_DIR=$dir/deep/traces
export TRK_TRACE_DIR
run 0 record -- true
run 0 record -- true
[ -e deep/traces/trk-2.trk ] || fail "no trk-2.trk"
run 0 info --json
same "latest" "$(get path)" "$dir/deep/traces/trk-2.trk"
unset TRK_TRACE_DIR
run 0 record -- true
[ -e .local/share/trk/trk-1.trk ] || fail "no trace in the home directory"
run_with HOME= 4 record -- true

# Standard output, and the twin of an option.
"$trk" record -o - -- true >x.trk 2>err || fail "record -o -"
run 0 info x.trk
run_with TRK_OUTPUT=twin.trk 0 record -- true
run 0 info twin.trk
run 0 record --json -f -o x.trk -- true
json
same "path" "$(get path)" x.trk
same "attached" "$(get attached)" false
same "exit code" "$(get exit_code)" 0
same "signal" "$(get signal)" null
same "complete" "$(get complete)" true
same "error" "$(get error)" null

# What a launcher leaves behind is recorded to its end.
run 3 record --json -f -o x.trk -- sh -c "(sleep 0.2; exec $tools/trace_tool marks 1000) & exit 3"
same "complete" "$(get complete)" true
same "events" "$(get events)" 1000
run 0 info --json x.trk
same "events" "$(get events)" 1000
same "complete" "$(get complete)" true

# A second program is refused, and that is told by both.
run 5 record --json -f -o x.trk -- sh -c "$tools/trace_tool marks 10; $tools/trace_tool marks 10"
said "another program"
said "1 further program wanted to record and was refused"
same "refused joins" "$(get refused_joins)" 1
same "events" "$(get events)" 10

# A second recording into the same file is refused before it starts anything.
"$trk" record -o l.trk -- sh -c ': >running; while [ ! -e go ]; do sleep 0.05; done' 2>err-first &
while [ ! -e running ]; do
    sleep 0.05
done
rm -f ran
run 2 record -f -o l.trk -- touch ran
said "another recording writes it"
[ ! -e ran ] || fail "the second recording started its command"
: >go
wait $! || fail "the first recording ends with $?"
run 0 info --json l.trk
same "complete" "$(get complete)" true

# Losses: counted alike by all.
run 0 record --json --ring 4K -f -o x.trk -- "$tools/trace_tool" marks 300000
events=$(get events)
dropped=$(get dropped)
at_least "dropped" "$dropped" 1
same "events and dropped" $((events + dropped)) 300000
same "complete" "$(get complete)" false
run 3 info --json x.trk
same "events of info" "$(get events)" "$events"
same "dropped of info" "$(get dropped)" "$dropped"
run 3 dump --json x.trk
same "types of losses" "$(sed -n 's/.*"type":"drop".*"of":"\([a-z_]*\)".*/\1/p' out | sort -u)" mark
run 3 info --quick --json x.trk
same "events of info --quick" "$(get events)" null
run 3 sim --json x.trk
same "events of sim" "$(get events)" "$events"

# With --block nothing is lost: the program is slowed down instead.
run 0 record --json --ring 4K --block 20000 -f -o x.trk -- "$tools/trace_tool" marks 30000
same "events" "$(get events)" 30000
same "dropped" "$(get dropped)" 0
same "complete" "$(get complete)" true
at_least "waits" "$(get waits)" 1
run 0 info --json x.trk
same "block" "$(get header.capture.block_ms)" 20000
run 2 record --block 60001 -o y.trk -- true
run 2 record --block soon -o y.trk -- true

# How exact times are: in a file, with a guard, and in a dump that begins with no state.
for shift in 0 5 12; do
    for how in "" --guard "--flight 1M --trigger exit"; do
        # shellcheck disable=SC2086
        run 0 record --clock-shift $shift $how -f -o x.trk -- "$tools/trace_tool" marks 5000
        run 0 dump --text x.trk
        same "shift of $shift $how" "$(sed -n 's/^events .*shift=\([0-9]*\).*/\1/p' out | sort -u)" "$shift"
        run 0 doctor x.trk
    done
done
run 0 record -f -o x.trk -- "$tools/trace_tool" marks 5000
run 0 dump --text x.trk
same "shift when nobody says" "$(sed -n 's/^events .*shift=\([0-9]*\).*/\1/p' out | sort -u)" 5
run 2 record --clock-shift 32 -o y.trk -- true

# A file that cannot be written: the command's code, loud words, and what was thrown away.
if [ -w /dev/full ]; then
    for command in "record -f -o y.trk" stat; do
        for code in 0 7; do
            "$trk" $command --json -- sh -c "$tools/trace_tool marks 10 >/dev/null; exit $code" >/dev/full 2>err
            same "exit code of $command with standard output full" $? "$code"
            said "standard output: No space left"
        done
    done
    "$trk" record --help >/dev/full 2>err
    same "exit code of help with standard output full" $? 4
    run 7 record --json -f -o /dev/full -- sh -c "$tools/trace_tool marks 1000; exit 7"
    said "No space left"
    said "NOT COMPLETE"
    said "0 events, 1000 dropped (1000 of them because the file could not be written)"
    same "complete" "$(get complete)" false
    same "status of the error" "$(get error.status)" system
    same "thrown away" "$(get thrown_away)" 1000
    same "dropped" "$(get dropped)" 1000
fi

# A limit on file sizes is such an error too: 4 MiB, and a file that is nearly as large already.
dd if=/dev/null of=big bs=1 seek=4194000 2>/dev/null
(
    ulimit -f 8192
    "$trk" record --ring 4K -o - -- "$tools/trace_tool" marks 100000 >>big 2>err
)
same "exit code at the limit" $? 0
said "File too large"
said "because the file could not be written"

# What the clocks did until the end: 10 s in which time stamps ran 10 ppm too fast and the wall clock was set
# ahead by 2.5 ms. Where the clocks were not read at the end nothing is said of it.
cat >clock.txt <<'TEXT'
trk-text 1
file level=3 plain=0 sync=5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a
header "{\"tsc_hz\":1000000000,\"clock\":{\"anchors\":[{\"ticks\":\"5000\",\"monotonic_raw_ns\":\"70000000000\",\"realtime_ns\":\"1796073947000000000\"}]}}"
schema
note stream=0 "{\"clocks\":{\"ticks\":\"10000105000\",\"monotonic_raw_ns\":\"80000000000\",\"realtime_ns\":\"1796073957002500000\"}}"
events stream=0 shift=5 flags=1
5024 mark argument=1
end status=0 cut=0
TEXT
run 0 assemble clock.txt -o clock.trk
run 0 info clock.trk
grep -q "^clock  *+10.0 ppm beside the header's frequency in 10.000 s; the wall clock +2.500 ms$" out || fail "clock: $(cat out)"
run 0 info --json clock.trk
same "seconds between the clocks" "$(get clock_seconds)" 10
same "wall clock" "$(get wall_clock_ms)" 2.5
grep -v clocks clock.txt >no-clock.txt
run 0 assemble no-clock.txt -o no-clock.trk
run 0 info --json no-clock.trk
same "clocks that were not read" "$(get clock_ppm),$(get clock_seconds),$(get wall_clock_ms)" null,null,null
finish
