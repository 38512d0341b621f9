# Goal: a catalogue keeps traces by their content and verdicts by their key; many processes at once, one
# of them killed, lose none and double none; what is damaged, another program's or newer is refused and
# told the way out; the same key with another verdict is an error.
# Method: the stored corpus; eight copies of the core, which differ in a byte behind their end; copies of
# the database while it is written.
#   catalogue.sh TRK TOOLS CORPUS LIBTRACK_CORE MUTABLE_CORE
. "$(dirname "$0")/lib.sh"
corpus=$3
core=$4
mutable=$5

run 2 catalogue
run 2 catalogue frobnicate kept
said "there are: add"
run 2 catalogue list kept
said "no catalogue"
run 2 catalogue add kept
run 2 catalogue list --licence MIT kept

# Added twice it is there once; what the manifest says comes along.
run 0 catalogue add kept "$corpus"/*.trk
run 0 catalogue add kept "$corpus/foreign.trk"
count=$(ls "$corpus"/*.trk | wc -l)
run 0 catalogue list --json kept
same stored "$(get traces.#)" "$count"
same files "$(ls kept/traces | grep -c '[.]trk$')" "$count"
same "what lies beside them" "$(ls kept/traces | grep -c '[.]about$')" "$count"
same "no others" "$(ls kept/traces | wc -l)" $((2 * count))
run 0 catalogue show --json kept bug-alias-write.trk
same expected "$(get traces.0.expected)" stale-gpu-read
same licence "$(get traces.0.licence)" MIT
hash=$(get traces.0.hash)
cmp -s "kept/traces/$hash.trk" "$corpus/bug-alias-write.trk" || fail "other bytes are stored"
run 2 catalogue show kept absent.trk
cp "$corpus/foreign.trk" mine.trk
run 0 catalogue add --expected unknown --origin here --licence none other mine.trk
run 0 catalogue show other mine.trk
grep -q '^expected unknown$' out || fail "--expected is not kept"
# What was said of it stays, with its name, when it is added again and nothing else is said.
cp mine.trk again.trk
run 0 catalogue add other mine.trk
quiet
run 0 catalogue add other again.trk
said "again.trk: its content is stored, and stays mine.trk"
run 0 catalogue add --licence MIT other again.trk
run 0 catalogue show --json other mine.trk
same "expected still" "$(get traces.0.expected)" unknown
same "origin still" "$(get traces.0.origin)" here
same "licence, said anew" "$(get traces.0.licence)" MIT
# The policy, too: what the trace itself tells is for one of which nobody has said any.
run 0 catalogue add policies "$corpus/demo-seed-1.trk"
cp "$corpus/demo-seed-1.trk" renamed.trk
run 0 catalogue add policies renamed.trk
run 0 catalogue show --json policies demo-seed-1.trk
same "policy still" "$(get traces.0.policy)" default
run 0 catalogue add untold renamed.trk
run 0 catalogue show --json untold renamed.trk
get traces.0.policy | grep -q '^invalidate=' || fail "the trace's own policy: $(get traces.0.policy)"
# What is no verdict cannot be expected.
run 2 catalogue add --expected nonsense other mine.trk
said "'nonsense' is no verdict"
head -c 200 mine.trk >cut.trk
run 0 catalogue list other
run 3 catalogue add other cut.trk
echo nothing >none.trk
run 3 catalogue add other none.trk
run 2 catalogue add other absent.trk
echo '{}' >none.json
run 3 catalogue add other none.json
said "none.json: no scenario: "
run 2 catalogue add other absent.json
long=$(printf '%0124d' 0).trk
cp mine.trk "$long"
run 2 catalogue add other "$long"
said "$long: its name has more than 127 bytes"
run 0 catalogue list --json other
same "after what was refused" "$(get traces.#)" 1
same "expected after what was refused" "$(get traces.0.expected)" unknown

# A trace without its end is stored, and that it lacks something is told.
head -c 5000 mine.trk >short.trk
run 0 catalogue add short short.trk
said "short.trk: the trace is not complete"
run 0 catalogue add --expected unknown short2 short.trk
quiet

# A regression over it keeps verdicts; the next one finds the same.
run 0 regress --json kept
same "all of it" "$(get pass)" "$count"
run 0 regress kept
run 0 catalogue show --json kept bug-alias-write.trk
same verdicts "$(get traces.0.verdicts.#)" 1
same verdict "$(get traces.0.verdicts.0.verdict)" stale-gpu-read
run 1 regress other

# The run that is kept is held against by its id: the same core inside a plug-in, and one with a fault.
run 0 catalogue runs --json kept
same runs "$(get runs.#)" 1
same "verdicts of the run" "$(get runs.0.verdicts)" "$count"
id=$(get runs.0.id)
run 0 catalogue runs kept
grep -q "^$id  *$count verdicts, trk [^ ]*, core built-in " out || fail "the run in words: $(cat out)"
run 0 regress --core "$core" --against "$id" kept
grep -q ", against the run $id$" out || fail "the run is not named"
cp "$mutable" faulty.so
echo >>faulty.so
run_with TRK_MUTANT=1 1 regress --json --core ./faulty.so --against "$(printf '%.5s' "$id")" kept
same "the run in JSON" "$(get against)" "$id"
at_least "changed since that run" "$(get changed)" 1
run 0 catalogue runs --json kept
same "runs of three cores" "$(get runs.#)" 3
run 2 regress --against 000000000000 kept
said "trk catalogue runs kept"
run 2 regress --against "" kept
said "the value is empty"
run 2 catalogue runs kept "$id"
run 2 catalogue gc --json kept

# A result of a bench stays with its trace.
bytes=$(wc -c <"$corpus/demo-seed-1.trk")
printf '{"schema":"trk-bench/1","trace":{"hash":"0123456789abcdef","bytes":%s},"rounds":7}' "$bytes" >bench.json
run 0 catalogue bench kept demo-seed-1.trk bench.json
run 0 catalogue bench kept demo-seed-1.trk bench.json
run 0 catalogue show --json kept demo-seed-1.trk
same benches "$(get traces.0.benches.#)" 1
same rounds "$(get traces.0.benches.0.rounds)" 7
run 3 catalogue bench kept demo-seed-1.trk out
run 2 catalogue bench kept absent.trk bench.json
# Nor one of another trace, or of none.
run 2 catalogue bench kept bug-alias-write.trk bench.json
said "it is of another trace: that one has $bytes bytes"
for its in '7' '{}' '{"hash":7,"bytes":13316}' '{"hash":"0","bytes":"13316"}'; do
    printf '{"schema":"trk-bench/1","trace":%s}' "$its" >none.json
    run 3 catalogue bench kept demo-seed-1.trk none.json
    said "no result of trk bench"
done

# The plug-in asks the environment which fault it has: one key, two verdicts.
TRK_MUTANT=0 run 0 regress --core "$mutable" kept
TRK_MUTANT=1 run 70 regress --core "$mutable" kept
grep -q 'the catalogue has stale-gpu-read of the same core' out || fail "what was kept is not told"

# rm and gc.
run 0 catalogue rm kept foreign.trk
run 2 catalogue rm kept foreign.trk
run 2 catalogue rm kept ""
run 0 catalogue list --json kept
same "after rm" "$(get traces.#)" $((count - 1))
same "files after rm" "$(ls kept/traces | wc -l)" $((2 * (count - 1)))
echo x >kept/traces/left.trk.part
run 0 catalogue gc kept
same gc "$(cat out)" "$(printf 'left.trk.part\n1 files removed')"
echo damage >>"kept/traces/$hash.trk"
run 3 regress kept
grep -q '^unreadable .*bug-alias-write.trk' out || fail "a stored file that was changed is not told"

# What is no catalogue, or one that is damaged or newer.
refused() {
    run "$1" catalogue list "$2"
    said "$3"
    run "$1" regress "$2"
    said "$3"
}
mkdir foreign text newer torn
printf 'no database, but long enough to look at: %01000d' 0 >text/catalogue.db
refused 3 text "catalogue rebuild"
sqlite_like=kept/catalogue.db
"$trk" catalogue gc kept >/dev/null # nothing is left in a journal
cp "$sqlite_like" newer/catalogue.db
printf '\0\0\0\143' | dd of=newer/catalogue.db bs=1 seek=60 conv=notrunc 2>/dev/null
refused 4 newer "version 99"
cp "$sqlite_like" foreign/catalogue.db
printf '\0\0\0\1' | dd of=foreign/catalogue.db bs=1 seek=68 conv=notrunc 2>/dev/null
cp foreign/catalogue.db foreign.before
refused 3 foreign "another program's"
cp "$sqlite_like" torn/catalogue.db
head -c 6000 /dev/zero | dd of=torn/catalogue.db bs=1 seek=8192 conv=notrunc 2>/dev/null
refused 3 torn "catalogue rebuild"

# The way out: a new database says of the stored files what the old one said, but for the verdicts.
words() {
    "$trk" catalogue list --json "$1" | sed '/"path"/d'
}
"$trk" catalogue add lost "$corpus"/*.trk >/dev/null || fail "add"
run 0 catalogue add --expected unknown --origin here lost mine.trk
words lost >before
run 0 catalogue rebuild lost
same "nothing to take up" "$(cat out)" "0 files taken up"
: >lost/catalogue.db
rm -f lost/catalogue.db-*
refused 3 lost "catalogue.db is empty, but files are stored"
run 3 catalogue gc lost
run 3 catalogue add lost mine.trk
same "no file is gone" "$(ls lost/traces | grep -c '[.]trk$')" "$count"
run 0 catalogue rebuild lost
words lost | cmp -s - before || fail "after an empty one other words"
head -c 5000 before >lost/catalogue.db
run 3 catalogue list lost
run 0 catalogue rebuild lost
said "is called catalogue.db.damaged-1 now"
words lost | cmp -s - before || fail "after a damaged one other words"
head -c 5000 before | cmp -s - lost/catalogue.db.damaged-1 || fail "the damaged one is not kept"
rm lost/catalogue.db
refused 3 lost "there is no catalogue.db, but files are stored"
run 3 catalogue add lost "$corpus/foreign.trk"
run 0 catalogue rebuild lost
words lost | cmp -s - before || fail "after none other words"
run 1 regress --json lost
same "as expected, but for the one of which that was said" "$(get pass)" $((count - 1))
# What cannot be known is told; what is other bytes than its name says is left out.
rm lost/catalogue.db "lost/traces/$hash.about"
echo damage >lost/traces/0123456789abcdef0123456789abcdef.trk
run 3 catalogue rebuild lost
said "$hash.trk: nothing lies beside it"
said "left out: 0123456789abcdef0123456789abcdef.trk"
run 0 catalogue list --json lost
same "all others" "$(get traces.#)" "$count"
# What cannot be read is left out, and named; gc does not take it for nobody's.
rm lost/traces/0123456789abcdef0123456789abcdef.trk lost/catalogue.db*
mkdir "lost/traces/$hash.about"
ln -s absent lost/traces/0123456789abcdef0123456789abcde1.trk
mkfifo lost/traces/0123456789abcdef0123456789abcde2.trk
run 3 catalogue rebuild lost
said "left out: $hash.trk"
said "left out: 0123456789abcdef0123456789abcde1.trk: cannot open"
said "left out: 0123456789abcdef0123456789abcde2.trk: it is no regular file"
same "taken up" "$(tail -1 out)" "$((count - 1)) files taken up"
run 0 catalogue gc lost
said "1 stored files are not in the database, but described"
same "no file is gone by gc" "$(ls lost/traces | grep -c "[.]trk$")" "$count"
rmdir "lost/traces/$hash.about"
# What lies beside a file and cannot be right says nothing of it: it is left out until that is mended or gone.
rm lost/catalogue.db*
run 0 catalogue rebuild lost
run 0 catalogue add --expected unknown lost "lost/traces/$hash.trk"
cp "lost/traces/$hash.about" about.right
about_is() { # WORDS
    rm lost/catalogue.db*
    run 3 catalogue rebuild lost
    said "left out: $hash.trk: $hash.about:* $1.*; mend that or take it away"
    same "taken up, without $hash" "$(tail -1 out)" "$((count - 1)) files taken up"
    run 0 catalogue gc lost
    said "1 stored files are not in the database, but described: .* or says why not"
    [ -f "lost/traces/$hash.trk" ] || fail "gc takes away what is described wrongly: $1"
    rm "lost/traces/$hash.about"
}
sed 's/"unknown"/"unknowm"/' about.right >"lost/traces/$hash.about"
about_is "traces\[0\].expected is no verdict"
sed '/"licence"/d' about.right >"lost/traces/$hash.about"
about_is "traces\[0\].licence"
sed "s/$hash/0123456789abcdef0123456789abcdef/" about.right >"lost/traces/$hash.about"
about_is "speaks of another file"
echo '{"schema":"trk-corpus/1","traces":[]}' >"lost/traces/$hash.about"
about_is "speaks of another file"
head -c 40 about.right >"lost/traces/$hash.about"
about_is "no JSON"
ln -s absent "lost/traces/$hash.about"
about_is "a link to what is not there"
# Where there is a row that is what counts, and gc writes it.
cp about.right "lost/traces/$hash.about"
run 0 catalogue rebuild lost
echo torn >"lost/traces/$hash.about"
run 0 catalogue rebuild lost
run 0 catalogue gc lost
cmp -s about.right "lost/traces/$hash.about" || fail "gc leaves a wrong description"
# A copy under the other ending is nobody's, and gc's once the right one has a row.
cp "lost/traces/$hash.trk" "lost/traces/$hash.json"
rm lost/catalogue.db*
run 3 catalogue rebuild lost
said "left out: $hash.json: it is called $hash.trk"
run 0 catalogue gc lost
same "gone by gc" "$(cat out)" "$(printf '%s.json\n1 files removed' "$hash")"
run 0 catalogue rebuild lost
# A trace that is called like a scenario, but for capitals, is a trace to all.
cp mine.trk mine.JSON
run 0 catalogue add capitals mine.JSON
run 0 catalogue gc capitals
same "nothing of it is nobody's" "$(cat out err)" "0 files removed"
# One that is ended in the middle (by the size of its file) leaves no database that looks whole.
rm lost/catalogue.db*
(ulimit -f 16 && exec "$trk" catalogue rebuild lost) >out 2>err && fail "a file may be too large"
run 3 catalogue list lost
said "files are stored"
run 3 catalogue gc lost
rm -f lost/catalogue.db*
ln -s absent lost/catalogue.db
run 0 catalogue rebuild lost
said "is called catalogue.db.damaged-1 now"
rm -f lost/catalogue.db
ln -s absent lost/catalogue.db
run 0 catalogue rebuild lost
said "is called catalogue.db.damaged-2 now"
# gc writes anew what does not lie beside a file.
first=$(ls lost/traces/*.about | head -1)
cp "$first" about.before
echo torn >"$first"
run 0 catalogue gc lost
cmp -s about.before "$first" || fail "gc leaves a wrong description"
run 2 catalogue rebuild newer/traces
run 4 catalogue rebuild newer

# An older one is brought up: what is known of each file lies beside it then.
"$trk" catalogue add older "$corpus"/*.trk >/dev/null || fail "add"
words older >before
"$trk" catalogue gc older >/dev/null
printf '\0\0\0\2' | dd of=older/catalogue.db bs=1 seek=60 conv=notrunc 2>/dev/null
rm older/traces/*.about
run 0 catalogue list older
rm older/catalogue.db
run 0 catalogue rebuild older
words older | cmp -s - before || fail "of an older one other words"

# One that may only be read is listed, shown and run; that the verdicts are not kept is told.
as_other() {
    want=$1
    shift
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$trk" "$@" </dev/null >out 2>err
    else
        "$trk" "$@" </dev/null >out 2>err
    fi
    got=$?
    [ "$got" -eq "$want" ] || fail "read only: trk $*: exit code $got, expected $want: $(cat err)"
}
run 0 regress older
"$trk" catalogue gc older >/dev/null
chmod 755 "$dir"
chmod 444 older/catalogue.db older/traces/*
chmod 555 older older/traces
as_other 0 catalogue list --json older
sed '/"path"/d' out | cmp -s - before || fail "read only: other words"
as_other 0 catalogue show --json older foreign.trk
same "verdicts, read only" "$(get traces.0.verdicts.#)" 1
as_other 0 catalogue runs --json older
same "runs, read only" "$(get runs.#)" 1
as_other 0 regress --core "$core" --json older
said "older may only be read: the verdicts are not kept"
same "pass, read only" "$(get pass)" "$count"
as_other 4 catalogue add older mine.trk
same "nothing was written" "$(ls older | wc -l)" 2
chmod 755 older older/traces
chmod 644 older/catalogue.db
run 0 catalogue runs --json older
same "runs, afterwards" "$(get runs.#)" 1

# Eight at once, one of them killed, and the database copied while they write.
"$trk" catalogue add many "$corpus"/*.trk >/dev/null || fail "add"
pids=
for i in 1 2 3 4 5 6 7 8; do
    cp "$core" "core$i.so"
    printf '%s' "$i" >>"core$i.so"
    "$trk" regress --core "./core$i.so" many >"many.$i" 2>&1 &
    pids="$pids $!"
done
copies=0
for pid in $pids; do
    victim=${victim:-$pid}
done
while [ "$copies" -lt 24 ]; do
    mkdir "copy$copies"
    cp many/catalogue.db* "copy$copies" 2>/dev/null
    copies=$((copies + 1))
    sleep 0.03
    [ "$copies" -ne 6 ] || kill -9 "$victim"
done
number=0
for pid in $pids; do
    number=$((number + 1))
    wait "$pid"
    code=$?
    if [ "$pid" != "$victim" ]; then
        [ "$code" -eq 0 ] || fail "process $number ended with $code: $(tail -1 "many.$number")"
    fi
done 2>/dev/null
run 0 regress --core ./core1.so many
for name in foreign.trk demo-seed-1.trk bug-lost-rearm.trk; do
    run 0 catalogue show --json many "$name"
    same "verdicts of $name" "$(get traces.0.verdicts.#)" 8
done
total=0
for name in $(ls "$corpus" | grep 'trk$'); do
    "$trk" catalogue show --json many "$name" >one.json || fail "show $name"
    total=$((total + $(get traces.0.verdicts.# one.json)))
done
same "verdicts of all" "$total" $((8 * count))
opened=0
for folder in copy*; do
    "$trk" catalogue list --json "$folder" >out 2>err
    case $? in
    0)
        same "stored in $folder" "$(get traces.#)" "$count"
        opened=$((opened + 1))
        ;;
    3) said "catalogue rebuild" ;;
    *) fail "$folder: $(cat err)" ;;
    esac
done
echo "$opened of $copies copies opened"
finish
