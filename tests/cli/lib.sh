# Shared by the shell tests of the program: sh lib.sh is no test.
#
# A test is started as `sh NAME.sh TRK TOOLS`, the program and the folder of trace_tool and json_get.
# It works in a temporary folder that is gone afterwards, with no setting of the user's in sight.
trk=$1
tools=$2
failures=0
lacks=
for program in "$trk" "$tools/trace_tool" "$tools/json_get"; do
    [ -x "$program" ] || {
        echo "no program $program"
        exit 70
    }
done
dir=$(mktemp -d) || exit 70
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
for name in $(env | sed -n 's/^\(TRK_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
unset NO_COLOR XDG_DATA_HOME XDG_CONFIG_HOME
HOME=$dir
export HOME
cd "$dir" || exit 70

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# run CODE ARGUMENT...: run trk, its output in out and err; the exit code must be CODE.
run() {
    run_with A=0 "$@"
}

# run_with NAME=VALUE CODE ARGUMENT...: likewise with a setting in the environment.
run_with() {
    setting=$1
    want=$2
    shift 2
    env "$setting" "$trk" "$@" </dev/null >out 2>err
    got=$?
    if [ "$got" -ne "$want" ]; then
        fail "trk $*: exit code $got, expected $want"
        sed 's/^/    /' err | head -20
    fi
}

# said PATTERN: the last run said this on standard error.
said() {
    grep -q -- "$1" err || {
        fail "standard error lacks '$1':"
        sed 's/^/    /' err | head -20
    }
}

# quiet: the last run said nothing on standard error.
quiet() {
    [ ! -s err ] || {
        fail "unexpected talk:"
        sed 's/^/    /' err | head -20
    }
}

# get PATH [FILE]: a value of the last run's JSON.
get() {
    "$tools/json_get" "${2:-out}" "$1"
}

# text_begin HEADER [THREAD]...: how the text of a small trace begins. HEADER is JSON, a THREAD "ROLE NAME"; they
# have the streams from 0 on.
text_begin() {
    echo 'trk-text 1'
    echo 'file level=3 plain=0 sync=5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a'
    printf 'header "%s"\nschema\n' "$(printf '%s' "$1" | sed 's/"/\\"/g')"
    shift
    stream=0
    for thread; do
        printf 'note stream=%d "{\\"tid\\":%d,\\"role\\":%d,\\"name\\":\\"%s\\"}"\n' \
            "$stream" "$((stream + 1))" "${thread%% *}" "${thread#* }"
        stream=$((stream + 1))
    done
}

# assembled NAME: NAME.trk, of the text on standard input, which is left in NAME.txt. Not behind a pipe: a failure
# there would not count.
assembled() {
    cat >"$1.txt"
    run 0 assemble -f "$1.txt" -o "$1.trk"
}

# text_keeps FILE: its text, left in text.txt, assembles to the same bytes.
text_keeps() {
    run 0 dump --text "$1"
    cp out text.txt
    run 0 assemble -f text.txt -o text.trk
    cmp "$1" text.trk || fail "$1 is other bytes after text and assemble"
}

# same WHAT A B
same() {
    [ "$2" = "$3" ] || fail "$1: '$2' is not '$3'"
}

# at_least WHAT NUMBER LEAST
at_least() {
    [ "$2" -ge "$3" ] 2>/dev/null || fail "$1: $2 is less than $3"
}

# at_most WHAT NUMBER MOST
at_most() {
    [ "$2" -le "$3" ] 2>/dev/null || fail "$1: $2 is more than $3"
}

# log2 N: the smallest k with 2^k >= N
log2() {
    k=0
    while [ $((1 << k)) -lt "$1" ]; do
        k=$((k + 1))
    done
    echo "$k"
}

json() {
    "$tools/json_get" "${1:-out}" || fail "not JSON: ${1:-out}"
}

# Ends with 77 (skipped) when the machine has no Vulkan device.
need_vulkan() {
    "$trk" demo --frames 1 >out 2>err
    if [ $? -eq 4 ]; then
        echo "skipped: $(cat err)"
        exit 77
    fi
}

# What is recorded from here on is whole on a busy machine, too: the program waits for room.
record_all() {
    TRK_RECORD_BLOCK=60000
    export TRK_RECORD_BLOCK
}

# lacking WHAT: a part of the test was left out, because this machine does not have it. Where all else
# passes the test is skipped.
lacking() {
    lacks="${lacks:+$lacks, }$1"
}

finish() {
    [ "$failures" -eq 0 ] || {
        echo "$failures failures"
        exit 1
    }
    [ -z "$lacks" ] || {
        echo "skipped: this machine lacks $lacks; all else passed"
        exit 77
    }
    exit 0
}
