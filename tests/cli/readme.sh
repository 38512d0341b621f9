# Goal: who does what the README's section on regression says sees what it shows.
# Method: run the lines of that section that begin with "    $ ", in order, in a folder that has the
# repository's. The indented lines behind each are all that comes; numbers are of the recording and
# may be others, behind "..." stands anything. A command that shows
# a change ends with 1, the others with 0. The event that is told is the one that `trk dump` has there.
#   readme.sh TRK TOOLS ROOT BUILD
root=$3
build=$4
. "$(dirname "$0")/lib.sh"
record_all
command -v c++ >/dev/null || {
    echo "no c++"
    exit 77
}
for folder in examples libtrack recorder simulator traces; do
    ln -s "$root/$folder" "$folder"
done
ln -s "$build" build

# same_lines: whether `got` has the lines of `expected`, and no others; else the first that it should have,
# or should not.
same_lines() {
    for name in expected got; do
        sed 's/[0-9a-f]*[0-9][0-9a-fx]*/N/g' $name >$name.plain
    done
    awk 'FILENAME == "expected.plain" { want[++count] = $0; next }
        {
            at++
            open = want[at] ~ /[.][.][.]$/
            begin = substr(want[at], 1, length(want[at]) - (open ? 4 : 0))
            other = at > count || (open ? index($0, begin) != 1 : $0 != begin)
        }
        other { print (at > count ? $0 : want[at]); exit 1 }
        END { if (!other && at < count) { print want[at + 1]; exit 1 } }' expected.plain got.plain
}

# check: hold what the last command printed against what the section says.
check() {
    [ -n "$command" ] || return
    want=0
    grep -q '^changed' expected && want=1
    sh -c "$command" >got 2>&1 </dev/null
    code=$?
    [ "$code" -eq "$want" ] || fail "$command: exit code $code, not $want"
    same_lines >missing || {
        fail "$command: '$(cat missing)' is not what comes"
        sed 's/^/    /' got | head -20
    }
    [ "$want" -eq 0 ] || cp got changed
    commands=$((commands + 1))
}

command=
commands=0
sed -n '/^## Regression$/,/^## What/p' "$root/README.md" >section
while IFS= read -r line; do
    case $line in
    '    $ '*)
        check
        command=${line#'    $ '}
        : >expected
        ;;
    '    '*)
        printf '%s\n' "${line#'    '}" >>expected
        ;;
    esac
done <section
check
check # the last one works again: what it keeps is another run
at_least "commands of the section" "$commands" 6

# The event that changed is the one of that number, in words.
event=$(sed -n 's/.*first changed event: \([0-9]*\), .*/\1/p' changed)
words=$(sed -n 's/.*first changed event: [0-9]*, thread [^:]*: //p' changed)
[ -n "$event" ] || fail "no event is named"
run 0 dump mine/first.trk "$event"
for word in $words; do
    grep -qF -- "$word" out || fail "event $event is not '$words': $(cat out)"
done
# Around it, by the command that is told.
around=$(sed -n 's/ *around: //p' changed)
sh -c "build/cli/$around" >out 2>err || fail "$around"
grep -q "^ *$event " out || fail "'$around' does not show event $event"
finish
