# Goal: a part of a trace judges as the whole does there, from a state that was put back bit for
# bit; and a state that differs by one bit is found.
# Method: recorded traces, one with a bug in it, cut by frame, event, time and region; the hash
# events in the part prove its state. A changed hash and a damaged snapshot must be told. Each stored
# trace with a bug, cut to the region of its verdict, must say the same.
#   trim.sh TRK TOOLS CORPUS
. "$(dirname "$0")/lib.sh"
record_all
corpus=$3

# What is stored through another view of a region's frames is of the region.
bugs=0
for path in "$corpus"/bug-*.trk "$corpus"/foreign-bug-*.trk; do
    name=$(basename "$path" .trk)
    run 1 sim --json "$path"
    verdict="$(get verdict) $(get guest_addr)"
    run 0 trim -f "$path" "region:$(get guest_addr)" -o part.trk
    run 1 sim --json part.trk
    same "$name: verdict of its region" "$(get verdict) $(get guest_addr)" "$verdict"
    same "$name: complete" "$(get complete)" true
    bugs=$((bugs + 1))
done
at_least "stored bugs" "$bugs" 14

# A part's end is not the program's: watches that the program takes back later are no leak.
run 0 trim -f "$corpus/scenario-watches-by-mask-are-counted-too.trk" 319-339 -o part.trk
run 0 sim part.trk

# small NAME: a trace of the events of standard input, and of so many stores elsewhere that a part is smaller.
small() {
    {
        text_begin '{"tsc_hz":2000000000}' '0 t' '0 u' | sed 's/^schema$/& "{\\"types\\":[{\\"id\\":20,\\"name\\":\\"early\\",\\"argument\\":\\"address\\",\\"pair\\":\\"size\\"},{\\"id\\":21,\\"name\\":\\"held\\",\\"pair\\":\\"hold\\"},{\\"id\\":200,\\"name\\":\\"later\\",\\"argument\\":\\"address\\",\\"pair\\":\\"size\\"}]}"/'
        echo "events stream=0 shift=0 flags=1"
        cat
        echo "events stream=1 shift=0 flags=1"
        seq 400 | while read -r n; do
            echo "$((2000 + n)) witness_store domain=$((n * n * n * 31 % 65521)) seq=64 argument=$((0x600400000 + n * n * n * 17 % 65536 * 64))"
        done
        echo "end status=0 cut=0"
    } >"$1.txt"
    run 0 assemble -f "$1.txt" -o "$1.trk"
}

# has FILE TIME...: the events of stream 0 that are in it.
has() {
    file=$1
    shift
    run 0 dump --text "$file"
    same "events of $file" "$(sed -n 's/^\([0-9][0-9]*\) .*/\1/p' out | grep -v '^2...$' | paste -sd ' ')" "$*"
}

# What only annotations are about is a part, too. Events of newer types go by what the file says of them, and what
# became of a copy, or more of an object, goes with that.
small about <<TEXT
1000 map argument=0x200400000 seq=4096 context=3 page=1
1001 map argument=0x200800000 seq=4096 context=3 page=5000
1002 map argument=0x200c00000 seq=4096 context=3 page=9000
1003 op_begin context=1 argument=0x200800000 seq=4096
1004 op_end context=1
1005 type-20 argument=0x200400123 seq=4096
1006 type-20 argument=0x200800123 seq=4096
1007 type-21 domain=0x10000801 seq=1
1008 type-21 domain=0x10000802 seq=1
1009 type-200 argument=0x200400123 seq=4096
1010 type-200 argument=0x200800123 seq=4096
1011 copy_begin argument=0x200400000 seq=64 page=1
1012 copy_end argument=0x200400000 seq=64 page=1
1013 result flags=1 argument=64 seq=64
1014 copy_begin argument=0x200800000 seq=64 page=2
1015 copy_end argument=0x200800000 seq=64 page=2
1016 result flags=1 argument=64 context=14
1017 object argument=0x200400000 seq=64 page=3
1018 object_detail argument=7 page=3
1019 object argument=0x200800000 seq=64 page=4
1020 object_detail argument=8 page=4
1021 mark argument=1
TEXT
run 0 trim -f about.trk region:0x200400000 -o about-1.trk
has about-1.trk 1000 1005 1007 1009 1011 1012 1013 1017 1018 1021
run 0 trim -f about.trk region:0x200800000 -o about-2.trk
has about-2.trk 1001 1003 1004 1006 1008 1010 1014 1015 1016 1019 1020 1021
run 0 trim -f about.trk region:0x200c00000 -o about-3.trk
has about-3.trk 1002 1021
run 2 trim -f about.trk region:0x201000000 -o none.trk
said "nothing is in the range: no event is about the 4 MiB from 0x201000000; closest are 0x200c00000"
# The place of a fault belongs to the fault behind it.
small fault <<TEXT
999 tracker context=1 argument=0x10001000
3000 fault_at argument=0x1234 domain=5
3001 fault argument=0x600400000 page=1
3002 op_end context=1
TEXT
run 0 trim -f fault.trk 402-403 -o part.trk
has part.trk 999 3000 3001 3002
# Nor is a store that is told of behind the part left behind.
small late <<TEXT
1000 foreign seq=4096
1001 op_begin context=7 seq=4096 argument=0x600000000
1002 handed seq=4096 argument=0x600000000
1003 copy_begin seq=4096 argument=0x600000000
1004 copy_end seq=4096 argument=0x600000000
1005 op_end context=7 argument=1
1006 witness_store flags=3 domain=768 seq=1024 argument=0x600000000
1007 op_begin context=10 seq=4096 argument=0x600000000
1008 op_end context=10
1009 op_begin context=7 seq=4096 argument=0x600000000
1010 handed seq=4096 argument=0x600000000
1011 copy_begin seq=4096 argument=0x600000000
1012 copy_end seq=4096 argument=0x600000000
1013 op_end context=7 argument=1
1014 gpu_read seq=16 argument=0x600000000
TEXT
run 0 sim late.trk
run 0 trim late.trk 0-7 -o late-part.trk
run 3 sim --json late-part.trk
same "verdict of a part without checks" "$(get verdict)" unknown

# An operation over more regions than are tied together one by one is of each of them.
small wide <<TEXT
1000 op_begin context=1 argument=0x200000000 seq=1073741824
1001 op_end context=1
1002 gpu_complete argument=1
TEXT
run 0 trim -f wide.trk region:0x210400000 -o part.trk
has part.trk 1000 1001 1002

# Where the whole is the smaller part, what is said is said of the whole.
run 0 info --json "$corpus/demo-seed-1.trk"
events=$(get events)
run 0 trim --json "$corpus/demo-seed-1.trk" "0-$((events - 7))" -o kept.trk
said "it is kept as it is"
same "records of the whole" "$(get records)" "$events"
same "bytes of the whole" "$(get bytes)" "$(wc -c <"$corpus/demo-seed-1.trk")"
cmp "$corpus/demo-seed-1.trk" kept.trk || fail "the whole is not kept as it is"
need_vulkan

run 0 replay --check --json late-part.trk
same "findings at the end of a part" "$(get findings)" 0

"$trk" record --payload hash -o ok.trk -- "$trk" demo --frames 40 >out 2>err || fail "record"
run 0 sim --json ok.trk
run 0 info --full --json ok.trk
at_least "hashed pages" "$(get pages_hashed)" 100
run 0 sim --json ok.trk
last=$(($(get events) - 1))
whole=$(wc -c <ok.trk)

for range in frame:20-25 frame:0-3 frame:38- "2000-9000" "$last-" time:1ms- region:0x200000000 \
    region:0x80000000000; do
    run 0 trim -f ok.trk "$range" -o part.trk
    [ "$(wc -c <part.trk)" -le "$whole" ] || fail "$range: larger than the whole"
    run 0 sim --json part.trk
    same "verdict of $range" "$(get verdict)" ok
    same "complete of $range" "$(get complete)" true
    run 0 doctor part.trk
done
run 0 trim --json -f ok.trk frame:20-25 -o part.trk
json
at_least records "$(get records)" 100
run 0 dump part.trk frame:22
at_least "events of a frame in a part" "$(wc -l <out)" 10
text_keeps part.trk
run 0 recover part.trk -o recovered.trk
run 0 sim recovered.trk

# The state is in doubt when one bit of a hash is.
run 0 dump --text ok.trk
grep -q " state " out || fail "no state in the trace"
sed '0,/ state /s/\( state .*argument=\).*/\10x1234/' out >text.txt
run 0 assemble -f text.txt -o changed.trk
run 1 sim --json changed.trk
same "verdict of a changed hash" "$(get verdict)" divergence
# And when the snapshot does not say it right.
run 0 dump --text part.trk
sed '/^chunk kind=7/s/\\xff\\xff/\\xfe\\xff/' out >text.txt
run 0 assemble -f text.txt -o changed.trk
"$trk" sim --json changed.trk >out 2>err
[ "$(get verdict)" != ok ] || fail "a changed snapshot is believed"
sed '/^chunk kind=7/s/"\(.*\)"/"\\xff"/' text.txt >short.txt
run 3 assemble short.txt -o short.trk
grep -q 'the snapshot is not readable (at byte 64)' err && fail "the snapshot is said to be where HEADER is"
said "the snapshot is not readable (at byte [1-9]"

for range in 5-10/2 time:1x-2x frame:999 999999999; do
    run 2 trim ok.trk "$range" -o none.trk
    [ ! -e none.trk ] || fail "a part is left of $range"
done
run 2 trim ok.trk frame:999 -o none.trk
said "nothing is in the range: the last frame is [1-9]"
run 2 trim ok.trk region:0x400000000 -o none.trk
said "nothing is in the range: no event is about the 4 MiB from 0x400000000; closest are 0x300000000"
run 0 trim ok.trk 1000-3000 -o piece.trk
printf '1000-1999\n2000-3000 # and on\n' >list
run 0 trim ok.trk @list -o listed.trk
cmp piece.trk listed.trk || fail "a list in one piece is another part"
printf '1000-1998\n2000-3000\n' >list
run 2 trim ok.trk @list -o none.trk
said "a gap behind event 1998"
run 4 trim part.trk frame:22 -o none.trk
run 2 trim ok.trk
# A region that no operation names, and that shows the frames of another, is cut like that one.
run 0 trim -f ok.trk region:0x200000000 -o view.trk
run 0 trim -f ok.trk region:0x300000000 -o again.trk
cmp view.trk again.trk || fail "a region through its other view is another part"

# A bug is in the part that has it.
"$trk" record -o bug.trk -- "$trk" demo --frames 30 --bug copy-before-arm >out 2>err ||
    fail "record of a bug"
"$trk" sim --json bug.trk >out 2>err
verdict=$(get verdict)
at=$(get event_at)
visible=$(get event_visible)
run 0 trim bug.trk "$((at > 4000 ? at - 4000 : 0))-$((visible + 400))" -o bugpart.trk
[ "$(wc -c <bugpart.trk)" -lt "$(wc -c <bug.trk)" ] || fail "the part with the bug is not smaller"
run 1 sim --json bugpart.trk
same "verdict of the part" "$(get verdict)" "$verdict"

# A part stays one when it is packed: it begins with its state, at other addresses too.
region=$("$trk" dump bugpart.trk | sed -n 's/.* region=\(0x[0-9a-f]*\).*/\1/p' | sort | head -n 1)
"$trk" sim --json bugpart.trk >out 2>err
at=$(get event_at)
for how in pack "pack --redact" unpack "unpack --redact"; do
    # shellcheck disable=SC2086
    run 0 $how -f bugpart.trk -o again.trk
    run 1 sim --json again.trk
    same "verdict of a part after $how" "$(get verdict)" "$verdict"
    same "event of a part after $how" "$(get event_at)" "$at"
    run 0 doctor again.trk
    # shellcheck disable=SC2086
    run 0 $how -f part.trk -o again.trk
    run 0 sim --json again.trk
    same "verdict of a good part after $how" "$(get verdict)" ok
    same "complete of a good part after $how" "$(get complete)" true
    run 0 dump again.trk
    case $how in
    *redact) grep -q "$region" out && fail "$how: the addresses of a part stay" ;;
    *) grep -q "$region" out || fail "$how: the addresses of a part move" ;;
    esac
done
run 0 pack -f part.trk -o packed.trk
run 0 unpack -f packed.trk -o again.trk
run 0 dump part.trk
mv out before.txt
run 0 dump again.trk
cmp -s before.txt out || fail "a part has other events after pack and unpack"
finish
