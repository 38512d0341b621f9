# Goal: paranoid mode finds the demo's stores that no fault shows, and nothing where there are none.
# Method: the demo with and without such bugs, all pages and a sample; a flight recording around one.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan

for seed in 1 2; do
    for one_in in 1 7; do
        run 0 demo --json --check --frames 24 --seed "$seed" --paranoid "$one_in"
        same "findings without a bug, one in $one_in" "$(get paranoid_findings)" 0
        at_least "pages compared, one in $one_in" "$(get paranoid_compared)" 100
        at_least "time that it took" "$(get paranoid_ns)" 1
        quiet
    done
    for bug in alias-write kernel-store lost-rearm; do
        run 1 demo --json --check --frames 24 --seed "$seed" --bug "$bug" --paranoid 1
        at_least "findings of $bug, seed $seed" "$(get paranoid_findings)" 1
        said "is clean, but its bytes have changed"
    done
done
run 0 demo --json --frames 4
grep -q paranoid out && fail "counts of a mode that is off"
run 0 demo --frames 8 --paranoid 1
grep -q "paranoid mode took .* ns a page" out || fail "the cost is not printed"

# Its operations are the same to the simulator, and a finding is a trigger.
run 0 record -f -o x.trk -- "$trk" demo --frames 24 --paranoid 3
run 0 sim x.trk
run 0 record --flight 4M --trigger api -o f.trk -- "$trk" demo --frames 24 --bug kernel-store --paranoid 1
[ -e f.trk ] || fail "no dump of a finding"
finish
