# Goal: a catalogue's folder is as it should be whatever happens to it: after a regression all verdicts are
# in its database and nothing lies beside it; one that may not be written is read whole, also beside
# one that writes; what is no file is told and waited for by nobody; a full disk is called that; two that
# make a database at once make one; what is refused makes none.
# Method: the stored corpus; links, pipes and folders in place of files; a user without rights, a file
# system of 600 KiB; SQLite's journal, kept from a regression that is killed.
#   catalogue_folder.sh TRK TOOLS CORPUS LIBTRACK_CORE
. "$(dirname "$0")/lib.sh"
corpus=$3
core=$4
count=$(ls "$corpus"/*.trk | wc -l)
trace=$corpus/foreign.trk

# at_once SECONDS CODE ARGUMENT...: as run, and it waits for nobody.
at_once() {
    most=$1
    want=$2
    shift 2
    timeout "$most" "$trk" "$@" </dev/null >out 2>err
    got=$?
    [ "$got" -eq "$want" ] || fail "trk $*: exit code $got, expected $want: $(head -3 err)"
}

# as_other CODE ARGUMENT...: by a user who may only read.
as_other() {
    want=$1
    shift
    if [ "$(id -u)" -eq 0 ]; then
        HOME=$dir setpriv --reuid=65534 --regid=65534 --clear-groups "$trk" "$@" </dev/null >out 2>err
    else
        "$trk" "$@" </dev/null >out 2>err
    fi
    got=$?
    [ "$got" -eq "$want" ] || fail "read only: trk $*: exit code $got, expected $want: $(cat err)"
}
chmod 755 "$dir"

# ---- what lies beside the database ----
"$trk" catalogue add kept "$corpus"/*.trk >/dev/null || fail "add"
for jobs in 1 3; do
    run 0 regress -j $jobs --core "$core" kept
    same "in the folder, -j $jobs" "$(ls kept | tr '\n' ' ')" "catalogue.db traces "
done
run 0 regress -j 2 kept
mkdir alone
cp kept/catalogue.db alone
run 0 catalogue runs --json alone
same "runs in the database alone" "$(get runs.#)" 2
same "verdicts in the database alone" "$(get runs.0.verdicts)" "$count"
run 0 catalogue list alone
same "in a folder that was only read" "$(ls alone)" catalogue.db

# One that is killed leaves a journal. It is read with the database, also by who may not write.
"$trk" catalogue add killed "$corpus"/*.trk >/dev/null || fail "add"
cp "$core" other.so
turn=0
while [ "$turn" -lt 40 ] && ! [ -s killed/catalogue.db-wal ]; do # it may have ended before
    turn=$((turn + 1))
    printf x >>other.so
    "$trk" regress --core ./other.so killed >/dev/null 2>&1 &
    pid=$!
    tries=0
    while [ "$tries" -lt 300 ] &&
        ! [ "$(stat -c %s killed/catalogue.db-wal 2>/dev/null || echo 0)" -gt 20000 ]; do
        tries=$((tries + 1))
        sleep 0.01
    done
    kill -9 $pid
    wait $pid
done 2>/dev/null
[ -s killed/catalogue.db-wal ] || fail "no journal is left: the test looks at nothing"
cp -r killed indexless
rm indexless/catalogue.db-shm
run 0 catalogue runs --json indexless
verdicts=$(get runs.0.verdicts)
at_least "verdicts in the journal" "$verdicts" 1
for folder in killed indexless; do
    chmod 444 $folder/catalogue.db*
    chmod 555 $folder
    as_other 0 catalogue runs --json $folder
    same "verdicts in $folder, read only" "$(get runs.0.verdicts)" "$verdicts"
    as_other 0 regress --core "$core" $folder
    chmod 755 $folder
    chmod 644 $folder/catalogue.db*
done
run 0 regress --core ./other.so killed
same "in the folder after another" "$(ls killed | tr '\n' ' ')" "catalogue.db traces "

# Who may only read, beside one that writes: each sees all or all but the one.
"$trk" catalogue add busy "$corpus"/*.trk >/dev/null || fail "add"
(
    for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        "$trk" catalogue rm busy foreign.trk && "$trk" catalogue add busy "$trace" || echo "turn $turn"
    done >writer.out 2>writer.err
    : >writer.done
) &
while [ ! -e writer.done ]; do
    as_other 0 catalogue list busy
    lines=$(wc -l <out)
    [ "$lines" -eq "$count" ] || [ "$lines" -eq $((count - 1)) ] || fail "$lines lines beside a writer"
done
wait
[ ! -s writer.err ] || fail "who writes beside readers: $(cat writer.err)"

# ---- what is no file ----
# A manifest, in a folder and beside what is added; as a link to one it is one.
mkdir odd
cp "$trace" odd/mine.trk
cp "$corpus/manifest.json" real.json
ln -s nowhere odd/manifest.json
at_once 5 2 regress odd
said "odd: manifest.json: a link to what is not there"
at_once 5 2 regress --make made odd
at_once 5 2 catalogue add fresh odd/mine.trk
[ ! -e fresh ] || fail "a catalogue is made for what is refused"
rm odd/manifest.json
mkfifo odd/manifest.json
at_once 5 2 regress odd
said "odd: manifest.json: it is no regular file"
at_once 5 2 catalogue add fresh odd/mine.trk
rm odd/manifest.json
mkdir odd/manifest.json
at_once 5 2 regress odd
said "odd: manifest.json: it is no regular file"
rmdir odd/manifest.json
printf '{"schema":"trk-corpus/1","traces":[]}' >real.json
ln -s ../real.json odd/manifest.json
at_once 20 0 regress odd
rm odd/manifest.json
# Earlier runs, results of benches, traces, scenarios.
mkfifo pipe pipe.trk pipe.json
at_once 5 2 regress --against pipe odd
said "no earlier run: it is no regular file"
at_once 5 2 catalogue bench kept foreign.trk pipe
said "it is no regular file"
for name in pipe.trk pipe.json odd; do
    at_once 5 2 catalogue add fresh $name
done
[ ! -e fresh ] || fail "a catalogue is made for what is refused"
# The database itself: rebuild is the way out, for what is there when it is moved away.
for kind in pipe link folder; do
    "$trk" catalogue add $kind.k "$trace" >/dev/null || fail "add"
    rm $kind.k/catalogue.db
    case $kind in
    pipe) mkfifo pipe.k/catalogue.db ;;
    link) ln -s nowhere link.k/catalogue.db ;;
    folder) mkdir folder.k/catalogue.db ;;
    esac
    for command in list gc runs; do
        at_once 5 3 catalogue $command $kind.k
        said "trk catalogue rebuild"
    done
    at_once 5 3 regress $kind.k
    said "trk catalogue rebuild"
    at_once 5 3 catalogue add $kind.k "$trace"
    # A link is renamed; what is there stays where it is, also where nothing is stored.
    if [ $kind != link ]; then
        at_once 5 3 catalogue rebuild $kind.k
        said "catalogue.db is no regular file, and stays: move it away"
        grep -q "is called" err && fail "a $kind is said to be renamed"
        same "beside a $kind" "$(ls $kind.k | tr '\n' ' ')" "catalogue.db traces "
        mkdir $kind.only
        mv $kind.k/catalogue.db $kind.only
        at_once 5 3 catalogue add $kind.only "$trace"
        at_once 5 3 catalogue rebuild $kind.only
        [ -p $kind.only/catalogue.db ] || [ -d $kind.only/catalogue.db ] || fail "a $kind is gone"
    fi
    at_once 5 0 catalogue rebuild $kind.k
    run 0 catalogue list --json $kind.k
    same "after a $kind" "$(get traces.#)" 1
done
[ ! -e nowhere ] && [ ! -e link.k/nowhere ] || fail "a database is made where a link leads"
# An empty one, which nothing was ever stored in, has nothing to remove.
mkdir empty.k
: >empty.k/catalogue.db
run 0 catalogue gc empty.k
same "gc of nothing" "$(cat out)" "0 files removed"
# And one without the others.
rm pipe.k/catalogue.db
for command in list gc runs; do
    run 3 catalogue $command pipe.k
    said "there is no catalogue.db, but files are stored: trk catalogue rebuild"
done

# ---- JSON that says two things ----
hash=$("$trk" catalogue list link.k | cut -c 1-12)
entry() { # EXPECTED MORE
    printf '{"file":"mine.trk","hash":"%s","bytes":%s,"command":"","origin":"","licence":"","policy":"","expected":"%s"%s}' \
        "$full" "$(wc -c <odd/mine.trk)" "$1" "$2"
}
run 0 catalogue show --json link.k "$hash"
full=$(get traces.0.hash)
json() { # EXIT WORDS TEXT
    printf '%s' "$3" >odd/manifest.json
    run "$1" regress odd
    [ -z "$2" ] || said "$2"
}
json 0 "" "{\"schema\":\"trk-corpus/1\",\"traces\":[$(entry ok)]}"
json 1 "" "{\"schema\":\"trk-corpus/1\",\"traces\":[$(entry unknown)]}"
json 3 "manifest.json: no JSON from byte [0-9]* on: a NUL" \
    "{\"schema\":\"trk-corpus/1\",\"traces\":[$(entry 'ok\u0000x')]}"
json 0 "" "{\"schema\":\"trk-corpus/1\",\"about\":\"\\\\\\\\u0000\",\"traces\":[$(entry ok)]}"
json 3 "manifest.json: the key 'expected' stands there twice" \
    "{\"schema\":\"trk-corpus/1\",\"traces\":[$(entry ok ',"expected":"unknown"')]}"
json 3 "manifest.json: the key 'traces' stands there twice" \
    "{\"schema\":\"trk-corpus/1\",\"traces\":[$(entry ok)],\"traces\":[]}"
rm odd/manifest.json
run 0 regress --json odd
cp out run.json
run 0 regress --against run.json odd
{ cat run.json && echo more; } >run2.json
run 3 regress --against run2.json odd
said "no earlier run: no JSON from byte [0-9]* on"
sed 's/"verdict":/"verdict":"x","verdict":/' run.json >run2.json
run 3 regress --against run2.json odd
said "no earlier run: the key 'verdict' stands there twice"
echo '{"schema":"trk-bench/1"} {"schema":"trk-bench/1"}' >bench.json
run 3 catalogue bench kept foreign.trk bench.json

# ---- what is refused ----
run 2 catalogue add --expected nonsense fresh odd/mine.trk
run 2 catalogue add fresh odd/mine.trk absent.trk
run 3 catalogue add fresh odd/mine.trk real.json
[ ! -e fresh ] || fail "a catalogue is made for what is refused"
# A database without its tables, or with others, is damaged.
cat >tables.py <<'PY'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.executescript(sys.argv[2])
database.commit()
PY
# damaged_until_rebuilt WORDS: what $change has made of tables is refused everywhere, and rebuild mends it.
damaged_until_rebuilt() {
    for command in list gc runs; do
        run 3 catalogue $command tables
        said "$1"
    done
    run 3 regress tables
    run 3 catalogue add tables "$trace"
    run 0 catalogue rebuild tables
    run 0 regress --json tables
    same "after $change" "$(get pass)" 1
}
if python3 -c 'import sqlite3' 2>/dev/null; then
    for change in 'DROP TABLE traces' 'DROP TABLE verdicts' 'DROP TABLE benches' \
        'ALTER TABLE verdicts DROP COLUMN detail' 'PRAGMA user_version = 1' \
        'DROP TABLE traces; DROP TABLE verdicts; DROP TABLE benches'; do
        rm -rf tables
        "$trk" catalogue add tables "$trace" >/dev/null || fail "add"
        python3 tables.py tables/catalogue.db "PRAGMA foreign_keys = OFF; $change"
        damaged_until_rebuilt "trk catalogue rebuild"
    done
    # Nor is one in whose texts a bit has turned over, which SQLite does not see.
    rm -rf tables
    "$trk" catalogue add tables "$trace" >/dev/null || fail "add"
    run 0 regress tables
    cp -r tables whole
    for change in "UPDATE traces SET expected = 'oK'" "UPDATE traces SET hash = 'x' || substr(hash, 2)" \
        "UPDATE traces SET bytes = -1" "UPDATE traces SET name = ''" "UPDATE verdicts SET verdict = 'oK'" \
        "UPDATE verdicts SET event_at = -1"; do
        rm -rf tables
        cp -r whole tables
        python3 tables.py tables/catalogue.db "PRAGMA foreign_keys = OFF; $change"
        damaged_until_rebuilt "catalogue.db is damaged: .*: trk catalogue rebuild"
    done
    # One that is taken out while it is run is told; the others are as they were.
    "$trk" catalogue add whole "$corpus/demo-seed-1.trk" >/dev/null || fail "add"
    cp "$core" turn.so
    run 0 regress --core ./turn.so --json whole
    took=0
    while [ "$took" -lt 20 ]; do # the row goes at some moment of the run, and at last within it
        took=$((took + 1))
        rm -rf gone
        cp -r whole gone
        printf x >>turn.so
        "$trk" regress --repeat 200 --core ./turn.so gone >gone.out 2>gone.err &
        pid=$!
        sleep "$(printf '0.%02d' $((5 * took % 60)))" # early or late, as the machine is fast or slow
        python3 tables.py gone/catalogue.db "DELETE FROM traces WHERE name = 'foreign.trk'"
        wait $pid
        code=$?
        grep -q "^unreadable .*foreign.trk" gone.out && break
        [ "$code" -eq 0 ] || break
    done
    same "taken out while it is run" "$code" 3
    grep -A 1 '^unreadable .*foreign.trk' gone.out | grep -q 'taken out of the catalogue while it was run' ||
        fail "taken out while it is run: $(cat gone.out gone.err)"
    grep -q '^pass .*demo-seed-1.trk' gone.out || fail "beside one that is taken out: $(cat gone.out)"
    rm -rf whole
else
    echo "skipped: no python3 for a database without its tables"
fi

# ---- two at once ----
"$trk" catalogue add twins "$corpus"/*.trk >/dev/null || fail "add"
for turn in 1 2 3 4 5 6; do
    rm -rf twins/catalogue.db*
    echo "no database, and more than a header's bytes of it $turn" >twins/catalogue.db
    for i in 1 2 3 4; do
        "$trk" catalogue rebuild twins >twin.$i 2>&1 || echo "rebuild $i: $?" >>twin.bad &
    done
    "$trk" regress twins >twin.5 2>&1 # refused, or kept
    code=$?
    wait
    same "moved away in turn $turn" "$(ls twins | grep -c 'damaged-[0-9]*$')" 1
    run 0 catalogue runs --json twins
    [ "$code" -ne 0 ] || same "verdicts of turn $turn" "$(get runs.0.verdicts)" "$count"
done
[ ! -e twin.bad ] || fail "$(cat twin.bad) $(cat twin.?)"
# Many that store the first in a new one.
for turn in 1 2 3 4 5 6; do
    rm -rf news
    for file in $(ls "$corpus"/scenario-*.trk | head -6); do
        "$trk" catalogue add news "$trace" "$file" >/dev/null 2>>new.err || echo "add $file" >>new.bad &
    done
    wait
    run 0 catalogue list --json news
    same "stored in turn $turn" "$(get traces.#)" 7
done
[ ! -e new.bad ] || fail "$(cat new.bad new.err)"

# ---- gc says what it removes ----
echo note >kept/traces/notes.txt
echo part >kept/traces/left.trk.part
run 0 catalogue gc kept
same "what gc removes" "$(cat out)" "$(printf 'left.trk.part\nnotes.txt\n2 files removed')"

# ---- a command that records again ----
mkdir again
cp "$trace" again/mine.trk
sed "s/\"command\":\"\"/\"command\":\"sleep 50 \& sleep 51; true\"/" <<JSON >again/manifest.json
{"schema":"trk-corpus/1","traces":[$(entry ok)]}
JSON
at_once 30 4 regress --make made --limit 1 again
said "mine.trk: its command took longer than 1 s and was ended"
[ ! -e made ] || fail "half a folder is left"
for slept in 50 51; do
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/cmdline" 2>/dev/null | tr '\0' ' ')" != "sleep $slept " ] ||
            [ "$(readlink "$process/cwd")" != "$dir" ] || fail "sleep $slept goes on"
    done
done

# ---- a full disk ----
if ! unshare -rm true 2>/dev/null; then
    [ "$failures" -eq 0 ] || finish
    echo "skipped: no mount namespace for a full disk"
    exit 77
fi
mkdir disk
{
    echo '{"scenario": 1, "name": "large", "memory": {"A": {"at": "0x200010000", "size": "4K"}},'
    printf '%300000s\n' ''
    echo '"threads": {"guest": ["store A 8 1"]}, "expect": {"verdict": "ok"}}'
} >large.json
cat >full.sh <<'SCRIPT'
mount -t tmpfs -o size=600k none disk || exit 77
"$1" catalogue add disk/k "$2/foreign.trk" "$2/policy-strict.trk" >/dev/null || echo "add"
head -c 1000000 /dev/zero >disk/fill 2>/dev/null
try() {
    want=$1
    words=$2
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$want" ] || echo "$*: $got, not $want: $(cat err)"
    grep -q "$words" out err || echo "$*: $(cat err)"
    [ "$(ls disk/k | tr '\n' ' ')" = "catalogue.db traces " ] || echo "$*: left: $(ls disk/k)"
    [ ! -e disk/new ] || echo "$*: half a catalogue is left"
}
try 0 foreign.trk "$1" catalogue list disk/k
try 0 foreign.trk "$1" catalogue show disk/k foreign.trk
try 4 "the disk is full" "$1" regress disk/k
try 4 "the disk is full" "$1" catalogue rm disk/k foreign.trk
try 4 "the disk is full" "$1" catalogue gc disk/k
try 4 "the disk is full" "$1" catalogue rebuild disk/k
try 4 "the disk is full" "$1" catalogue add disk/k "$2/demo-seed-1.trk"
try 4 "the disk is full" "$1" catalogue add disk/new "$2/demo-seed-1.trk"
rm disk/fill
# With room for a database and none for what is to be stored nothing is left, of an empty folder that folder.
mkdir disk/empty
for left in 80 100 120 140; do
    head -c $((($(df --output=avail disk | tail -1) - left) * 1024)) /dev/zero >disk/fill
    for name in new empty; do
        "$1" catalogue add disk/$name "$3" >out 2>err && echo "add to $name: it has room"
        grep -q "the disk is full\|No space left on device" err || echo "add to $name: $(cat err)"
    done
    [ ! -e disk/new ] || echo "$left KiB: half a catalogue is left: $(ls disk/new)"
    [ -z "$(ls disk/empty)" ] || echo "$left KiB: left in a folder: $(ls disk/empty)"
    rm disk/fill
done
head -c $((($(df --output=avail disk | tail -1) - 40) * 1024)) /dev/zero >disk/fill
try 0 "0 files removed" "$1" catalogue gc disk/k
rm disk/fill
try 0 "2 pass" "$1" regress disk/k
# With a little room, wherever it ends: all of it is stored, or nothing has changed.
full=0 stored=0 left=0
while [ "$left" -le 160 ]; do
    rm -rf disk/*
    "$1" catalogue add disk/k "$2/foreign.trk" "$2/policy-strict.trk" >/dev/null || echo "add"
    before=$(ls disk/k/traces)
    head -c $((($(df --output=avail disk | tail -1) - left) * 1024)) /dev/zero >disk/fill
    "$1" catalogue add disk/k "$2/demo-seed-1.trk" >out 2>err
    case $? in
    0) stored=$((stored + 1)) ;;
    4)
        full=$((full + 1))
        grep -q "the disk is full\|No space left on device" err || echo "$left KiB left: $(cat err)"
        [ "$(ls disk/k/traces)" = "$before" ] || echo "$left KiB left: stored are $(ls disk/k/traces)"
        "$1" catalogue list disk/k | grep -q demo-seed-1 && echo "$left KiB left: a row without a file"
        ;;
    *) echo "$left KiB left: $? $(cat err)" ;;
    esac
    left=$((left + 4))
done
[ "$full" -gt 3 ] && [ "$stored" -gt 3 ] || echo "full $full times, stored $stored times"
SCRIPT
unshare -rm sh full.sh "$trk" "$corpus" "$PWD/large.json" >full.out 2>&1
code=$?
[ "$code" -eq 77 ] || [ ! -s full.out ] || fail "on a full disk: $(cat full.out)"
finish
