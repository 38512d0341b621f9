# Goal: a command that a signal ends, of whatever kind, leaves no temporary folder, no output that is
# half written, and no program running that it had started.
# Method: each command with a slow program in it, which says when it runs; then the signal; then a look at
# the temporary folder, at where the output would be, and at the slow program.
#   signals.sh TRK TOOLS BAD_CORES TRK_LONG_TRACE; no_tmpfile.so is among the tools
. "$(dirname "$0")/lib.sh"
bad=$3
maker=$4
mkdir temporary work
TMPDIR=$dir/temporary
export TMPDIR
cd work || exit 70
started=$dir/started
printf '#!/bin/sh\necho $$ >"%s.part"\nmv "%s.part" "%s"\nexec sleep 100\n' "$started" "$started" "$started" >../slow
chmod +x ../slow
"$trk" record -o ../some.trk -- "$tools/race_tool" good >../out 2>../err || fail "record: $(cat ../err)"
cat >../wrong.json <<'CASE'
{"scenario": 1, "name": "wrong", "memory": {"A": {"at": "0x200010000", "size": "4P"}},
 "threads": {"one": ["upload A 4P", "raw_write A 8 1", "gpu_read A 8"]}}
CASE
mkdir ../wanted ../cases
cp ../wrong.json ../cases
cat >../wanted/manifest.json <<'LIST'
{"schema": "trk-corpus/1", "traces": [
  {"file": "one.trk", "hash": "00000000000000000000000000000000", "bytes": 1, "expected": "ok",
   "policy": "default", "origin": "here", "licence": "MIT", "command": "cp ../some.trk \"$OUT\""},
  {"file": "two.trk", "hash": "00000000000000000000000000000000", "bytes": 1, "expected": "ok",
   "policy": "default", "origin": "here", "licence": "MIT", "command": "exec ../slow"}]}
LIST

# soon COMMAND...: it is true before long, however busy the machine is.
soon() {
    turns=0
    while [ "$turns" -lt 1200 ]; do
        "$@" && return 0
        sleep 0.05
        turns=$((turns + 1))
    done
    return 1
}

runs() {
    [ -s "$started" ]
}

has_child() {
    child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
    child=${child%% *}
    [ -n "$child" ]
}

# It has a handler for SIGINT.
heeds_interrupts() {
    grep -q '^SigCgt:.*[2367abef]$' "/proc/$pid/status" 2>/dev/null
}

empty() {
    [ -z "$(ls -A "$1")" ]
}

over() {
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# start ARGUMENTS...: trk in the background, which a signal from a terminal reaches too.
start() {
    rm -f "$started"
    # Lists of a shell without jobs ignore these.
    env --default-signal=INT --default-signal=QUIT "$trk" "$@" </dev/null >../out 2>../err &
    pid=$!
}

# ended SIGNAL WHAT: send it to trk; it ends by it, and nothing is left.
ended() {
    case $1 in
    HUP) number=1 ;;
    INT) number=2 ;;
    KILL) number=9 ;;
    TERM) number=15 ;;
    esac
    kill -s "$1" "$pid"
    wait "$pid"
    code=$?
    same "$2, $1: exit code" "$code" $((128 + number))
    soon over "$slow" || {
        fail "$2, $1: what it had started goes on"
        kill -9 "$slow"
    }
    soon empty "$TMPDIR" || fail "$2, $1: left behind: $(ls -A "$TMPDIR")"
    soon empty . || fail "$2, $1: left behind: $(ls -A .)"
    rm -rf ./* ./.trk-* "${TMPDIR:?}"/*
}

# slowly WHERE WHAT ARGUMENTS...: by each signal in turn; until then there is something in WHERE.
slowly() {
    where=$1
    what=$2
    shift 2
    for signal in INT TERM HUP KILL; do
        start "$@"
        soon runs || {
            fail "$what: the slow program does not run: $(cat ../err)"
            kill -9 "$pid"
            continue
        }
        slow=$(cat "$started")
        ! empty "$where" || fail "$what: no temporary folder in $where: the test looks at nothing"
        ended "$signal" "$what"
    done
}

slowly "$TMPDIR" "bisect run" bisect run ../some.trk -- ../slow
slowly "$TMPDIR" "bisect live" bisect live -o live.trk -- ../slow
slowly "$TMPDIR" "bisect live, judging" bisect live -o live.trk --judge "exec ../slow" -- "$tools/race_tool" good
slowly "$TMPDIR" "bisect --git" bisect --git record -- ../slow
slowly . "regress --make" regress --make made ../wanted

# An interrupt is for minimise an end of the search, so here the others.
for signal in TERM HUP KILL; do
    start minimise ../wrong.json --good ../slow -o case.json --passing fixed.json
    soon runs || fail "minimise: the slow program does not run: $(cat ../err)"
    slow=$(cat "$started")
    ! empty "$TMPDIR" || fail "minimise: no temporary folder: the test looks at nothing"
    ended "$signal" minimise
done

# Likewise where the file system takes no files without a name: what is written has one then.
LD_PRELOAD=$tools/no_tmpfile.so
asan_options=${ASAN_OPTIONS:-}
ASAN_OPTIONS="$asan_options:verify_asan_link_order=0" # which comes behind it
export LD_PRELOAD ASAN_OPTIONS
for signal in TERM HUP KILL; do
    start minimise ../wrong.json --good ../slow -o case.json --passing fixed.json
    soon runs || fail "minimise, named files: the slow program does not run: $(cat ../err)"
    slow=$(cat "$started")
    ! empty . || fail "minimise: no file with a name: the test looks at nothing"
    ended "$signal" "minimise, named files"
done
for turn in first again; do
    "$trk" minimise -f ../wrong.json -o case.json --passing fixed.json >../out 2>../err ||
        fail "named files, $turn: $(cat ../err)"
    same "named files, $turn" "$(ls -A | tr '\n' ' ')" "case.json fixed.json "
done
"$trk" minimise ../wrong.json -o case.json >../out 2>../err
same "named files, one that is there: exit code" $? 2
same "named files, one that is there" "$(ls -A | tr '\n' ' ')" "case.json fixed.json "
rm -f case.json fixed.json
unset LD_PRELOAD
ASAN_OPTIONS=$asan_options

# While it reads a trace an interrupt ends it at once: then not even the trace's verdict is known.
"$maker" --events 3000000 -o ../long.trk || fail "no long trace"
start minimise ../long.trk --json -o case.json
soon heeds_interrupts || fail "minimise, reading: no handler: $(cat ../err)"
kill -s INT "$pid"
wait "$pid"
same "minimise, reading: exit code" $? 3
same "minimise, reading: verdict" "$("$tools/json_get" ../out recorded)" unknown
same "minimise, reading: complete" "$("$tools/json_get" ../out complete)" false
empty . || fail "minimise, reading: left behind: $(ls -A .)"
rm -f ../long.trk

# A plug-in that loops, in a process of its own; a report that is to be written.
for signal in INT TERM KILL; do
    start core-check --core-limit 100 "$bad/bad_core_7.so" ../wrong.json
    soon has_child || fail "core-check: no process of the plug-in's: $(cat ../err)"
    slow=$child
    ended "$signal" core-check
    start regress --core "$bad/bad_core_7.so" --junit regress.xml ../cases
    soon has_child || fail "regress: no process of the plug-in's: $(cat ../err)"
    slow=$child
    ended "$signal" regress
done

# One that ends as it should leaves nothing either, and keeps what it made.
cd .. || exit 70
sed 's/exec ..\/slow/true/; s/\.\.\/some/some/' wanted/manifest.json >manifest.json
mv manifest.json wanted/manifest.json
run 4 regress --make work/made/ wanted
said "two.trk: its command made no trace"
empty work || fail "regress --make: half a folder is left: $(ls -A work)"
sed 's/"true"/"cp some.trk \\"$OUT\\""/' wanted/manifest.json >manifest.json
mv manifest.json wanted/manifest.json
run 0 regress --make work/made/ wanted
[ -s work/made/one.trk ] && [ -s work/made/two.trk ] && [ -s work/made/manifest.json ] ||
    fail "made: $(ls -A work/made)"
same "what else is there" "$(ls -A work)" made
mkdir plain
same "the folder's mode" "$(stat -c %a work/made)" "$(stat -c %a plain)"
run 2 regress --make work/made wanted
said "a new folder is wanted"
run 2 regress --make absent/made wanted
empty "$TMPDIR" || fail "left behind: $(ls -A "$TMPDIR")"
finish
