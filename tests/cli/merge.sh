# Goal: dumps of one flight recording become one trace with every event that one of them has, once, and
# a loss of exactly as many as none has; what does not belong together leaves nothing.
# Method: a program that counts, dumped so that dumps overlap and so that they do not, given in any
# order; traces of other recordings, parts with a state, damaged and missing ones.
. "$(dirname "$0")/lib.sh"

# fly NAME BYTES: the script on standard input, dumped to NAME.trk, NAME-2.trk, ... It waits for each dump, and for
# room in its ring: the dumps are the same on any machine.
fly() {
    cat >script
    "$trk" record --flight "$2" --block 60000 --cooldown 0 --trigger api -o "$1.trk" -- \
        "$tools/trace_tool" obey script >out 2>err || fail "record $1"
}

# counts FILE EVENTS DROPPED
counts() {
    "$trk" info --json "$1" >info 2>/dev/null
    same "events of $1" "$("$tools/json_get" info events)" "$2"
    same "dropped of $1" "$("$tools/json_get" info dropped)" "$3"
}

# Dumps that overlap: the later has all that the earlier has, and what both have is there once.
fly over 1M <<'SCRIPT'
marks 1000
trigger
await over.trk
marks 500
trigger
await over-2.trk
marks 250
trigger
SCRIPT
counts over.trk 1000 0
counts over-3.trk 1750 0
run 0 merge over-3.trk over.trk over-2.trk -o all.trk
counts all.trk 1750 0
run 0 doctor all.trk
run 0 dump all.trk
cp out merged.txt
run 0 dump over-3.trk
cmp out merged.txt || fail "merged are other events than the last dump has"
run 0 merge --json -f over.trk over-2.trk -o two.trk
json
same records "$(get records)" 1500
run 0 merge --progress json --json -f over.trk over-2.trk -o two.trk
grep -q '"command": "merge", "unit": "events", "pass": [0-9]*, "done": [1-9]' err || fail "merge: no progress: $(cat err)"
same "records, with progress" "$(get records)" 1500
run 0 merge -f over.trk over-2.trk over.trk over-3.trk over-2.trk over.trk -o two.trk
counts two.trk 1750 0
parts=over.trk
while [ "${#parts}" -lt 600 ]; do
    parts="$parts over.trk"
done
run 2 merge $parts -o none.trk
run 2 merge over.trk over-2.trk -o two.trk
said "File exists"
run 0 pack --checkpoints 300 over.trk -o marked.trk
run 0 merge -f marked.trk over-2.trk -o two.trk
said "marked.trk: [0-9]* checkpoints are left out"
counts two.trk 1500 0

# A ring that forgets: what is between two dumps is a loss of so many events.
fly apart 64K <<'SCRIPT'
marks 20000
trigger
await apart.trk
marks 1000000
trigger
SCRIPT
"$trk" info --json apart.trk >first 2>/dev/null
"$trk" info --json apart-2.trk >second 2>/dev/null
one=$("$tools/json_get" first events)
two=$("$tools/json_get" second events)
forgotten=$("$tools/json_get" second dropped)
at_least "forgotten before the second dump" "$forgotten" 20001
run 3 merge --json apart-2.trk apart.trk -o joined.trk
same "complete of what was joined" "$(get complete)" false
said "events are missing in or between the parts"
"$trk" merge -f - apart.trk -o again.trk <apart-2.trk >out 2>err
same "merge with a part from standard input" $? 3
cmp joined.trk again.trk || fail "a part from standard input gives other bytes"
# shellcheck disable=SC2002
cat over-2.trk | "$trk" merge over.trk - -o piped.trk 2>err || fail "merge with a part from a pipe"
run 0 merge over.trk over-2.trk -o named.trk
cmp named.trk piped.trk || fail "a part from a pipe gives other bytes"
counts joined.trk $((one + two)) $((1020000 - one - two))
run 3 doctor joined.trk

# Parts of one recording as text. part NAME FIRST LAST [BEFORE]: marks of these numbers, and how many events were
# before its state.
part() {
    state=
    [ -z "$4" ] || state=',"flight":{"before_state":[{"stream":0,"events":"'$4'"}]}'
    assembled "$1" <<TEXT
$(text_begin '{"clock":{"anchors":[{"ticks":"7"}]}'"$state}" '0 t')
events stream=0 shift=0 flags=1
$(seq "$2" "$3" | while read -r number; do
        echo "$((1000 + number))000 mark argument=$number"
    done)
end status=0 cut=0
TEXT
}

# In two steps a gap is as long as in one: G begins with the state of its oldest part.
part s1 10 14 10
part s2 14 29 14
part s3 34 39 34
part s4 45 49 45
run 3 merge -f s1.trk s2.trk s3.trk s4.trk -o once.trk
counts once.trk 31 9
run 0 merge -f s2.trk s1.trk -o two.trk
run 3 merge -f s3.trk two.trk -o three.trk
counts three.trk 26 4
run 3 merge -f three.trk s4.trk -o steps.trk
counts steps.trk 31 9
run 3 dump once.trk
mv out once.txt
run 3 dump steps.trk
cmp -s once.txt out || fail "merged in steps are other events than merged at once"
part s0 0 9
run 0 merge -f s0.trk s1.trk -o begun.trk
run 0 info --json begun.trk
grep -q before_state out && fail "a merge that begins with no state says that it does"

# In any order, also of parts that end alike, and of one that lies in another: what several have stands there once.
part e1 10 30 10
part e2 16 30 16
part e3 14 20 14
for parts in "e1 e2 e3" "e2 e1 e3" "e3 e2 e1" "e2 e3 e1" "e3 e1 e2" "e1 e3 e2" "e3 e1" "e2 e1"; do
    # shellcheck disable=SC2046
    run 0 merge -f $(printf '%s.trk ' $parts) -o two.trk
    counts two.trk 21 0
done
sed 's/status=0/status=1792/' e2.txt >e4.txt # the one that saw the end
run 0 assemble e4.txt -o e4.trk
for parts in "e1 e4" "e4 e1"; do
    # shellcheck disable=SC2046
    run 0 merge -f $(printf '%s.trk ' $parts) -o two.trk
    run 0 info --json two.trk
    same "status of $parts" "$(get exit_code)" 7
done

# A thread that did something before a part's state, and nothing behind it; of a third one no part has anything.
assembled q1 <<TEXT
$(text_begin '{"clock":{"anchors":[{"ticks":"7"}]}}' '0 t' '1 u')
events stream=0 shift=0 flags=1
1000 mark argument=1
events stream=1 shift=0 flags=1
2000 mark argument=1
end status=-1 cut=0
TEXT
before='[{"stream":0,"events":"1"},{"stream":1,"events":"4"},{"stream":2,"events":"9"}]'
assembled q2 <<TEXT
$(text_begin '{"clock":{"anchors":[{"ticks":"7"}]},"flight":{"before_state":'"$before"'}}' '0 t')
events stream=0 shift=0 flags=1
5000 mark argument=2
end status=0 cut=0
TEXT
run 3 merge q2.trk q1.trk -o gone.trk
counts gone.trk 3 12
run 3 doctor gone.trk

# What a dump has forgotten of threads of which it has nothing: others may have it.
assembled g1 <<TEXT
$(text_begin '{"clock":{"anchors":[{"ticks":"7"}]}}' '0 t' '1 u')
events stream=0 shift=0 flags=1
1000 mark argument=1
events stream=1 shift=0 flags=1
2000 mark argument=1
2500 mark argument=2
end status=-1 cut=0
TEXT
forgotten='[{"stream":1,"events":"2"},{"stream":7,"events":"3"}]'
assembled g2 <<TEXT
$(text_begin '{"clock":{"anchors":[{"ticks":"7"}]},"flight":{"forgotten_streams":'"$forgotten"'}}' '0 t')
note stream=4294967294 "{\"name\":\"(forgotten)\"}"
events stream=4294967294 shift=0 flags=1
3000 drop argument=5
events stream=0 shift=0 flags=1
3000 drop argument=1
5000 mark argument=2
end status=0 cut=0
TEXT
run 3 merge g2.trk g1.trk -o some.trk
counts some.trk 4 3

# Events that are missing without a word of it.
sed 's/ plain=0 / plain=1 /' e2.txt >jumps.txt # an index would miss them
run 0 assemble jumps.txt -o jumps.trk
"$tools/jump_trace" jumps.trk 3 || fail "jump_trace"
run 3 merge e1.trk jumps.trk -o none.trk
said "trk recover makes a whole trace of it first"
for command in "pack jumps.trk" "unpack jumps.trk" "trim jumps.trk 0-5"; do
    # shellcheck disable=SC2086
    run 3 $command -f -o cut.trk
    run 3 doctor cut.trk
    grep -q 'whole *no' out || fail "$command: a trace that lacks events is whole"
done

# Events that are all alike: which one a part goes on behind its place says.
part a1 1 3
part a2 1 6
part b1 1 2
part b2 1 4
sed -i 's/^100[1-5]000 mark .*/1001000 mark argument=7/' a1.txt a2.txt
sed -i 's/^1003000 mark .*/1002000 mark argument=2/' b2.txt
for name in a b; do
    run 0 assemble -f "${name}1.txt" -o first.trk
    run 0 assemble -f "${name}2.txt" -o second.trk
    run 0 merge -f first.trk second.trk -o two.trk
    run 0 dump second.trk
    mv out second.txt
    run 0 dump two.trk
    cmp -s second.txt out || fail "$name: merged are other events than the second part has"
done

# Redacted one by one, each part moved by another distance; where nothing moved they go together.
sed 's/ mark argument=.*/ map argument=0x200400000 seq=4096 context=3/' s1.txt >r1.txt
sed 's/ mark argument=.*/ map argument=0x200c00000 seq=4096 context=3/' s2.txt >r2.txt
for name in s1 s2 r1 r2; do
    run 0 assemble -f "$name.txt" -o "$name.trk"
    run 0 pack -f --redact "$name.trk" -o "$name.red.trk"
done
run 2 merge r1.red.trk r2.red.trk -o none.trk
said "its addresses were moved: merge the parts first"
run 2 merge r1.trk r2.red.trk -o none.trk
said "r2.red.trk: its addresses were moved"
run 0 merge -f s1.red.trk s2.red.trk -o two.trk
# Headers that were lost are all the same.
for name in r1 s2; do
    cp "$name.trk" flipped.trk
    printf '\377\377' | dd of=flipped.trk bs=1 seek=180 conv=notrunc 2>/dev/null
    run 0 recover -f --json flipped.trk -o "$name.lost.trk"
    same "$name: header lost" "$(get header_lost)" true
done
run 2 merge r1.lost.trk s2.lost.trk -o none.trk
said "header was lost"

# Not of one recording; a part with a state of its own; damaged; not there; only one.
fly other 1M <<'SCRIPT'
marks 10
trigger
SCRIPT
run 2 merge over.trk other.trk -o none.trk
said "another recording than over.trk"
run 0 trim over-2.trk 700-900 -o part.trk
run 2 merge over.trk part.trk -o none.trk
said "state of its own"
head -c $(($(wc -c <over-2.trk) / 2)) over-2.trk >cut.trk
printf 'TRKdamag' | dd of=over-2.trk bs=1 seek=$(($(wc -c <over-2.trk) - 600)) conv=notrunc 2>/dev/null
run 3 merge over.trk over-2.trk -o none.trk
said "trk recover"
run 2 merge over.trk nowhere.trk -o none.trk
run 2 merge over.trk -o none.trk
[ ! -e none.trk ] || fail "something is left of a merge that failed"
finish
