# Goal: traces as text and back, packed and unpacked, and redacted say the same as before; what
# cannot be made leaves nothing.
# Method: small traces and a recorded one with a bug in it, through the program.
. "$(dirname "$0")/lib.sh"
record_all

"$tools/trace_tool" make t.trk || fail "trace_tool make"
"$tools/trace_tool" unended u.trk || fail "trace_tool unended"

# Text and back.
for file in t.trk u.trk; do
    "$trk" dump --text "$file" >text.txt 2>err
    run 0 assemble -f text.txt -o again.trk
    cmp "$file" again.trk || fail "$file is other bytes after text and assemble"
done
run 0 dump --text t.trk
cp out text.txt
"$trk" assemble - -o - <text.txt >again.trk 2>err || fail "assemble of a pipe"
cmp t.trk again.trk || fail "assemble of a pipe gives other bytes"
run 2 dump --text t.trk 3-4
sed 's/argument=0x25/argument=0x26/' text.txt >edited.txt
run 0 assemble --json edited.txt -o edited.trk
json
same records "$(get records)" 40
run 0 dump --raw edited.trk
grep -q "argument=0x26" out || fail "an edit is not in the trace"
number=0
while IFS= read -r bad; do
    number=$((number + 1))
    { sed -n '1,/^events/p' text.txt; echo "$bad"; } >bad.txt
    run 2 assemble bad.txt -o "bad$number.trk"
    said "line"
    [ ! -e "bad$number.trk" ] || fail "a trace is left of a bad text"
done <<LINES
5 nothing
5 mark argument=0x
5 mark argument=1 argument=2
5 mark page=65536
5 mark colour=1
99999999999999999999 mark
mark 5
events stream=1 shift=32 flags=1
events stream=4294967295 shift=1 flags=1
note stream=1
note stream=1 "unclosed
note stream=1 "\\x4"
header "{}"
chunk kind=2 flags=0 stream=0 ""
end status=x
file level=3 plain=0 sync=00
LINES
run 3 assemble /dev/null -o none.trk
timeout 100 "$trk" assemble /dev/zero -o none.trk 2>err
same "assemble of a line without an end" $? 2
said "too long or holds a NUL"
said "^trk assemble: -\{0,1\}.*line 1: it is too long"
printf 'trk-text 1\n# two\n\0\n' | "$trk" assemble - -o none.trk 2>err
same "assemble of a line with a NUL" $? 2
said "line 3: it is too long or holds a NUL"
tr '\0' x </dev/zero | timeout 100 "$trk" assemble - -o none.trk 2>err
same "assemble of a long line without an end" $? 2

# Without a name it is the latest trace, by - standard input.
mkdir latest
cp t.trk latest/trk-7.trk
for command in "doctor --json" "pack -f -o n.trk --json" "unpack -f -o n.trk --json" \
    "recover -f -o n.trk --json"; do
    # shellcheck disable=SC2086
    run_with TRK_TRACE_DIR="$dir/latest" 0 $command
    same "path of $command" "$(get path)" "$dir/latest/trk-7.trk"
done
run_with TRK_TRACE_DIR="$dir/latest" 0 follow
[ "$(wc -l <out)" -eq 40 ] || fail "follow of the latest trace"
"$trk" follow - <t.trk >out 2>err || fail "follow of standard input"
[ "$(wc -l <out)" -eq 40 ] || fail "follow of standard input"
# shellcheck disable=SC2002
cat t.trk | "$trk" doctor - >out 2>err || fail "doctor of a pipe"
run 2 assemble nowhere.txt -o none.trk

# Ranges by time and by list.
run 0 dump t.trk time:0us-1us
same "events in a microsecond" "$(wc -l <out)" 32
run 0 dump t.trk time:1us-
same "events from then on" "$(wc -l <out)" 8
run 0 dump t.trk time:1s-
said "the last event is at"
printf '3\n10-20/5 # some\n\n39-\n' >list
run 0 dump t.trk @list
same "events of a list" "$(wc -l <out)" 5
: >emptylist
for range in time:5 time:5x-6x time:2s-1s time:1.5ns-2ns @nowhere @emptylist; do
    run 2 dump t.trk "$range"
done

# Hashes of uploaded pages: one upload with nothing new, one page stored to during its copy.
assembled pages <<TEXT
$(text_begin '{}' '0 t')
events stream=0 shift=0 flags=1
10 page argument=0x200000000 seq=1 domain=2
11 page flags=1 argument=0x200000000 seq=1 domain=2
12 page flags=1 argument=0x200000000 seq=1 domain=2
13 page argument=0x200001000 seq=3
14 page flags=1 argument=0x200001000 seq=4
end status=0 cut=0
TEXT
run 0 info --full --json pages.trk
same "hashed pages" "$(get pages_hashed)" 3
same "redundant pages" "$(get pages_redundant)" 1
same "moved pages" "$(get pages_moved)" 1
run 0 info --full --json t.trk
same "hashed pages of a trace without" "$(get pages_hashed)" null

# Packed and unpacked.
run 0 pack --json t.trk -o p.trk
json
same records "$(get records)" 40
run 2 pack t.trk -o p.trk
run 0 unpack p.trk -o unpacked.trk
"$tools/trace_tool" same t.trk p.trk || fail "pack changes events"
"$tools/trace_tool" same t.trk unpacked.trk || fail "unpack changes events"
run 3 pack u.trk -o pu.trk
run 3 info --json pu.trk
same ended "$(get ended)" true
same complete "$(get complete)" false
cp t.trk d.trk
printf 'XX' | dd of=d.trk bs=1 seek=600 conv=notrunc 2>/dev/null
run 3 pack d.trk -o pd.trk
said "trk recover"
[ ! -e pd.trk ] || fail "a trace is left of a pack that was refused"

# What was refused because it runs out of its band is refused again, at other addresses: at the ends of
# both bands, and as the other view of a range.
number=0
while IFS='|' read -r first last; do
    number=$((number + 1))
    cat >edge.txt <<TEXT
$(text_begin '{}' '0 render')
events stream=0 shift=0 flags=1
10 tracker argument=0x10001000
20 op_begin context=2 seq=4096 argument=0x80400000000
30 op_end context=2
40 op_begin context=2 seq=4096 argument=0x500000000
50 op_end context=2
60 op_begin context=2 seq=4096 argument=0x87ffffff000
70 op_end context=2
80 operand argument=$last
90 op_begin context=22 seq=8192 argument=$first
100 fail context=1 flags=22 seq=8192 argument=$last
110 op_end context=22 flags=1
end status=0 cut=0
TEXT
    [ "$first" != "$last" ] || sed -i '/operand/d; s/context=22/context=2/; s/flags=22/flags=2/' edge.txt
    run 0 assemble -f edge.txt -o edge.trk
    run 1 sim --json edge.trk
    same "verdict at edge $number" "$(get verdict)" fatal:range
    event=$(get event_at)
    run 0 pack -f --redact edge.trk -o moved.trk
    run 1 sim --json moved.trk
    same "verdict at edge $number after --redact" "$(get verdict)" fatal:range
    same "event at edge $number after --redact" "$(get event_at)" "$event"
    run 0 dump moved.trk
    grep -q '0x80400000000\|0x500000000' out && fail "--redact at edge $number: addresses stay"
    run 0 diff edge.trk moved.trk
done <<EDGES
0x87ffffff000|0x87ffffff000
0xfffffff000|0xfffffff000
0x500002000|0xfffffff000
0x80400002000|0x87ffffff000
EDGES
same "edges" "$number" 4

# The same verdict at other addresses.
if "$trk" demo --frames 1 >out 2>err; then
    "$trk" record -o bug.trk -- "$trk" demo --frames 30 --bug copy-before-arm >out 2>err ||
        fail "record of a bug"
    "$trk" sim --json bug.trk >out 2>err
    code=$?
    verdict=$(get verdict)
    event=$(get event_visible)
    for how in "" --redact; do
        # shellcheck disable=SC2086
        run 0 pack -f $how bug.trk -o packed.trk
        run "$code" sim --json packed.trk
        same "verdict of pack $how" "$(get verdict)" "$verdict"
        same "event of pack $how" "$(get event_visible)" "$event"
    done
    # The lowest region of each band is its first: region 1 below, where the arena begins above.
    "$trk" dump bug.trk | sed -n 's/.* region=0x\([0-9a-f]*\).*/\1/p' | sort -u >before.txt
    "$trk" dump packed.trk | sed -n 's/.* region=0x\([0-9a-f]*\).*/\1/p' | sort -u >after.txt
    same "regions after --redact" "$(wc -l <after.txt)" "$(wc -l <before.txt)"
    low=$(awk 'length <= 10' before.txt | head -n 1)
    [ -n "$low" ] || fail "no region in the low band"
    grep -q "^$low" after.txt && fail "--redact: the addresses stay"
    grep -qx 400000 after.txt || fail "--redact: the lowest region is not the first one"
    run 0 info --json packed.trk
    grep -q '"command"\|"environment"\|"processor"' out && fail "a redacted trace names the machine"
    [ "$(wc -c <packed.trk)" -lt "$(wc -c <bug.trk)" ] || fail "a packed trace is not smaller"
fi
finish
