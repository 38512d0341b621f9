# Goal: a redacted trace says the same as the one that it was made from, but for addresses.
# Method: every stored trace at higher addresses (lift_trace), redacted again; scenarios on real memory whose
# verdict rests on addresses (generations, the end of a band), recorded and redacted; sums falsified.
#   redact.sh TRK TOOLS ROOT SCENARIO_LIVE
. "$(dirname "$0")/lib.sh"
record_all
root=$3
live=$4

# Addresses and what they make wide are left out, and so is where the host's code lay, which goes.
plain() {
    sed '/ fault_at /s/ \(pc\|sp\|at\)=[^ ]*//g
        s/"0x[0-9a-f]*"/A/g; s/0x[0-9a-f]\{4,\}/A/g; s/\(high\|low\)\.trk/F/g; s/  */ /g' "$1"
}

# alike COMMAND ARGUMENT...: the command says the same of high.trk and low.trk.
alike() {
    command=$1
    shift
    for file in high low; do
        "$trk" "$command" "$file.trk" "$@" >"$file.out" 2>&1
        echo "exit code $?" >>"$file.out"
        plain "$file.out" >"$file.txt"
    done
    cmp -s high.txt low.txt || {
        fail "$name: trk $command says something else of the redacted trace:"
        diff high.txt low.txt | head -6 | sed 's/^/    /'
    }
}

# verdict FILE: with the event at which it shows.
verdict() {
    "$trk" sim --json "$1" >out 2>err
    code=$?
    echo "$code $(get verdict) $(get event_at) $(get event_visible)"
}

# whether all of it is as it was; high.trk becomes low.trk.
redacted_alike() {
    run 0 pack -f --redact high.trk -o low.trk
    same "$name: verdict" "$(verdict low.trk)" "$(verdict high.trk)"
    run 0 diff high.trk low.trk
    alike dump
    alike sim
    alike report --json
    alike query "SELECT * FROM operations"
}

traces=0
moved=0
for path in "$root"/traces/corpus/*.trk; do
    name=$(basename "$path" .trk)
    traces=$((traces + 1))
    "$tools/lift_trace" "$path" high.trk >far || fail "$name: lift_trace"
    [ "$(cat far)" = "0 0" ] || moved=$((moved + 1))
    same "$name: verdict at higher addresses" "$(verdict high.trk)" "$(verdict "$path")"
    redacted_alike
    run 0 pack -f --redact "$path" -o again.trk
    "$tools/trace_tool" same again.trk low.trk >out 2>&1 ||
        fail "$name: redacted from higher addresses it is another trace: $(head -1 out)"
done
[ "$traces" -gt 40 ] && [ $((traces - moved)) -le 1 ] ||
    fail "of $traces stored traces only $moved could be moved"

# Of a case that is made from a trace, and of two traces that differ.
for name in bug-copy-before-arm bug-flush-leaves-page scenario-strict-refuses-a-page-taken-anew; do
    "$tools/lift_trace" "$root/traces/corpus/$name.trk" high.trk >far || fail "$name: lift_trace"
    run 0 pack -f --redact high.trk -o low.trk
    for file in high low; do
        run 0 minimise -f "$file.trk" -o "$file.json"
        plain "$file.json" | sed 's/--schedule [^ "]*//' >"$file.txt"
    done
    cmp -s high.txt low.txt || fail "$name: another case comes of the redacted trace"
    alike diff "$root/traces/corpus/demo-seed-1.trk"
    high=$("$trk" query high.trk "SELECT guest_addr FROM operations WHERE op = 'upload' LIMIT 1" | tail -1)
    low=$("$trk" query low.trk "SELECT guest_addr FROM operations WHERE op = 'upload' LIMIT 1" | tail -1)
    [ "$high" != "$low" ] || fail "$name: the address of an upload stays"
    "$trk" why high.trk "$high" >high.out 2>&1
    "$trk" why low.trk "$low" >low.out 2>&1
    [ "$(plain high.out)" = "$(plain low.out)" ] || fail "$name: trk why says something else"
done

# record NAME: the scenario of standard input on real memory, into high.trk.
record() {
    name=$1
    cat >"$name.json"
    "$trk" record -f -o high.trk -- "$live" --one "$name.json" >out 2>err ||
        fail "$name: $(grep -h . out err | head -1)"
    same "$name: verdict" "$(verdict high.trk | cut -d ' ' -f 2)" ok
}

# A wide fault at a band's end, with the band's other memory far below: only the latter moves.
record edge <<TEXT
{"scenario": 1, "name": "edge", "policy": {"fault_width": 8},
 "memory": {"A": {"at": "0xfffffff000", "size": "1P"}, "B": {"at": "0x500000000", "size": "1P"}},
 "init": ["upload A 1P => [A 1P]", "upload B 1P => [B 1P]"],
 "threads": {"guest": {"kind": "guest", "run": ["store A+P-4 4 7 => handled", "is_cpu A 1P => 1"]}},
 "expect": {"verdict": "ok"}}
TEXT
redacted_alike
run 0 dump low.trk
grep -q '0x500000000' out && fail "edge: what is not at the band's end stays"
grep -q 'fault_at  *pc=0x0 sp=0x0' out || fail "edge: the host's code and stack stay"
grep -q ' at=' out && fail "edge: a module is named"
# A program that ends at once may be gone before its mappings are read.
for _ in $(seq 40); do
    "$trk" info --json high.trk | grep -q '"modules":\[{' && break
    "$trk" record -f -o high.trk -- "$live" --one edge.json >again.txt 2>&1 || fail "edge: $(cat again.txt)"
done
"$trk" dump high.trk >high.out
grep -q 'fault_at  *pc=0x[0-9a-f]* .* at=[a-z]' high.out || fail "edge: the code that faulted is not named"
"$trk" dump --text low.trk | grep '^note.*clocks.*ticks' >notes || fail "edge: no clocks at the end"
grep -q realtime notes && fail "edge: the time of day stays"
grep -q 'fault .*0xfffffffffc' out || fail "edge: the fault moved away from the band's end"

# Code that faults moves with the guest memory that it is in. Where nothing else is about that it says how far the
# rest has moved, below it as above, and goes.
name=code
assembled code <<TEXT
$(text_begin '{"tsc_hz":2000000000}' '0 t')
events stream=0 shift=0 flags=1
1000 map argument=0x200400000 seq=4096 context=3
1001 map argument=0x80200400000 seq=4096 context=3
$(n=1002 && for pc in 0x200400123 0x400123 0x201400123 0x80200400123 0x80000400123 0x7f1234567123; do
    echo "$n fault_at argument=$pc"
    n=$((n + 1))
done)
end status=0 cut=0
TEXT
run 0 pack -f --redact code.trk -o low.trk
run 0 dump --text low.trk
same "code: places" "$(sed -n 's/.* fault_at *\(argument=\)*//p' out | paste -sd ' ')" \
    "0x400123   0x80000000123  "
run 0 diff code.trk low.trk

# What stands in fields that a type does not use goes, but what a loss says of itself stays; so does the
# range of an operation that has none, as our tracker says it, and no other.
sed '/ map /d; / fault_at /d; s/^end /3000 frame argument=0x1 seq=74565 domain=0x7f00\
3001 lock context=9 domain=0x10000002 seq=1 argument=0x7f12\
3002 gpu_complete flags=0x1 argument=0x2 page=7 pages=8\
3003 op_begin context=14 seq=4096 argument=0x7f1234000\
3004 op_end context=14\
3005 op_begin context=14 seq=4096 argument=0x1000\
3006 op_end context=14\
3007 drop flags=0x3 context=74 seq=9 page=5 argument=0x1\
&/' code.txt >unused.txt
run 0 assemble unused.txt -o unused.trk
run 3 pack -f --redact unused.trk -o low.trk
"$trk" dump --text low.trk >out 2>err
same "unused fields" "$(sed -n 's/^30[0-9]* //p' out | paste -sd '|')" \
    "frame argument=0x1|lock domain=0x10000001 seq=1|gpu_complete argument=0x2|op_begin context=14 seq=4096|op_end context=14|op_begin context=14 seq=4096 argument=0x1000|op_end context=14|drop context=74 seq=9 argument=0x1"

# Without a gap below it, all of it stays: the page before the last region is a neighbour.
record neighbours <<TEXT
{"scenario": 1, "name": "neighbours", "policy": {"fault_width": 8},
 "memory": {"A": {"at": "0xffffbff000", "size": "1025P"}},
 "init": ["upload A 1025P => [A 1025P]"],
 "threads": {"guest": {"kind": "guest", "run": ["store A+1025P-4 4 7 => handled", "is_cpu A 1P => 0",
   "invalidate A 1025P"]}},
 "expect": {"verdict": "ok"}}
TEXT
redacted_alike

# Addresses of the host lie in no band: what is together stays together, and nothing else is told.
name=host
assembled host <<TEXT
$(text_begin '{"tsc_hz":2000000000}' '0 t')
events stream=0 shift=5 flags=1
3200 map argument=0x7f1234567000 seq=4096 context=3
3232 object argument=0x7f1234567800 seq=64 page=3
3264 host_protect argument=0x7f1234ffe000 seq=12288 page=1
3296 access argument=0x55aa00001000 seq=8
3328 locks argument=0x20000003000 seq=4096 page=1
3360 unmap argument=0xffffffffffffe000 seq=8192
3392 map argument=0x500000000 seq=4096
3424 access argument=0x10 seq=8
end status=0 cut=0
TEXT
run 0 pack -f --redact host.trk -o low.trk
run 0 dump low.trk
want="0x100001167000 0x100001167800 0x100001bfe000 0x100000801000 0x100000003000 0x1000027fe000 0x400000 0x10"
same "host: addresses" "$(sed -n 's/.*guest_addr=\(0x[0-9a-f]*\).*/\1/p' out | paste -sd ' ')" "$want"
"$trk" info --json low.trk >out 2>err
same "host: bands that moved" "$(get header.moved.0) $(get header.moved.1)" "low other"
run 0 diff host.trk low.trk
cp low.trk high.trk
run 0 pack -f --redact high.trk -o low.trk
"$tools/trace_tool" same high.trk low.trk >out 2>&1 || fail "host: redacted twice it is another: $(head -1 out)"
# More places than can be kept apart are refused, and nothing of them is told.
{
    sed '/^end/d' host.txt
    seq -f 'x %.0f' 5000 | while read -r _ i; do
        printf '%d access argument=0x%x seq=8\n' $((4000 + 32 * i)) $((0x600000000000 + i * 0x1000000))
    done
    echo "end status=0 cut=0"
} >many.txt
run 0 assemble -f many.txt -o many.trk
run 4 pack -f --redact many.trk -o none.trk
said 'in too many places to be moved'
[ ! -e none.trk ] || fail "host: something is left of a redaction that was refused"

# Generations in both bands. Another sum than the right one is found.
record sums <<TEXT
{"scenario": 1, "name": "sums", "policy": {"generations": true},
 "memory": {"A": {"at": "0x500000000", "size": "4G", "gpu": false},
            "B": {"at": "0x80410000000", "size": "4G", "gpu": false}},
 "threads": {"main": ["gen_track A 2G => new g", "gen_track B 2G => new k", "gen A 2G => same g",
   "store A+G+8 8 1 => handled", "gen A 2G => not g", "gen A 2G => new h", "gen B 2G => same k",
   "gen_hle B+G 8 => ok", "gen B 2G => not k", "gen A 2G => same h", "guest_protect A 1G rw => ok",
   "gen A 1G => 0"]},
 "expect": {"verdict": "ok"}}
TEXT
redacted_alike
"$trk" info --json low.trk >out 2>err
same "sums: bands that moved" "$(get header.moved.0) $(get header.moved.1)" "low arena"
run 0 dump --text low.trk
cp out text.txt
sums=$(grep -c 'op_end context=2[45]' text.txt)
[ "$sums" -eq 9 ] || fail "sums: $sums of them in the trace"
# falsify PATTERN SUM: the sums of these lines become SUM.
falsify() {
    sed "/op_end context=2[45]/s/argument=$1\$/argument=$2/" text.txt >false.txt
    cmp -s text.txt false.txt && fail "sums: nothing to falsify with $1"
    run 0 assemble -f false.txt -o false.trk
    same "sums: verdict of $1 as $2" "$(verdict false.trk | cut -d ' ' -f 2)" divergence
}
first=$(grep 'op_end context=24' text.txt | head -1 | sed 's/.*argument=//')
last=$(grep 'op_end context=25' text.txt | grep 'argument=' | tail -1 | sed 's/.*argument=//')
falsify "$last" "$first" # different ones equal
falsify "$first" 0x0     # one for none
number=$(grep -n "op_end context=25.*argument=$first\$" text.txt | head -1 | cut -d : -f 1)
sed "${number}s/argument=.*/argument=0x77/" text.txt >false.txt # equal ones different
run 0 assemble -f false.txt -o false.trk
same "sums: verdict of two for one" "$(verdict false.trk | cut -d ' ' -f 2)" divergence
# A redacted trace whose header was lost no longer says what moved: its sums may all have. It is not whole.
run 0 pack -f --redact high.trk -o low.trk
cp low.trk flipped.trk
byte=$(od -An -tu1 -j 200 -N1 flipped.trk) # of the HEADER's payload
printf '%b' "\\0$(printf %o $((byte ^ 1)))" | dd of=flipped.trk bs=1 seek=200 conv=notrunc 2>/dev/null
run 0 recover -f --json flipped.trk -o headless.trk
same "headless: header lost" "$(get header_lost) $(get complete)" "true false"
same "headless: verdict" "$(verdict headless.trk | cut -d ' ' -f 2)" ok
run 3 doctor headless.trk
grep -q '^header .*lost' out || fail "headless: doctor does not say that the header was lost"
run 3 doctor --json headless.trk
same "headless: of doctor" "$(get header_lost) $(get complete)" "true false"
run 3 pack -f --redact headless.trk -o again.trk
same "headless: verdict when it is redacted again" "$(verdict again.trk | cut -d ' ' -f 2)" ok
run 3 doctor again.trk
run 0 doctor --json low.trk
same "sums: header lost" "$(get header_lost)" false
# Of the header stays what is known: what a newer writer adds goes, at any depth.
run 0 pack -f --redact high.trk -o low.trk
"$trk" info --json low.trk >out 2>err
sed -n '/"header":/,$p' out >known.out
run 0 dump --text high.trk
sed '/^header /{
s/\\"capture\\":{/&\\"x\\":\\"leak\\",\\"rings.x\\":\\"leak\\",/
s/\\"not_visible\\":\[/&\\"leak\\",/
s/\\"trackers\\":\[{/&\\"path\\":\\"leak\\",\\"host\\":{\\"id\\":\\"leak\\"},/
s/\\"policy\\":{/&\\"x\\":[\\"leak\\"],/
s/\\"model\\":{/&\\"deep\\":{\\"bands\\":\\"leak\\"},/
s/\\"clock\\":{/&\\"zone\\":\\"leak\\",/
s/\\"bands\\":\[{/&\\"of\\":\\"leak\\",/
}' out >leak.txt
leaks=$(grep '^header ' leak.txt | grep -o leak | wc -l)
[ "$leaks" -eq 9 ] || fail "leak: $leaks of them in the header"
run 0 assemble -f leak.txt -o leak.trk
run 0 pack -f --redact leak.trk -o leakless.trk
"$trk" info --json leakless.trk >out 2>err
sed -n '/"header":/,$p' out >leakless.out
grep -q leak leakless.out && fail "leak: what a newer writer adds stays"
cmp -s leakless.out known.out || fail "leak: another header than without what was added"
for key in capture not_visible trackers model clock tsc_hz; do
    grep -q "\"$key\":" known.out || fail "leak: $key is lost"
done
same "leak: what is not visible" "$(grep -o 'order between threads that shares neither' known.out | wc -l)" 1
# Nor does a text stay where a number or a truth belongs. The address of an operand whose operation is lost moves as
# what lies there does, and goes where nothing else does: as it was it would tell how far the rest moved.
assembled told <<END
$(text_begin '{"recovered":"SECRET","tsc_hz":"SECRET","model":{"region_bytes":["SECRET"]}}' '1 one')
events stream=0 shift=0 flags=1
10 witness_store seq=64 domain=1 argument=0x600400040
20 operand argument=0x600400000
30 mark argument=1
40 operand argument=0x700800000
50 mark argument=2
end status=0 cut=0
END
run 0 pack -f --redact told.trk -o again.trk
run 0 dump --text again.trk
grep -q 'SECRET' out && fail "a text stays in place of a number: $(grep ^header out)"
same "addresses beside operands without their operation" "$(sed -n 's/.* argument=//p' out | paste -sd ' ')" \
    "0x400040 0x400000 0x1 0x2"
# By their numbers where the header says that nothing moved; the first versions did not say what did.
sed 's/\\"moved\\":\[[^]]*\]/\\"moved\\":[]/' text.txt >false.txt
run 0 assemble -f false.txt -o false.trk
same "sums: verdict where nothing moved" "$(verdict false.trk | cut -d ' ' -f 2)" divergence
sed 's/,\\"moved\\":\[[^]]*\]//' text.txt >older.txt
cmp -s text.txt older.txt && fail "sums: the header does not say what moved"
run 0 assemble -f older.txt -o older.trk
same "sums: verdict of an older trace" "$(verdict older.trk | cut -d ' ' -f 2)" ok
run 0 pack -f --redact older.trk -o again.trk
same "sums: verdict of an older trace again" "$(verdict again.trk | cut -d ' ' -f 2)" ok
finish
