#!/bin/sh
# Goal: trk fuzz makes programs that trk sim takes and judges alike, does the same again when it is
# asked the same, and refuses what it cannot mean.
# Method: small runs of each kind of schedule.
. "$(dirname "$0")/lib.sh"

for way in random pct walk explore in-order; do
    run 0 fuzz --runs 8 --seed 3 --schedule $way
    quiet
    grep -q '^8 programs: 8 held, 0 failed' out || fail "$way: not all held: $(cat out)"
    cp out first.txt
    run 0 fuzz --runs 8 --seed 3 --schedule $way
    cmp -s out first.txt || fail "$way: the same again is not the same"
    run 0 fuzz --seed 3 --schedule $way --print
    cp out case.json
    run 0 sim case.json
    grep -q '^held' out || fail "$way: trk sim says $(cat out)"
done
run 0 fuzz --runs 8 --seed 4
cmp -s out first.txt && fail "another seed makes no difference"

run 0 fuzz --runs 3 --json --threads 2 --features gpu,sharing,threads
same schema "$(get schema)" trk-fuzz/1
same programs "$(get programs)" 3
same failed "$(get failed)" 0
same schedules "$(get schedules)" 15
at_least steps "$(get steps)" 30
run 0 fuzz --steps 20000 --json
at_least steps "$(get steps)" 20000
at_least programs "$(get programs)" 2

# Engines: programs that are right, and programs that are not, of which both must find the same.
run 0 fuzz --runs 5 --schedule explore --schedules 500 --engine dpor
run 0 fuzz --runs 5 --schedule explore --schedules 500 --engine both
run 0 fuzz --runs 20 --schedule explore --schedules 500 --engine both --careless
run 0 fuzz --seed 2 --schedule explore --engine both --careless --print
grep -q '=>' out && fail "a careless program has results"
run 2 fuzz --careless --schedule explore
said 'goes with --engine both'
run 2 fuzz --engine dpor
said 'goes with --schedule explore'

# Features that are taken away, and all of them named.
run 0 fuzz --features -gpu,threads --print --seed 5
grep -q written out && fail "GPU writes without the feature gpu"
grep -q '"t2"' out && fail "two threads without the feature threads"

run 2 fuzz --features gpu,gqu
said "no feature 'gqu'"
said 'generations'
run 2 fuzz --features ''
run 2 fuzz --threads 5
said 'not within 1 to 4'
run 2 fuzz --schedule sometimes

# Seeds are numbers of scenario files: up to 2^53, which works, and not beyond.
run 0 fuzz --seed 9007199254740992 --runs 1
run 0 fuzz --seed 9007199254740990 --runs 3 --schedule walk
run 0 fuzz --seed 9007199254740990 --steps 1000000 --json
same programs "$(get programs)" 3
for seed in 9007199254740993 18446744073709551615; do
    run 2 fuzz --seed $seed --runs 1
    said 'not within 0 to 9007199254740992'
    run 2 fuzz --seed $seed --print
done
for runs in 4 100 18446744073709551615; do
    run 2 fuzz --seed 9007199254740990 --runs $runs
    said 'beyond the last seed, 9007199254740992'
done
run 2 fuzz --seed 9007199254740990
for option in "--runs 2" "--steps 2" "-o there" -f --json; do
    # shellcheck disable=SC2086 # words
    run 2 fuzz --print $option
    said "does not go with --print"
done
: >no-folder
for folder in /no/such/folder no-folder; do
    run 2 fuzz --runs 1 -o $folder
    said "$folder"
    [ ! -s out ] || fail "programs were run for $folder"
done
run 0 fuzz --runs 1 -o failed
run 2 fuzz case.json
said 'one argument too many'
[ ! -e failed ] || fail "a folder came from nowhere"
finish
