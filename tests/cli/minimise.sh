# Goal: each bug of the demo comes out of its trace as a scenario of at most 4 operations, 2 threads and
# 2 pages that breaks the same rule the same way; the case fails, and passes with the one change that the
# report names. What is asked too little, too late or wrongly is said, and leaves nothing half-written.
# Method: record each bug with several seeds, minimise, run what came out; scenario files that break;
# budgets of every size; an interrupt.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

# sentence TEXT: without the numbers of steps.
sentence() {
    printf '%s\n' "$1" | sed 's/ ([0-9]*)//g'
}

"$trk" demo --list-bugs >names || fail "list-bugs"
for seed in 1 4; do
    for name in $(cat names); do
        frames=24
        [ "$name" != late-texture ] || frames=216
        run 0 record -f -o bad.trk -- "$trk" demo --frames "$frames" --seed "$seed" --bug "$name"
        run 1 sim --json bad.trk
        cp out bad.txt
        run 0 minimise -f --json bad.trk -o case.json --passing passing.json
        quiet
        cp out case.txt
        same "$name, $seed: verdict" "$(get verdict)" "$(get verdict bad.txt)"
        same "$name, $seed: detail" "$(get detail)" "$(get detail bad.txt)"
        same "$name, $seed: the same way" "$(get same_detail)" true
        same "$name, $seed: complete" "$(get complete)" true
        at_most "$name, $seed: operations" "$(get to.operations)" 4
        at_most "$name, $seed: threads" "$(get to.threads)" 2
        at_most "$name, $seed: pages" "$(get to.pages)" 2
        at_most "$name, $seed: replays" "$(get replays)" 100
        at_most "$name, $seed: preemptions" "$(get preemptions)" 2
        missing=$(sentence "$(get missing)")
        [ -n "$missing" ] || fail "$name, $seed: no missing edge"
        case $(sentence "$(get missing bad.txt)") in
        "$missing"*) ;;
        *) fail "$name, $seed: missing edge: $missing" ;;
        esac
        # The size told is the size there is: no operation hides in init but what was moved there.
        run 1 sim --json case.json
        same "$name, $seed: verdict of the case" "$(get verdict)" "$(get verdict bad.txt)"
        same "$name, $seed: schedule" "$(get schedule)" "$(get schedule case.txt)"
        run 1 sim case.json --schedule "$(get schedule case.txt)"
        # The line stands in the file, and fits it.
        line=$(get about case.json | sed -n 's/.*; fails with --schedule \(trk1:.*\)$/\1/p')
        same "$name, $seed: line in the file" "$line" "$(get schedule case.txt)"
        at_most "$name, $seed: length of the line" "$(get schedule case.txt | wc -c)" 120
        [ "$(get passing case.txt)" != null ] || fail "$name, $seed: no change lets it pass"
        run 0 sim passing.json
        grep -q "verdict: ok" out || fail "$name, $seed: the passing case: $(cat out)"
        # The same bytes again.
        cp case.json first.json
        run 0 minimise -f bad.trk -o case.json
        cmp -s case.json first.json || fail "$name, $seed: another case the second time"
        grep -q "the case passes with" out || fail "$name, $seed: the text lacks the change"
    done
done

# A case that is minimal stays as it is; a larger one comes down; what must stay stays.
run 0 minimise -f --json case.json -o again.json
same "again: operations" "$(get to.operations)" "$(get to.operations case.txt)"
cat >wide.json <<'CASE'
{"scenario": 1, "name": "wide",
 "memory": {"A": {"at": "0x200010000", "size": "4P"}, "B": {"at": "0x200400000", "size": "8P"}},
 "init": ["store A 4P 9"],
 "threads": {
  "one": ["upload B 8P", "first: upload A 4P", "raw_write A+1P 64 3", "gpu_read B 64",
          "there: store B+5P 8 1", "gpu_read A+1P 64"],
  "two": ["load B 8", "store B 8 2", "is_gpu B 4P => 0"]},
 "expect": {"verdict": "ok"}}
CASE
run 1 sim wide.json
run 0 minimise --json wide.json -o small.json
same "wide: verdict" "$(get verdict)" stale-gpu-read
at_most "wide: operations" "$(get to.operations)" 4
same "wide: threads" "$(get to.threads)" 1
same "wide: pages" "$(get to.pages)" 1
at_least "wide: trail" "$(get trail.#)" 2
run 1 sim small.json
cp wide.json wide
run 0 minimise --from-scenario wide --keep there,first -o kept.json
grep -q "there: store" kept.json && grep -q "first: upload" kept.json || fail "what must stay is gone"
run 2 minimise wide.json --keep nowhere -o x.json
said "no operation has the label 'nowhere'"
run 2 minimise wide.json --keep , -o x.json
run 2 minimise bad.trk --keep e999999 -o x.json
said "e999999"
"$trk" minimise --from-scenario - -o - <wide.json >piped.json 2>err || fail "from a pipe: $(cat err)"
cmp -s piped.json small.json || fail "another case from a pipe"

# Nothing of what goes in or comes out is lost to the other, or to the report.
cp bad.trk kept.trk
run 2 minimise -f bad.trk -o bad.trk
said "would overwrite its trace"
run 2 minimise -f bad.trk -o x.json --passing ./bad.trk
said "would overwrite its trace"
"$trk" minimise -f - -o bad.trk <bad.trk >out 2>err
same "overwriting its trace by standard input: exit code" $? 2
said "would overwrite its trace"
cmp bad.trk kept.trk || fail "the trace was overwritten"
cp wide.json kept.json
ln -s wide.json soft.json
ln wide.json hard.json
for other in wide.json soft.json hard.json; do
    run 2 minimise -f wide.json -o "$other"
    said "would overwrite its scenario"
    run 2 minimise -f wide.json -o x.json --passing "$other"
    said "would overwrite its scenario"
done
"$trk" minimise -f --from-scenario - -o wide.json <wide.json >out 2>err
same "overwriting its scenario by standard input: exit code" $? 2
cmp wide.json kept.json || fail "the scenario was overwritten"
[ -e x.json ] && fail "a file is written though there is no case"
run 2 minimise -f wide.json --json -o /dev/stdout
said "json does not go with -o -"
run 2 minimise -f wide.json -o x.json --passing /dev/stdout
said "is where the report goes"
run 2 minimise bad.trk -o x.json --passing ./x.json
said "x.json is where the case of -o goes"
for closed in '0<&- 1>out' '1>&-' '0<&- 1>&- 2>&-'; do
    eval "\"\$trk\" minimise -f bad.trk -o closed.json $closed"
    run 1 sim closed.json
    rm -f closed.json
done

# A right core that is asked: what fails there too is no fault of this core.
run 1 minimise wide.json --good "$trk" -o x.json
grep -q "right core" out || fail "no word of the right core: $(cat out)"
run 1 minimise bad.trk --good "$trk" -o x.json
grep -q "right core" out || fail "of a trace: no word of the right core: $(cat out)"
# One that is killed, or says that it cannot tell, says nothing of the case.
for end in 'exit 3' 'exit 2' 'exit 4' 'kill -9 $$'; do
    printf '#!/bin/sh\n%s\n' "$end" >mute
    chmod +x mute
    run 4 minimise wide.json --good ./mute -o x.json
    said "mute says nothing of the case: it ends with"
    run 4 minimise bad.trk --good ./mute -o x.json
    said "mute says nothing of the case: it ends with"
done
run 2 minimise wide.json --good ./absent -o x.json
# Nor does one that says the same of all.
for says in 0 1; do
    printf '#!/bin/sh\nexit %d\n' "$says" >blind
    chmod +x blind
    for input in wide.json bad.trk; do
        run 2 minimise "$input" --good ./blind -o x.json
        said "blind is no trk with a right core"
    done
done
[ -e x.json ] && fail "a file is written though there is no case"

# Budgets: whatever is found by then is a case that fails; the first replay is needed.
for replays in 1 2 3 5 8 13 21 34; do
    "$trk" minimise -f bad.trk --replays "$replays" -o early.json >out 2>err
    code=$?
    [ "$code" -eq 3 ] || [ "$code" -eq 0 ] || fail "$replays replays: exit code $code"
    if [ "$code" -eq 3 ] && [ "$replays" -gt 5 ]; then
        grep -q "ended before all passes" out || fail "$replays replays: no word of it"
        run 1 sim early.json
        grep -q "verdict: stale-gpu-read" out || fail "$replays replays: the case does not fail"
    fi
done
run 3 minimise -f bad.trk --replays 1 -o none.json
run 3 minimise -f bad.trk --replays 8 -o early.json --passing none.json
said "what lets the case pass was not looked for to the end: none.json is not written"

run 0 minimise --help
same "the default of --replays is said once" "$(grep -o "Default 10000" out | wc -l)" 1

# What makes no sense.
run 0 record -f -o good.trk -- "$trk" demo --frames 6
run 2 minimise good.trk -o x.json
grep -q "nothing to minimise" out || fail "good: no word"
run 2 minimise bad.trk
said "-o is missing"
run 2 minimise bad.trk -o small.json
said "File exists"
run 2 minimise bad.trk -o x.json --replays 0
run 2 minimise bad.trk -o x.json --passing -
run 2 minimise absent.trk -o x.json
run 2 minimise absent.json -o x.json
echo '{"scenario": 1, "threads": 3}' >broken.json
run 2 minimise broken.json -o x.json
said "broken.json: "
head -c 200 bad.trk >cut.trk
"$trk" minimise cut.trk -o x.json >out 2>err
[ $? -ge 2 ] || fail "a cut trace: $(cat out err)"
head -c "$(($(wc -c <bad.trk) - 8))" bad.trk >cut.trk
run 0 minimise cut.trk -o cut.json
run 1 sim cut.json
[ -e x.json ] && fail "x.json is there"
ls ./*.part 2>/dev/null && fail "a part of a file is left"

# How far it has come: nothing where standard error is no terminal; there a bar that is wiped away; lines
# for programs.
run 0 minimise -f wide.json -o small.json
quiet
run 0 minimise -f wide.json --progress always -o small.json
grep -q "\[#*\.*\] [0-9]* of [0-9]* operations, .* replays" err || fail "no bar: $(cat err)"
TERM=xterm "$tools/on_terminal" shown "$trk" minimise -f wide.json -o small.json >out 2>err
same "on a terminal: exit code" $? 0
quiet
grep -q "\[#*\.*\] [0-9]* of [0-9]* operations" shown || fail "no bar on a terminal: $(cat shown)"
same "the bar is wiped away" "$(tr '\r' '\n' <shown | tail -1 | tr -d ' \n')" ""
for how in "--progress=never" "--progress=auto"; do
    TERM=dumb "$tools/on_terminal" shown "$trk" minimise -f wide.json $how -o small.json >out 2>err
    [ ! -s shown ] || fail "$how, on a dumb terminal: $(cat shown)"
done
run 0 minimise -f wide.json --json --progress json -o small.json
cp out small.txt
at_least "lines of progress" "$(wc -l <err)" 3
while read -r line; do
    printf '%s\n' "$line" >line
    same "schema of a line" "$(get schema line)" trk-progress/1
done <err
sed -n 1p err >first
same "the first line is the window" "$(get operations first)" "$(get from.operations small.txt)"
same "the last line is the case" "$(get operations line)" "$(get to.operations small.txt)"
run 2 minimise -f wide.json --progress sometimes -o small.json

# An interrupt ends it with the best so far, in the middle of a replay. The other core sends it, when it is
# asked for the tenth time: by then something is smaller, and more would be tried.
awk 'BEGIN {
    printf "{\"scenario\": 1, \"name\": \"long\", \"memory\": {\"A\": {\"at\": \"0x200010000\", \"size\": \"64P\"}},"
    printf "\"threads\": {\"one\": ["
    for (i = 0; i < 3000; i++)
        printf "\"upload A 64P\", \"store A+%dP 8 %d\", \"load A+%dP 8\",", i % 64, i % 200 + 1, i * 7 % 64
    print "\"upload A 64P\", \"raw_write A 8 201\", \"gpu_read A 8\"]}}"
}' >long.json
cat >interrupting <<'CORE'
#!/bin/sh
grep -q '"breaks"' "$2" && exit 1 # what no core lets hold: it is asked once, before all else
echo >>asked
[ "$(wc -l <asked)" -ne 10 ] || kill -INT "$PPID"
CORE
chmod +x interrupting
run 3 minimise long.json --good ./interrupting -o long-case.json --json --progress json
cp out long-case.txt
same "interrupted: asked" "$(wc -l <asked)" 10
same "interrupted: complete" "$(get complete)" false
sed -n '$p' err >line
at_least "interrupted: replays" "$(get replays)" "$(get replays line)"
at_most "interrupted: replays behind the last line" "$(get replays)" "$(($(get replays line) + 2))"
run 1 sim long-case.json
grep -q "verdict: stale-gpu-read" out || fail "the best so far does not fail"
[ "$(get to.operations long-case.txt)" -lt "$(get from.operations long-case.txt)" ] ||
    fail "the best so far is no smaller than the first"

# One that hangs is not waited for: an interrupt ends it with all that it has started, and so does --time. How it
# ends by an interrupt of its own is no answer.
cat >hanging <<'CORE'
#!/bin/sh
grep -q '"breaks"' "$2" && exit 1
echo >>asked
[ "$(wc -l <asked)" -ge "$HANGS_AT" ] || exit 0
[ -z "$INTERRUPTS" ] || kill -INT "$PPID"
[ "$INTERRUPTS" != both ] || exit 130
sleep 601 &
wait
CORE
chmod +x hanging
for INTERRUPTS in one both ''; do
    for HANGS_AT in 1 3; do
        export INTERRUPTS HANGS_AT
        rm -f asked hung.json
        limit='--time 1'
        [ -z "$INTERRUPTS" ] || limit=
        # shellcheck disable=SC2086 # two words, or none
        timeout 30 "$trk" minimise wide.json --good ./hanging $limit -o hung.json >out 2>err </dev/null
        code=$?
        what="interrupt '$INTERRUPTS' at $HANGS_AT"
        [ "$code" -eq 3 ] || fail "$what: exit code $code: $(cat out err)"
        grep -q "said nothing\|says nothing" err && fail "$what: $(cat err)"
        if [ "$HANGS_AT" -eq 1 ]; then
            grep -q "no case: ended before one was found" out || fail "$what: $(cat out)"
            [ ! -e hung.json ] || fail "$what: a case is written"
        else
            run 1 sim hung.json
        fi
    done
done
unset INTERRUPTS HANGS_AT
for process in /proc/[0-9]*; do
    [ "$(cat "$process/cmdline" 2>/dev/null | tr '\0' ' ')" != "sleep 601 " ] ||
        [ "$(readlink "$process/cwd")" != "$dir" ] || fail "what a hanging core has started goes on"
done
finish
