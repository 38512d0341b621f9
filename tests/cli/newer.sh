# Goal: what is newer than this version is read as far as it goes: types of events that the file
# describes are printed by their names; of those that are required no verdict is given; chunks of an
# unknown kind are passed over, required ones refused with their place; what is written again from a
# trace has what is newer too, or says what it leaves out.
# Method: the text of a small trace, with a description of types, events and chunks added by hand.
. "$(dirname "$0")/lib.sh"

"$tools/trace_tool" make t.trk || fail "trace_tool make"
run 0 dump --text t.trk
cp out text.txt

# described REQUIRED: new.trk, with an event of type 200 in the midst of known ones.
described() {
    sed -e 's/^schema$/schema "{\\"schema\\":\\"trk.types\\",\\"types\\":[{\\"id\\":200,\\"name\\":\\"later\\",\\"argument\\":\\"number\\"'"$1"'}]}"/' \
        -e '0,/^[0-9]* mark .*/s//&\n4000 type-200 argument=0x7/' text.txt >new.txt
    run 0 assemble -f new.txt -o new.trk
}
described ''
run 0 dump new.trk
grep -q 'later' out || fail "a described type has no name"
run 0 dump --json new.trk
grep -q '"type":"later"' out || fail "a described type has no name in JSON"
run 3 sim --json new.trk # no tracker is in it: nothing to judge, and no reason to refuse
same verdict "$(get verdict)" unknown
run 0 doctor new.trk
# A name is no escape sequence, and no end of a text.
sed 's/"later/"la\\\\\\"\\\\u001b[31mter/' new.txt >named.txt
cmp -s new.txt named.txt && fail "nothing to name"
run 0 assemble -f named.txt -o named.trk
run 0 dump --json named.trk
grep -q '"type":"la??\[31mter"' out || fail "a name goes into JSON as it is: $(grep la out)"

described ',\\"required\\":true'
run 0 dump new.trk
grep -q 'later' out || fail "a required type is not printed"
for mode in "" --oracle-only; do
    run 4 sim $mode new.trk
    said 'type 200 (later) are required'
done
# [F-36] Of all commands that judge or re-execute, none goes on behind it.
for command in "why new.trk 0x200000000" "diff new.trk t.trk" "diff t.trk new.trk" \
    "bisect new.trk" "bisect --symptom frame:0,range:0x200000000+4096 new.trk" "replay new.trk" \
    "advise new.trk" "report new.trk" "bench new.trk --all" "explore new.trk" \
    "minimise new.trk -o none.json" "pack --checkpoints 1 new.trk -o none.trk"; do
    # shellcheck disable=SC2086
    run 4 $command
    said 'type 200 (later) are required.*(event [0-9]'
done
for command in "info new.trk" "doctor new.trk" "follow new.trk" "dump --text new.trk"; do
    # shellcheck disable=SC2086
    run 0 $command
done
run 0 follow new.trk
grep -q ' later ' out || fail "follow does not name a newer type"
same "follow: what an event of a newer type says" "$(sed -n 's/.* later *//p' out)" "number=7"
run 0 query new.trk "SELECT count(*) FROM events WHERE type = 'later'"
same "rows of a required type" "$(tail -n 1 out)" 1
run 4 query new.trk "SELECT * FROM v_stale_reads"
run 4 sim --json new.trk
same status "$(get error.status)" version
at_least "event named" "$(get error.event)" 1

# [F-36] [F-41] Who writes the trace again says the same of the type, so that it is refused again.
run 0 dump --text new.trk
grep '^schema' out | grep -o '{..id..:200[^}]*}' >want.txt
grep -q required want.txt || fail "no description in the text"
sed 's/^schema .*/schema/' new.txt >plain.txt
run 0 assemble -f plain.txt -o plain.trk
for command in "pack new.trk" "unpack new.trk" "recover new.trk" "merge new.trk plain.trk" \
    "merge plain.trk new.trk" "trim new.trk 0-100"; do
    # shellcheck disable=SC2086
    run 0 $command -f -o again.trk
    run 0 dump --text again.trk
    grep '^schema' out | grep -o '{..id..:200[^}]*}' >have.txt
    cmp -s want.txt have.txt || fail "$command: the description of a newer type is another"
    run 0 dump again.trk
    grep -q 'later' out || fail "$command: a newer type lost its name"
    run 4 sim again.trk
done
# Two that contradict each other do not go together.
cp new.trk first.trk
described ',\\"required\\":false'
run 2 merge first.trk new.trk -o none.trk
said 'describes events of type 200 (later) in another way'
[ ! -e none.trk ] || fail "something is left of a merge that was refused"

# moved SHAPE EVENT: new.trk as of a type 200 of that shape.
moved() {
    sed -e 's/^schema$/schema "{\\"types\\":[{\\"id\\":200,\\"name\\":\\"later\\",'"$1"'}]}"/' \
        -e '0,/^[0-9]* mark .*/s//&\n4000 type-200 '"$2"'/' text.txt >new.txt
    run 0 assemble -f new.txt -o new.trk
}
# Its fields are those of the description, in text and in SQL.
moved '\\"argument\\":\\"address\\",\\"pair\\":\\"size\\",\\"context\\":true' 'context=9 argument=0x200800123 seq=8192'
run 0 dump new.trk region:0x200800000
grep -q 'later *guest_addr=0x200800123 size=8192 context=9$' out || fail "the fields of a newer type: $(cat out)"
run 0 query new.trk "SELECT guest_addr, size, region FROM events WHERE type = 'later'"
same "fields of a newer type in SQL" "$(tail -n 1 out)" "0x200800123,8192,0x200800000"
run 0 query new.trk "SELECT count(*) FROM touches WHERE region = 0x200800000"
same "pages of a newer type in SQL" "$(tail -n 1 out)" 3
# --redact moves what is described as an address or a lock; what may be anything is refused.
moved '\\"argument\\":\\"address\\",\\"pair\\":\\"size\\"' 'argument=0x700123456789 seq=64'
run 0 pack -f --redact new.trk -o again.trk
run 0 dump again.trk
grep -q 'later .*guest_addr=0x100000056789 size=64' out || fail "an address of a newer type stays"
moved '\\"pair\\":\\"hold\\"' 'domain=0x10000805 seq=9'
run 0 pack -f --redact new.trk -o again.trk
run 0 dump again.trk
grep -q 'later .*region=0x400000 hold=9' out || fail "a region of a newer type stays"
for shape in '\\"argument\\":\\"number\\" argument=7' '\\"pair\\":\\"hash\\" seq=7' \
    '\\"span\\":\\"number32\\" page=7' '\\"argument\\":\\"address\\" domain=7'; do
    moved "${shape% *}" "${shape#* }"
    run 4 pack -f --redact new.trk -o none.trk
    said 'an event of type 200 (later) cannot be redacted.*(event [0-9]'
    [ ! -e none.trk ] || fail "something is left of a redaction that was refused"
done

# [F-15] Keys of NOTE that are newer are said again, but not by --redact.
clocks='\\"clocks\\":{\\"ticks\\":\\"900\\",\\"monotonic_raw_ns\\":\\"5\\",\\"tai\\":\\"6\\"}'
sed '/^note /s/}"$/,\\"later\\":[7],'"$clocks"'}"/' text.txt >new.txt
grep -q 'tai' new.txt || fail "no newer clock"
run 0 assemble -f new.txt -o new.trk
for command in "pack new.trk" "unpack new.trk" "merge new.trk new.trk" "trim new.trk 0-100"; do
    # shellcheck disable=SC2086
    run 0 $command -f -o again.trk
    run 0 dump --text again.trk
    same "$command: newer keys of threads" "$(grep -c '^note .*later.*\[7\]' out)" \
        "$(grep -c '^note ' out)"
    same "$command: newer clocks" \
        "$(grep -c '^note .*clocks.*:{.*ticks.*:..900.*monotonic.*:..5.*tai.*:..6[^}]*}' out)" \
        "$(grep -c '^note ' out)"
done
# Clocks that are said in another way stay as they are.
sed '/^note /s/}"$/,\\"clocks\\":{\\"ticks\\":900,\\"realtime_ns\\":\\"8\\"}}"/' text.txt >odd.txt
run 0 assemble -f odd.txt -o odd.trk
run 0 pack -f odd.trk -o again.trk
run 0 dump --text again.trk
same "clocks in numbers" "$(grep -c '^note .*ticks[^0-9]*:900,.*realtime_ns[^0-9]*:..8' out)" \
    "$(grep -c '^note ' out)"
run 0 pack -f --redact odd.trk -o again.trk
run 0 dump --text again.trk
grep -q 'realtime_ns' out && fail "the time of day stays where ticks are a number"
run 0 pack -f --redact new.trk -o again.trk
run 0 dump --text again.trk
grep -q 'later\|tai' out && fail "a newer key of a thread stays in a redacted trace"

# kind FLAGS: a chunk of kind 77 before the end.
kind() {
    sed "s/^end /chunk kind=77 flags=$1 stream=4294967295 \"later\"\n&/" text.txt >kind.txt
    run 0 assemble -f kind.txt -o kind.trk
}
kind 0
run 0 doctor kind.trk
grep -q '^newer *1 chunks.*kind 77$' out || fail "doctor does not name a chunk of an unknown kind"
run 0 doctor --json kind.trk
same "unknown chunks" "$(get unknown_chunks)" 1
run 0 info kind.trk
run 0 dump kind.trk
same "events beside an unknown chunk" "$(wc -l <out)" 40
# [F-41] It may speak of places in the file: who writes another file leaves it out, and says so.
for command in "pack kind.trk" "unpack kind.trk" "merge kind.trk t.trk" "trim kind.trk 0-100"; do
    # shellcheck disable=SC2086
    run 0 $command --json -f -o again.trk
    said '1 chunks of kinds that this version does not know are left out, the first of kind 77'
    same "$command: chunks left out" "$(get unknown_chunks_left_out)" 1
done
run 0 recover kind.trk -f -o again.trk
run 0 dump --text again.trk
grep -q '^chunk kind=77' out || fail "recover loses a chunk of an unknown kind"
head -c $(($(wc -c <kind.trk) - 1)) kind.trk >cut.trk # all chunks stay
run 0 recover --json cut.trk -f -o again.trk
quiet
same "recover of an end: chunks left out" "$(get unknown_chunks_left_out)" 0
run 0 dump --text again.trk
grep -q '^chunk kind=77' out || fail "recover of an end loses a chunk of an unknown kind"
cp kind.trk flipped.trk # what is behind the HEADER moves
printf '\377\377' | dd of=flipped.trk bs=1 seek=175 conv=notrunc 2>/dev/null
run 0 recover --json flipped.trk -f -o again.trk
said '1 chunks of kinds that this version does not know are left out, the first of kind 77'
same "recover: chunks left out" "$(get unknown_chunks_left_out) $(get header_lost)" "1 true"
run 3 dump --text again.trk
grep -q '^chunk kind=77' out && fail "recover keeps a chunk of an unknown kind where chunks move"
# Required ones are refused as soon as they are read: assemble reads what it wrote.
sed 's/ flags=0 \(stream=4294967295 "later"\)/ flags=1 \1/' kind.txt >required.txt
grep -q 'kind=77 flags=1' required.txt || fail "no required chunk in the text"
run 4 assemble required.txt -o none.trk
said 'chunk kind 77 needs a newer reader'
[ ! -e none.trk ] || fail "something is left of what was refused"
finish
