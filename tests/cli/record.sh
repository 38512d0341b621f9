# Goal: `trk record` ends as its command ends, never hurts a file, and its own errors are 2 or 4.
# Method: commands that end in every way; outputs that exist, cannot be, or have no name.
. "$(dirname "$0")/lib.sh"

while IFS='|' read -r code command; do
    rm -f x.trk
    run "$code" record -o x.trk -- sh -c "$command"
    run 0 info --json x.trk
    if [ "$code" -gt 128 ]; then
        same "signal of '$command'" "$(get signal)" $((code - 128))
    else
        same "exit code of '$command'" "$(get exit_code)" "$code"
    fi
done <<'CASES'
0|true
1|false
7|exit 7
3|exit 3
137|kill -9 $$
143|kill -TERM $$
141|kill -PIPE $$
CASES

# Output and input of the command are its own.
run 0 record -o x.trk -f -- echo hello
same "output of the command" "$(cat out)" hello
said "did not join"
echo word | "$trk" record -o x.trk -f -- cat >out 2>err
same "input of the command" "$(cat out)" word

# Errors before the start leave nothing.
run 2 record -o y.trk -- ./no-such-command
[ ! -e y.trk ] || fail "a file is left though the command did not start"
echo text >script
chmod 600 script
run 4 record -o y.trk -- ./script
[ ! -e y.trk ] || fail "a file is left though the command was not executable"

# An existing file stays as it is, unless -f is given and the command starts.
echo precious >z.trk
run 2 record -o z.trk -- touch ran
said "give -f"
same "the file" "$(cat z.trk)" precious
[ ! -e ran ] || fail "the command ran though the file exists"
run 2 record -f -o z.trk -- ./no-such-command
same "the file" "$(cat z.trk)" precious
run 0 record -f -o z.trk -- true
run 0 info z.trk
run 2 record -o . -- true
run 2 record -o no/such/folder.trk -- true
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed
    chmod 500 closed
    run 4 record -o closed/x.trk -- true
fi

# Without a name: the next one in the trace directory; other commands take the latest.
TRK_TRACE_DIR=$dir/deep/traces
export TRK_TRACE_DIR
run 0 record -- true
run 0 record -- true
[ -e deep/traces/trk-2.trk ] || fail "no trk-2.trk"
run 0 info --json
same "latest" "$(get path)" "$dir/deep/traces/trk-2.trk"
unset TRK_TRACE_DIR
run 0 record -- true
[ -e .local/share/trk/trk-1.trk ] || fail "no trace in the home directory"
run_with HOME= 4 record -- true

# Standard output, and the twin of an option.
"$trk" record -o - -- true >x.trk 2>err || fail "record -o -"
run 0 info x.trk
run_with TRK_OUTPUT=twin.trk 0 record -- true
run 0 info twin.trk
run 0 record --json -f -o x.trk -- true
json
same "path" "$(get path)" x.trk
same "attached" "$(get attached)" false
same "exit code" "$(get exit_code)" 0
same "signal" "$(get signal)" null
finish
