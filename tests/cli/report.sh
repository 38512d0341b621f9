# Goal: `trk report` counts right: faults, copied pages and turns by region, latencies, mappings by frame,
# redundant uploads.
# Method: awk counts the same out of `trk dump`, line by line; the demo, and the example's own tracker.
#   report.sh TRK TOOLS CORPUS
. "$(dirname "$0")/lib.sh"
record_all
corpus=$3

cat >count.awk <<'EOS'
function hex(text,    i, value) {
    value = 0
    for (i = 3; i <= length(text); i++)
        value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
}
# Below 2^31, beyond which not every awk has whole numbers for indices: the upper band comes down.
function page_of(addr,    page) {
    page = int(addr / 4096)
    return page >= 2147483648 ? page - 1610612736 : page
}
function field(name,    i) {
    for (i = 3; i <= NF; i++)
        if (index($i, name "=") == 1)
            return substr($i, length(name) + 2)
    return ""
}
function right(page) { return (page in rights) ? rights[page] : "rw-" }
function take(page, mine) {
    if ((page in side) && side[page] != mine)
        turns++
    side[page] = mine
}
function mappings(    page, count) {
    count = 1
    for (page in rights) {
        if (right(page) != right(page + 1)) count++
        if (!((page - 1) in rights) && right(page) != "rw-") count++
    }
    return count
}
{
    thread = type = ""
    for (i = 3; i <= NF && $i !~ /=/; i++) {
        thread = thread " " type
        type = $i
    }
    first = page_of(hex(field("guest_addr")))
    last = page_of(hex(field("guest_addr")) + field("size") - 1)
}
type == "frame" { if (begun) curve = curve " " mappings(); begun = 1 }
type == "fault" { faults++; take(first, "cpu"); since[thread] = $2 }
type == "op_end" && /op=fault/ {
    if ($2 - since[thread] > longest) longest = $2 - since[thread]
    printf "%d\n", int(($2 - since[thread]) * 1000 + 0.5) >"took"
}
type == "copy_begin" {
    for (page = first; page <= last; page++) {
        if (/direction=up/) { up++; take(page, "gpu") } else { down++; take(page, "cpu") }
    }
}
type == "gpu_write" { for (page = first; page <= last; page++) take(page, "gpu") }
type == "protect" { for (page = first; page < first + field("pages"); page++) rights[page] = field("rights") }
type == "host_protect" { for (page = first; page <= last; page++) rights[page] = field("rights") }
END { printf "%d %d %d %d %d%s %d\n", faults, up, down, turns, int(longest * 1000 + 0.5), curve, mappings() }
EOS

# sum KEY: of all regions.
sum() {
    total=0
    index=0
    while [ "$index" -lt "$(get regions.#)" ]; do
        total=$((total + $(get "regions.$index.$1")))
        index=$((index + 1))
    done
    echo "$total"
}

for name in demo-seed-1 demo-seed-2 policy-pages-16k stress-pages bug-lost-rearm foreign; do
    run 0 dump "$corpus/$name.trk"
    rm -f took
    # shellcheck disable=SC2046 # the numbers are words
    set -- $(awk -f count.awk out)
    run 0 report --json --top 100000 "$corpus/$name.trk"
    same "$name: faults" "$(get faults)" "$1"
    same "$name: faults by region" "$(sum faults)" "$1"
    same "$name: up" "$(sum up)" "$2"
    same "$name: down" "$(sum down)" "$3"
    same "$name: turns" "$(sum turns)" "$4"
    off=$(($(get fault_longest_ns) - $5))
    [ "$off" -ge -2 ] && [ "$off" -le 2 ] || fail "$name: longest fault: off by $off ns"
    # Percentiles by the nearest rank.
    [ ! -e took ] || sort -n took >sorted
    for per_mille in 500 900 990; do
        [ "$1" -gt 0 ] || break
        key=fault_$((per_mille / 10))_ns
        [ "$key" != fault_50_ns ] || key=fault_median_ns
        off=$(($(get $key) - $(sed -n "$((($(wc -l <sorted) * per_mille + 999) / 1000))p" sorted)))
        [ "$off" -ge -2 ] && [ "$off" -le 2 ] || fail "$name: $key: off by $off ns"
    done
    shift 5
    same "$name: frames" "$(get mappings.#)" "$#"
    index=0
    for count in "$@"; do
        same "$name: mappings of frame $index" "$(get "mappings.$index")" "$count"
        index=$((index + 1))
    done
    [ "$(get tracking_ns)" -lt "$(get threads_ns)" ] || fail "$name: more time than there is"
    same "$name: contents" "$(get uploads_hashed)" null
done

# Frames have the numbers that the trace has: of a part of one, of one that begins late, of one without.
for file in "$corpus/demo-seed-1.trk" part.trk; do
    [ -e "$file" ] || run 0 trim "$corpus/demo-seed-1.trk" frame:3-5 -o part.trk
    run 0 dump "$file"
    sed -n 's/^.* frame  *number=\([0-9]*\).*/\1/p' out >numbers
    run 0 report --json "$file"
    same "$file: numbers of frames" "$(get frames.#)" "$(wc -l <numbers)"
    same "$file: frames with mappings" "$(get frames.#)" "$(get mappings.#)"
    index=0
    while read -r number; do
        same "$file: frame $index" "$(get "frames.$index")" "$number"
        index=$((index + 1))
    done <numbers
    run 0 report "$file"
    sed -n 's/^host mappings by frame: //p' out | grep -q "^$(head -1 numbers): " ||
        fail "$file: the first frame has another number: $(grep mappings out)"
done
[ "$(head -1 numbers)" -gt 0 ] || fail "the part begins at frame 0: the test looks at nothing"
run 0 trim "$corpus/demo-seed-1.trk" 0-3 -o head.trk
run 0 dump head.trk
grep -q " frame  *number=" out && fail "the head has a frame: the test looks at nothing"
run 0 report --json head.trk
same "no frame" "$(get frames.#) $(get frames.0) $(get mappings.#)" "1 null 1"
run 0 report head.trk
grep -q '^host mappings at the end, of no frame: [0-9]*$' out || fail "no frame: $(grep mappings out)"

# A piece of a trace: two of them are the whole, and a frame has the mappings that it has there.
whole=$corpus/demo-seed-1.trk
counts() {
    run 0 report --json --top 100000 "$@"
    for key in faults up down turns; do
        sum "$key"
    done
}
counts "$whole" >all
cp out all.json
counts "$whole" 0-1999 >first
same "the range that was asked for" "$(get range)" 0-1999
counts "$whole" 2000- >second
paste first second | awk '{ print $1 + $2 }' | cmp -s all - || fail "two pieces: $(cat first second)"
[ "$(head -1 first)" -gt 0 ] && [ "$(head -1 second)" -gt 0 ] || fail "a piece has no faults: the test looks at nothing"
run 0 report --json "$whole" frame:1-2
same "frames of two" "$(get frames.0) $(get frames.1) $(get frames.#)" "1 2 2"
same "mappings of two" "$(get mappings.0) $(get mappings.1)" "$(get mappings.1 all.json) $(get mappings.2 all.json)"
run 0 report "$whole" frame:1-2
grep -q '^trace .*, frame:1-2$' out || fail "the range is not named: $(head -1 out)"
run 2 report "$whole" frame:999
said "nothing in range: the last frame is [0-9]"
run 2 report "$whole" region:0x200000000
run 2 report "$whole" 0-9/3

run 0 report --top 1 "$corpus/demo-seed-1.trk"
grep -q '^redundant uploads are not known' out || fail "that contents are not known is not said"
same "regions listed" "$(grep -c '^0x' out)" 1
# Which trace it is, above all where none is named; the help says which that is.
mkdir recordings
cp "$corpus/foreign.trk" recordings/trk-2.trk
cp "$corpus/demo-seed-1.trk" recordings/trk-10.trk
run_with "TRK_TRACE_DIR=$dir/recordings" 0 report
same "the latest" "$(head -1 out)" "trace $dir/recordings/trk-10.trk"
run 0 report recordings/trk-2.trk
same "the named one" "$(head -1 out)" "trace recordings/trk-2.trk"
for command in report sim dump; do
    run 0 help $command
    tr '\n' ' ' <out | grep -q 'Without F it is the latest recording' || fail "help $command: $(cat out)"
done
run 0 help trim
grep -q 'Without F' out && fail "trim needs a name"
run 2 report --top 0 "$corpus/demo-seed-1.trk"
run 2 report absent.trk
head -c 9000 "$corpus/demo-seed-1.trk" >cut.trk
run 3 report cut.trk
said "incomplete"
need_vulkan
run 0 record --payload hash -o hashed.trk -- "$trk" demo --frames 6
run 0 info --full --json hashed.trk
hashed=$(get pages_hashed)
redundant=$(get pages_redundant)
run 0 report --json hashed.trk
same hashed "$(get uploads_hashed)" "$hashed"
same redundant "$(get uploads_redundant)" "$redundant"
finish
