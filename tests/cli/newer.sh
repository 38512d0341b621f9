# Goal: what is newer than this version is read as far as it goes: types of events that the file
# describes are printed by their names; of those that are required no verdict is given; chunks of an
# unknown kind are passed over, required ones refused with their place.
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

described ',\\"required\\":true'
run 0 dump new.trk
grep -q 'later' out || fail "a required type is not printed"
for mode in "" --oracle-only; do
    run 4 sim $mode new.trk
    said 'type 200 (later) are required'
done
run 4 sim --json new.trk
same status "$(get error.status)" version
at_least "event named" "$(get error.event)" 1

# kind FLAGS: a chunk of kind 77 before the end.
kind() {
    sed "s/^end /chunk kind=77 flags=$1 stream=4294967295 \"later\"\n&/" text.txt >kind.txt
    run 0 assemble -f kind.txt -o kind.trk
}
kind 0
run 0 doctor kind.trk
run 0 info kind.trk
run 0 dump kind.trk
same "events beside an unknown chunk" "$(wc -l <out)" 40
# Required ones are refused as soon as they are read: assemble reads what it wrote.
sed 's/ flags=0 \(stream=4294967295 "later"\)/ flags=1 \1/' kind.txt >required.txt
grep -q 'kind=77 flags=1' required.txt || fail "no required chunk in the text"
run 4 assemble required.txt -o none.trk
said 'chunk kind 77 needs a newer reader'
[ ! -e none.trk ] || fail "something is left of what was refused"
finish
