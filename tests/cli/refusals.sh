# Goal: with --json a command that cannot do its work says so in one object, whatever it was that kept it
# from it: schema, "complete": false, error with status and text, path where there is one. docs/cli.md has the
# rule.
# Method: every command that has --json, by a table, against what is absent, damaged, a folder, a link that
# leads to itself (which nobody can open, not even root), a command line that cannot be meant, and a standard
# output that is full. Then what single commands cannot mean.
. "$(dirname "$0")/lib.sh"
"$tools/trace_tool" make t.trk || fail "trace_tool make"
echo "this is no trace, however long the line may be made to be for it" >damaged
mkdir folder
ln -s loop loop
: >all

# refused CODE PATH ARGUMENT...: that exit code, one object of the kind, of that path ("": none is known).
refused() {
    code=$1
    path=${2:+\"$2\"}
    shift 2
    run "$code" "$@"
    line=$(tr -d '\n\t' <out)
    echo "$line" >>all
    case $line in
    '{"schema":"trk-'*'"error":{"status":"'[a-z]*'","text":"'[!\"]*'","file_offset":'*'}}') ;;
    *) fail "trk $*: no error, or something else: $line" ;;
    esac
    case $line in *'"complete":false'*) ;; *) fail "trk $*: complete" ;; esac
    case $line in *"\"path\":${path:-null},"*) ;; *) fail "trk $*: not of ${path:-null}: $line" ;; esac
    [ -s err ] || fail "trk $*: people are told nothing"
}

run 0 --help
rows=0
# The command; its exit codes for what is absent, damaged, a folder, a loop; its arguments with @ for that.
# A code of - is where that is no refusal.
while IFS='|' read -r command absent damaged folder loop arguments; do
    rows=$((rows + 1))
    for name in absent damaged folder loop; do
        eval "code=\$$name"
        [ "$code" != - ] || continue
        words=
        for word in $arguments; do
            case $word in *@) word=${word%@}$name ;; esac
            words="$words $word"
        done
        path=$name
        case $command in record | stat) path= ;; esac
        # shellcheck disable=SC2086 # the arguments are words
        refused "$code" "$path" "$command" --json $words
    done
    refused 2 "" "$command" --json --nonesuch
    # Nothing can be told where standard output takes nothing: the exit code is as it was.
    "$trk" "$command" --json --nonesuch </dev/null >/dev/full 2>err
    same "$command to a full device" $? 2
    said 'standard output: '
done <<'CASES'
record|2|4|4|4|-o x.trk -- ./@
stat|2|4|4|4|-- ./@
sim|2|3|2|4|@
explore|2|3|2|4|@
minimise|2|3|2|4|@ -o x.json
bisect|2|3|2|4|@
why|2|3|2|4|@ 0x200000000
diff|2|3|2|4|@ t.trk
core-check|4|4|4|4|@
regress|2|2|2|4|@
catalogue|2|2|2|2|list @
info|2|3|2|4|@
report|2|3|2|4|@
dump|2|3|2|4|@
assemble|2|2|2|4|@ -o x.trk
follow|2|3|2|4|@
query|2|3|2|4|@ VALUES(1)
doctor|2|3|2|4|@
recover|2|3|2|4|@ -o x.trk
pack|2|3|2|4|@ -o x.trk
unpack|2|3|2|4|@ -o x.trk
trim|2|3|2|4|@ 0-1 -o x.trk
merge|2|3|2|4|@ t.trk -o x.trk
bench|2|3|2|4|--b auto @
advise|2|3|2|4|@
replay|2|3|2|4|@
ctl|-|-|-|-|
fuzz|-|-|-|-|
devices|-|-|-|-|
demo|-|-|-|-|
emu-test|-|-|-|-|
help|-|-|-|-|
version|-|-|-|-|
CASES

# The table has every command that has --json.
run 0 --help
with_json=0
for command in $(sed -n '/^commands$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' out); do
    "$trk" "$command" --help | grep -q -- '^  *--json' && with_json=$((with_json + 1))
done
same "commands with --json" "$rows" "$with_json"

# What options and operands say together, what stands in settings, what one cannot be done with the other.
while IFS='|' read -r code path arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    refused "$code" "$path" $arguments
done <<'CASES'
2|t.trk|explore --json t.trk 99999-
2||explore --json --page 0x1 t.trk
2|t.trk|explore --json --core-limit 5 t.trk
2|t.trk|explore --json --export no/such/x.json t.trk
2|t.trk|sim --json --core-limit 5 t.trk
2|t.trk|sim --json --granule 3 t.trk
2|folder|regress --json --walk 0 --seed 5 folder
4|./absent.so|regress --json --core ./absent.so folder
2|absent.trk|bench --json --b nope absent.trk
2|absent.trk|replay --json --policy nope absent.trk
2||ctl --json status many
2||help --json smi
2|folder|catalogue --json gc folder
2|t.trk|dump --json t.trk 5-3
2||record --json --ring 3M -- true
2||record --ring=2K --json -- true
2||demo --json --bug no-such-bug
2|t.trk|minimise --json t.trk
CASES
run_with TRK_JSON=1 2 info --nonesuch
"$tools/json_get" out error.text | grep -q nonesuch || fail "TRK_JSON=1 is not heeded"

# Not where nobody has asked: another command's words, or no --json at all.
for arguments in "record --ring=3K nosuch --json" "record --ring 2K -- true --json" "info absent" "frobnicate --json"; do
    # shellcheck disable=SC2086 # the arguments are words
    run 2 $arguments
    [ ! -s out ] || fail "trk $arguments: an object that nobody has asked for: $(cat out)"
done
# What has a report says no more than that.
run 0 info --json t.trk
grep -q '"error"' out && fail "an error where there is none"
json all
[ ! -e x.trk ] && [ ! -e x.json ] || fail "what was refused left a file"
finish
