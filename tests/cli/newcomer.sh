# Goal: whoever has only the tutorial in hand finds the cause in a trace with a bug that nobody named, in
# fewer than ten commands, whichever bug it is.
# Method: of each bug of the demo the first seed of tests/tutorial/unknown.sh that chooses it; the commands
# of the tutorial's last section, with that seed; the page's table, first row that fits; the answer. What the
# report says is missing must be what that row says.
page=$3
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan
ln -s "$(cd "$(dirname "$page")/../tests" && pwd)" tests
mkdir bin
ln -s "$trk" bin/trk
PATH=$dir/bin:$PATH
export PATH
unknown=tests/tutorial/unknown.sh

# The section, and its table: five columns, the last is the answer.
sed -n '/^## .*you do not know/,$p' "$page" >section
sed -n 's/^    \$ //p' section >commands
awk -F' *[|] *' '/^[|] `/ { for (i = 2; i <= 6; i++) { gsub(/`/, "", $i); printf "%s%s", $i, i < 6 ? "|" : "\n" } }' \
    section >rows
count=$(wc -l <commands)
[ "$count" -lt 10 ] || fail "$count commands: no fewer than ten"
at_least "commands of the section" "$count" 5
trk demo --list-bugs >names
same "bugs in the table" "$(cut -d '|' -f 5 rows | sort)" "$(sort names)"
grep -q "$unknown 2\$" commands || fail "the section does not begin with unknown.sh 2"
grep -q "$unknown 2 [a-z-]*\$" commands || fail "the section does not end with an answer"

# has TEXT FILE: no text is in each.
has() {
    [ -z "$1" ] || grep -qF -e "$1" "$2"
}

# answer: of the first row that fits the story and the facts; its sentence in $sentence.
answer() {
    while IFS='|' read -r way story fact sentence name; do
        if has "($way)" story && has "$story" story && has "$fact" facts; then
            return 0
        fi
    done <rows
    name=none
    sentence=
    return 1
}

# seed_of NAME: the first one that chooses the bug.
seed_of() {
    seed=0
    while [ "$seed" -lt 200 ]; do
        sh "$unknown" "$seed" "$1" >/dev/null 2>&1 && return 0
        seed=$((seed + 1))
    done
    return 1
}

# follow: the commands, with the seed for 2, and the answer that the table gives.
follow() {
    while IFS= read -r command; do
        case $command in
        *"$unknown 2")
            command=${command%2}$seed
            ;;
        *"$unknown 2 "*)
            answer || fail "$wanted, seed $seed: no row of the table fits: $(head -1 story) $(cat facts)"
            command="${command%2 *}$seed $name"
            ;;
        esac
        sh -c "$command" >got 2>talk </dev/null
        code=$?
        case $command in
        *' awk '*) cp got facts ;;
        esac
    done <commands
}

for wanted in $(cat names); do
    seed_of "$wanted" || {
        fail "$wanted: no seed up to 200 chooses it"
        continue
    }
    rm -f unknown.* mended.json sizes story facts
    follow
    same "$wanted, seed $seed: the last command, which says $(cat got talk)" "$code" 0
    same "$wanted, seed $seed: the answer" "$name" "$wanted"
    grep -q "^[0-9]* frames, \(op=[a-z_]*, then \)\{0,1\}\(op=[a-z_]*\|no operation\)\$" facts ||
        fail "$wanted, seed $seed: what lies between: $(cat facts)"
    grep "^missing edge" story | sed 's/ ([0-9]*)//g' >missing
    has "$sentence" missing || fail "$wanted, seed $seed: missing edge: $(cat missing), not: $sentence"
    [ -n "$sentence" ] || fail "$wanted: the table has no sentence"
    # Nothing in the trace names the bug, and no wrong answer is taken.
    trk info --json unknown.trk >info
    grep -qF -e "$wanted" info && fail "$wanted: the trace names it"
    sh "$unknown" "$seed" "$(grep -vxF -e "$wanted" names | head -1)" >/dev/null 2>&1
    same "$wanted: a wrong answer" $? 1
done
sh "$unknown" 1 no-such-bug >got 2>talk
same "an answer that is none" $? 2
for wrong in "" x -1 1234567890; do
    sh "$unknown" "$wrong" >got 2>talk
    same "seed '$wrong'" $? 2
done
rm -f unknown.trk
: >unknown.trk
sh "$unknown" 1 >got 2>talk
same "unknown.trk is there" $? 2
grep -q "remove it" talk || fail "unknown.trk is there: no word of what to do: $(cat talk)"
[ ! -s unknown.trk ] || fail "unknown.trk was overwritten"

# A recording that lost events is no exercise: another is made, and where none is whole that is said.
rm -f unknown.trk bin/trk
cat >bin/trk <<EOF
#!/bin/sh
# The first recording drops what finds no room in a small ring.
if [ "\$1" = record ] && [ ! -e lossy ]; then
    : >lossy
    shift
    case "\$*" in *"--block 60000"*) ;; *) exit 70 ;; esac
    TRK_RECORD_RING=4096 exec "$trk" record \$(echo "\$*" | sed 's/--block 60000/--block 0/')
fi
exec "$trk" "\$@"
EOF
chmod +x bin/trk
sh "$unknown" 1 >got 2>talk
same "events were lost: exit code" $? 0
grep -q "lost events: recording again" talk || fail "events were lost: $(cat talk)"
trk info unknown.trk >got 2>talk
same "events were lost: what is missing, $(cat talk)" $? 0
rm unknown.trk bin/trk
cat >bin/trk <<EOF
#!/bin/sh
[ "\$1" != info ] || exit 3
exec "$trk" "\$@"
EOF
chmod +x bin/trk
sh "$unknown" 1 >got 2>talk
same "events are lost each time: exit code" $? 4
grep -q "no whole recording in 5" talk || fail "events are lost each time: $(cat talk)"
[ -e unknown.trk ] && fail "events are lost each time: there is an exercise"
finish
