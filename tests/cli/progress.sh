# Goal: what takes long says on standard error how far it has come, as asked for, and changes no result by it.
# Method: a table of commands on small files; each with lines, with a bar, and with neither.
#   progress.sh TRK TOOLS SOURCE
. "$(dirname "$0")/lib.sh"
corpus=$3/traces/corpus
cp "$corpus/demo-seed-1.trk" ok.trk
"$trk" record -o whole.trk -- "$tools/trace_tool" marks 2000 >out 2>err || fail "record: $(cat err)"
mkdir cases traces
for case in $(ls "$3/tests/scenarios/own" | sed -n 1,3p); do
    cp -r "$3/tests/scenarios/own/$case" cases/
done
cp ok.trk traces/
line='{"schema": "trk-progress/1", "command": "%s", "unit": "[a-z]*", "pass": [0-9]*, "done": [0-9]*, "total": [0-9nul]*%s}'

# The exit code, the unit that must come to its end (-: there is none), and the command.
while IFS='|' read -r code unit command; do
    name=${command%% *}
    # shellcheck disable=SC2059,SC2086 # the format is ours, and the arguments are words
    {
        "$trk" $command --progress never </dev/null >plain 2>talk
        same "trk $command: exit code" $? "$code"
        grep -q 'trk-progress\|\[#*\.*\]' talk && fail "trk $command: progress that nobody asked for"
        "$trk" $command --progress=json </dev/null >out 2>err
        same "trk $command, lines: exit code" $? "$code"
        cmp -s plain out || fail "trk $command, lines: another result"
        [ -s talk ] || grep -vx "$(printf "$line" "$name" '.*')" err && fail "trk $command: no line of progress"
        grep "\"unit\": \"$unit\"" err | tail -1 >last
        "$tools/json_get" last total >total && "$tools/json_get" last done >did
        [ -s did ] && cmp -s did total || fail "trk $command: no end of $unit: $(tail -2 err)"
        "$trk" $command --progress=always </dev/null >out 2>err
        cmp -s plain out || fail "trk $command, bar: another result"
        grep -q "\[#*\.*\] [0-9]* of [0-9]* $unit" err || fail "trk $command: no bar: $(tr '\r' '\n' <err | head -3)"
        [ -s talk ] || same "trk $command: the bar is taken away" "$(tr '\r' '\n' <err | tail -1 | tr -d ' ')" ""
        "$trk" $command </dev/null >out 2>err
        cmp -s talk err || fail "trk $command: progress where nobody looks: $(head -c 200 err)"
    }
done <<'CASES'
0|events|sim ok.trk
0|scenarios|sim cases
0|scenarios|sim -j 3 cases
0|events|explore --page 0x200010000 --window 4 ok.trk
0|programs|fuzz --runs 20
0|events|pack -f -o p.trk whole.trk
0|events|unpack -f -o u.trk whole.trk
0|bytes|recover -f -o r.trk whole.trk
0|events|doctor whole.trk
0|events|trim -f -o t.trk ok.trk 100-2000
0|events|report ok.trk
0|events|why ok.trk 0x200010000
0|events|diff ok.trk ok.trk
0|events|info --full ok.trk
0|events|query ok.trk SELECT/**/verdict/**/FROM/**/findings
0|items|regress traces
0|events|bisect ok.trk
CASES

# On a terminal, and on one that moves no cursor.
TERM=xterm "$tools/on_terminal" shown "$trk" info --full --progress=always ok.trk >out 2>err
grep -q '\[#*\.*\] [0-9]* of [0-9]* events' shown || fail "no bar on a terminal"
TERM=dumb "$tools/on_terminal" shown "$trk" info --full ok.trk >out 2>err
[ ! -s shown ] || fail "a dumb terminal: $(cat shown)"
finish
