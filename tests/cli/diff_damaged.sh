# Goal: trk diff says of a damaged trace only what can be known. A copy that lost events is never another trace
# than the whole one; an event that is another one is found, wherever it is not lost.
# Method: recordings of the demo and of a small program, copies with a bit flipped at many places, cut at many,
# recovered, with what the recorder dropped, trimmed; each against the whole one, against a second recording, and
# against a copy of which one event was changed by its text. Whether that event is left in the damaged copy is
# asked of trk dump.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

# flip IN OUT PART OF: a copy with one bit flipped at this part of its bytes.
flip() {
    flip_at=$(($(wc -c <"$1") * $3 / $4))
    cp "$1" "$2"
    flip_byte=$(od -An -tu1 -j "$flip_at" -N1 "$1")
    printf '%b' "\\0$(printf %o $((flip_byte ^ 4)))" |
        dd of="$2" bs=1 seek="$flip_at" conv=notrunc 2>/dev/null
}

cut_off() {
    head -c "$(($(wc -c <"$1") * $3 / $4))" "$1" >"$2"
}

# choose N: the N-th witness_store of whole.trk is to be another one; $event is what it says beside its size.
choose() {
    run 0 dump --text whole.trk
    stamp=$(grep ' witness_store ' out | sed -n "$1s/.* domain=\([^ ]*\) .*/\1/p")
    address=$(grep ' witness_store ' out | sed -n "$1s/.* argument=//p")
    event="witness_store.* guest_addr=$address size=[0-9]* stamp=$((stamp))"
}

# change IN OUT: a copy in which it has another size.
change() {
    run 0 dump --text "$1"
    mv out text.txt
    sed "/ witness_store .*domain=$stamp .*argument=$address\$/s/ seq=[^ ]*/ seq=3/" text.txt >changed.txt
    run 0 assemble -f changed.txt -o "$2"
    same "change of $1: events" "$(diff text.txt changed.txt | grep -c '^>')" 1
}

# not_known ARGUMENT...: so the two are the same as far as they go, and it is said how far.
not_known() {
    run 3 diff --json "$@"
    same "$*: complete" "$(get complete)" false
    if [ "$(get compared_a)" -gt 0 ] && [ "$(get compared_b)" -gt 0 ]; then
        same "$*: same" "$(get same)" true
    else
        same "$*: same, of nothing" "$(get same)" null
    fi
    compared=$(get compared_b)
}

# Never another one.
try() {
    not_known "$copy" whole.trk
    not_known whole.trk "$copy" --asked
    run 0 recover -f "$copy" -o recovered.trk
    not_known "$copy" recovered.trk
    if "$trk" doctor recovered.trk >out 2>err; then
        run 0 diff recovered.trk whole.trk # no event was lost
    else
        not_known recovered.trk whole.trk
        not_known redacted.trk recovered.trk --asked
    fi
    not_known "$copy" redacted.trk
    not_known --asked "$copy" second.trk
    if [ -e dropped.trk ]; then
        not_known --asked "$copy" dropped.trk
    fi
}

found=0
unknown=0
# But for an event that is there: it is named, with the other side's.
try_changed() {
    run 3 dump "$copy"
    if grep -q "$event\$" out; then
        found=$((found + 1))
        for other in "$copy" recovered.trk; do
            run 1 diff --json "$other" changed.trk
            same "$other, changed: parts" "$(get differ)" 1
            get differences.0.text_a | grep -q "$event\$" ||
                fail "$other, changed: $(get differences.0.text_a)"
            get differences.0.text_b | grep -q "$event\$" ||
                fail "$other, changed: $(get differences.0.text_b)"
        done
        run 1 diff --json --asked changed.trk "$copy"
        same "$copy, changed, asked: parts" "$(get differ)" 1
        run 1 diff --json --asked second.trk changed.trk
        run 1 diff --json --asked "$copy" changed2.trk
        same "$copy, changed in the second: parts" "$(get differ)" 1
    else
        unknown=$((unknown + 1))
        not_known "$copy" changed.trk
        not_known recovered.trk changed.trk
    fi
}

# all WHAT N...: the copies of whole.trk, with the N-th stores changed.
all() {
    what=$1
    shift
    run 0 pack -f --redact whole.trk -o redacted.trk
    run 0 diff whole.trk redacted.trk
    run 0 diff --asked whole.trk second.trk
    for part in f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 c2 c4 c6 c8; do
        copy=$what-$part.trk
        case $part in
        f*) flip whole.trk "$copy" "${part#f}" 11 ;;
        c*) cut_off whole.trk "$copy" "${part#c}" 9 ;;
        esac
        try
    done
    for nth in "$@"; do
        choose "$nth"
        change whole.trk changed.trk
        change second.trk changed2.trk
        run 1 diff whole.trk changed.trk
        for copy in "$what"-*.trk; do
            run 0 recover -f "$copy" -o recovered.trk
            try_changed
        done
    done
    rm "$what"-*.trk
}

# record NAME OPTION... -- COMMAND...
record() {
    record_name=$1
    shift
    "$trk" record -f -o "$record_name" "$@" >out 2>err || fail "record $record_name: $(cat err)"
}

record whole.trk -- "$trk" demo --megabytes 2 --frames 40 --threads 1
record second.trk -- "$trk" demo --megabytes 2 --frames 40 --threads 1
record dropped.trk --ring 4096 -- "$trk" demo --megabytes 2 --frames 40 --threads 1
"$trk" info dropped.trk >out 2>err
if [ $? -eq 3 ]; then
    not_known --asked dropped.trk whole.trk
    not_known --asked whole.trk dropped.trk
    run 3 pack -f --redact dropped.trk -o dropped-redacted.trk
    not_known dropped.trk dropped-redacted.trk
else
    rm dropped.trk # a fast machine drops none
fi

# An event that a copy tells to be lost (witness_store is type 76), as many DROPs as there were events.
choose 900
run 0 dump --text whole.trk
sed "s/^\([^ ]*\) witness_store .*domain=$stamp .*argument=$address\$/\1 drop context=76 argument=0x1/" out >told.txt
same "told as lost: events" "$(diff out told.txt | grep -c '^> .* drop ')" 1
run 0 assemble -f told.txt -o told.trk
not_known told.trk whole.trk
not_known whole.trk told.trk
choose 1200
sed "/ witness_store .*domain=$stamp .*argument=$address\$/s/ seq=[^ ]*/ seq=3/" told.txt >changed.txt
run 0 assemble -f changed.txt -o changed.trk
run 1 diff changed.trk whole.trk

# Parts: what is in them is compared, and a changed event in them is found.
choose 1500
change whole.trk changed.trk
for range in frame:10-20 frame:0-9 frame:30- region:0x200000000 region:0x80000000000; do
    run 0 trim -f whole.trk "$range" -o part.trk
    run 0 pack -f --redact part.trk -o part-redacted.trk
    run 0 diff part.trk part-redacted.trk
    not_known part.trk whole.trk
    at_least "$range: compared" "$compared" 1000
    not_known whole.trk part-redacted.trk
    not_known --asked part.trk second.trk
    run 0 trim -f changed.trk "$range" -o part.trk
    run 0 dump part.trk
    if grep -q "$event\$" out; then
        run 1 diff part.trk whole.trk
        run 1 diff --asked second.trk part.trk
        found=$((found + 1))
    else
        not_known part.trk whole.trk
        unknown=$((unknown + 1))
    fi
done
at_least "changed events that are in a part" "$found" 1
at_least "changed events that are in none" "$unknown" 2

# Policies: all before the first loss is run, and what is damaged is said.
flip whole.trk damaged.trk 1 11
run 3 diff --json damaged.trk --policies default,default
said "damaged.trk: damaged at byte"
flip whole.trk damaged.trk 10 11
run 3 diff --json damaged.trk --policies default,default
at_least "operations before the loss" "$(get operations)" 100
at_least "not run" "$(get not_run)" 100
same "rows" "$(get rows)" null
said "damaged.trk: damaged at byte"
run 1 diff damaged.trk --policies default,kyty-2026-08
grep -q "^not run: [0-9]* operations and accesses behind the first loss" out || fail "policies: $(cat out)"

# Damage anywhere.
found=0
unknown=0
all one 40 1500
at_least "changed events that are found" "$found" 8
at_least "changed events that are lost" "$unknown" 4
rm -f dropped.trk
record whole.trk -- "$trk" demo --megabytes 2 --frames 16 --threads 3
record second.trk -- "$trk" demo --megabytes 2 --frames 16 --threads 3
found=0
unknown=0
all three 500
at_least "of three threads: found" "$found" 4
at_least "of three threads: lost" "$unknown" 1

# Nothing is left but what stands before the first events.
copy=short.trk
head -c 4000 whole.trk >"$copy"
run 3 info --json "$copy"
same "nothing: events" "$(get events)" 0
run 3 diff --json "$copy" whole.trk
same "nothing: same" "$(get same)" null
same "nothing: compared" "$(get compared_a) $(get compared_b)" "0 0"
run 3 diff whole.trk "$copy"
grep -q "^traces: nothing of them can be compared" out || fail "nothing: $(cat out)"
grep -q "^lost of B: .*its end" out || fail "nothing: no word of the end: $(cat out)"
finish
