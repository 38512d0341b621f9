# Goal: a command line that cannot be meant ends with 2 and says why; help and version end with 0.
# Method: a table of exit code, a part of the message, and the arguments.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

run 2
while IFS='|' read -r code message arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    run "$code" $arguments
    [ -z "$message" ] || said "$message"
done <<'CASES'
2|did you mean dump|dmup x
2|no command|frobnicate
2|no option --frobnicate|--frobnicate
2|did you mean --json|sim --jsno x.trk
2|one argument too many|info a b
2|one argument too many|version a
2|one argument too many|demo a
2|are missing|record
2|are missing|record -o x.trk
2|are missing|record -o x.trk --
2|both want standard output|record --json -o - -- true
2|power of two|record --ring 3M -- true
2|not within|record --ring 2K -- true
2|not within|record --ring 256M -- true
2|not a size|record --ring many -- true
2|not a number|demo --frames 10x
2|not within|demo --frames 0
2|not within|demo --threads 65
2|not within|demo --megabytes 1
2|even number|demo --megabytes 3
2|not a number|demo --seed -1
2|not a number|demo --device none
2|copy-before-arm|demo --bug no-such-bug
2|takes no value|demo --check=yes
2|none of default|demo --policy lax
2|no key=value|demo --policy default,page_size=5
2|no key=value|demo --policy default,colour=red
2|no key=value|demo --policy default,
2|no key=value|demo --policy default,,page_size=4096
2|no key=value|demo --policy default,page_size=000000000000000000000000000000000000000000000000000004096
2|--schedules does not go with --schedule in-order|fuzz --schedules 5 --schedule in-order
2|--schedules does not go with --schedule in-order|fuzz --print --schedules 5 --schedule in-order
2|--runs does not go with --print|fuzz --print --runs 2
2|--force goes with --output|fuzz --runs 1 -f
2|--force goes with --export|explore -f absent.trk
2|--force goes with --output|record -f -- true
2|--frames does not go with --list-bugs|demo --list-bugs --frames 3
2|--raw does not go with --text|dump --text --raw absent.trk
2|No such file|sim absent.trk
2|No such file|info absent.trk
2|No such file|dump absent.trk
2|directory|info .
2|range|dump absent.trk 5-3
2|range|dump absent.trk time:2s-1s
2|none of auto|info --color=mauve absent.trk
2|holds no trace|info
2|there are: bash|completion fish
2|did you mean sim|help smi
2|no scenario files|sim .
0||--help
0||-h
0||--version
0||version --json
0||help
0||help record
0||help --man
0||help --man dump
0||record --help
0||completion bash
0||demo --list-bugs
0||demo --list-bugs --json
CASES

# The table of commands for programs: as many as for people, each with its options.
run 0 help --json
json
same "schema of help" "$(get schema)" trk-help/1
at_least "commands for programs" "$(get 'commands.#')" 30
"$trk" --help | sed -n '/^commands$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' >names
number=0
while read -r name; do
    same "command $number" "$(get commands.$number.name)" "$name"
    number=$((number + 1))
done <names
same "commands for people" "$number" "$(get 'commands.#')"
run 0 help --json fuzz
same "one command" "$(get 'commands.#') $(get commands.0.name)" "1 fuzz"
same "an option" "$(get commands.0.options.0.name) $(get commands.0.options.0.kind)" "seed number"
run 2 help --json --man
said "does not go with --man"

run 0 --help
commands=$(sed -n '/^commands$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' out)
for command in record sim fuzz info dump demo help completion version; do
    echo "$commands" | grep -qx "$command" || fail "trk --help does not name $command"
done
pages=$(sed -n '/^set(man_pages)$/,/)$/p' "$here/../../cli/CMakeLists.txt")
for command in $commands; do
    echo "$pages" | tr -d ')' | grep -qx "  $command" || fail "no man page of $command is made"
    run 0 "$command" --help
    grep -q "^usage: trk $command" out || fail "trk $command --help has no usage line"
    cp out help.txt
    run 0 help "$command"
    cmp -s out help.txt || fail "trk help $command differs from trk $command --help"
    run 0 help --man "$command"
    grep -q '^\.TH ' out || fail "trk help --man $command is no man page"
done

# The README's row of commands is the list: those that are there and none of those that are not yet.
row=$(grep '^| `record`' "$here/../../README.md")
there=$(echo "$row" | cut -d '|' -f 2)
later=$(echo "$row" | cut -d '|' -f 3)
[ -n "$there" ] || fail "no row of commands in README.md"
for command in $commands; do
    case $command in help | completion | version) continue ;; esac
    echo "$there" | grep -qF "\`$command\`" || fail "README.md does not name $command"
    echo "$later" | grep -qF "\`$command\`" && fail "README.md says that $command is not there yet"
done

for size in 4K 128M; do
    run 0 record --ring $size -o ring-$size.trk -- true
done
run 0 record --help
grep -q 'from 4K to *$' out || grep -q 'from 4K to 128M' out || fail "the bounds of --ring are not told"
grep -q 'exit codes' out || fail "the exit codes of record are not told"
for command in $commands; do
    run 0 "$command" --help
    grep -n ' $' out && fail "blanks at an end of trk $command --help"
    run 0 help --man "$command"
    grep -q '^\[OPTION...\]$' out || fail "no options in the synopsis of $command"
done
# Which words an option takes, and what stands for one that is not given, the help says before a wrong one.
while read -r command option default; do
    run 2 "$command" "--$option=nonesuch"
    words=$(sed -n 's/.*is none of //p' err | tr '|' ' ')
    at_least "words of $command --$option" "$(echo "$words" | wc -w)" 3
    for how in "$command --help" "help --man $command"; do
        # shellcheck disable=SC2086 # words
        run 0 $how
        tr -s '\n ' '  ' <out | sed 's/\\-/-/g' >flat
        for word in $words; do
            grep -q -- "--$option [A-Z]* .*One of [a-z, -]*\b$word\b[a-z, -]*\. Default $default\." flat ||
                fail "$how does not say that --$option takes $word, and $default by default"
        done
    done
done <<END
fuzz schedule random
fuzz engine hashed
explore engine exhaustive
record payload none
info color auto
END
run 0 help fuzz
tr -s '\n ' '  ' <out | grep -q 'the next has the next. Default 1. ' || fail "a default that is a number is not told"

run 0 help --man record
grep -q '^CMD.s own exit code' out || fail "trk-record(1) has not its own exit codes"

# Twins in the environment: used where the command line is silent, and as strict.
run_with TRK_FRAMES=many 2 demo
said TRK_FRAMES
run_with TRK_LIST_BUGS=1 0 demo
grep -q copy-before-arm out || fail "TRK_LIST_BUGS=1 is not looked at"
run_with TRK_JSON=1 0 version
json

# Colour never goes to a pipe by itself, and always where it was asked for.
"$tools/trace_tool" make t.trk || fail "trace_tool make"
run 0 info t.trk
grep -q "$(printf '\033')" out && fail "colour in a pipe"
run 0 info --color=always t.trk
grep -q "$(printf '\033')" out || fail "no colour with --color=always"

echo '{}' >s.json
run 2 sim s.json
grep -q 'the key scenario is missing' out || fail "an empty object is no scenario"
finish
