# Goal: trk replay moves what a trace moved, under every policy that the device can run, and the bytes
# come out right; where a trace has a bug it shows the wrong bytes where trk sim says that they are.
# Method: the stored traces of every version, traces of the demo, and one of each of its bugs, on the
# first Vulkan device. The policies run under the validation layer, which must have nothing to say.
. "$(dirname "$0")/lib.sh"
record_all
golden=$(cd "$(dirname "$0")/../format/golden" 2>/dev/null && pwd) || fail "no stored traces"

# What cannot be meant, before any device or trace is looked at.
while IFS='|' read -r message arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    run 2 $arguments
    said "$message"
done <<'CASES'
no such policy at column 1|replay --policy auot absent.trk
second word .* at column 6|replay --policy auto+whole absent.trk
no number from 1 to .* at column 14|replay --policy auto,threads=0 absent.trk
no queue|replay --policy auto,queue=fast absent.trk
not within|replay --loop 0 absent.trk
No such file|replay absent.trk
CASES
: >empty.trk
run 3 replay --json empty.trk
same 'schema' "$(get schema)" trk-replay/1
run_with VK_DRIVER_FILES=/nonexistent/driver.json 4 replay "$golden/0.1.trk"
said 'no Vulkan'

need_vulkan
"$trk" record --payload hash -o t.trk -- "$trk" demo --frames 6 --pages 200 --megabytes 8 >out 2>err ||
    fail "recording the demo"
run 4 replay --device 4000 t.trk
said 'no Vulkan device 4000'
run 2 replay --from 600 t.trk
said 'no frame in what was asked for'
run 2 replay --from 3 --to 1 t.trk
said 'the frames end before they begin: --from 3 --to 1'
run 2 replay --policy nope --json t.trk
same 'a policy that there is none of, in JSON' "$(get error.status)" argument

# The demo's images and its dispatch, under the validation layer where there is one.
VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation \
    VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT \
    "$trk" demo --frames 6 --images --dispatch --check >out 2>err || fail "demo of images: $(cat out err)"
! grep -Eq 'VUID-|SYNC-HAZARD|UNASSIGNED' out err || fail "demo of images: $(grep -E 'VUID|SYNC' out err)"
"$trk" record -o i.trk -- "$trk" demo --frames 6 --images --dispatch >out 2>err || fail "recording images"
run 0 sim i.trk
run 0 dump i.trk
grep -q 'image .* width=64 height=512 texel=4 resource=11$' out || fail "no image: $(cat out)"
grep -q 'dispatch .*accesses=1 .*shader=1$' out || fail "no dispatch: $(cat out)"

run 0 replay --loop 3 --frames --check t.trk
grep -q ' bytes compared: equal$' out || fail "wrong bytes: $(cat out)"
grep -q '^       5 ' out || fail "no line of frame 5"
run 0 replay --json --frames --loop 2 --check --from 2 --to 4 t.trk
quiet
same 'frames' "$(get frames)" 3
same 'first frame' "$(get frame_list.0.frame)" 2
same 'equal' "$(get check.equal)" true
at_least 'uploads' "$(get uploads)" 600
at_least 'checks' "$(get check.checks)" 1
at_least 'bytes held against the oracle' "$(get check.oracle_bytes)" 10000
same 'broken rules' "$(get check.broken)" 0
at_least 'passes' "$(get passes.1.host_ns)" 1
whole=$(get plan_hash)
run 0 replay --json --from 2 --to 4 t.trk
same 'hash of the same frames' "$(get plan_hash)" "$whole"

# Contents that the trace has go up as they are, in place of made-up ones, and come out so.
"$trk" record --payload pages -o pages.trk -- "$trk" demo --frames 4 >out 2>err || fail "recording pages"
"$trk" info --full --json pages.trk >out
uploads=$(get pages_hashed)
"$tools/plan_pages" pages.trk >out 2>err || fail "planning recorded pages: $(cat err)"
read -r recorded made_up wrong <out
at_least 'stores of recorded pages' "$recorded" "$((uploads / 2))"
at_least 'stores beside them' "$made_up" 1
same 'stores with other bytes' "$wrong" 0
for policy in per-range whole scatter,threads=2 direct; do
    run 0 replay --json --check --policy "$policy" pages.trk
    same "recorded pages, $policy" "$(get check.equal)" true
    at_least 'contents' "$(get recorded_pages)" 100
done
run 0 replay --check pages.trk
grep -Eq '^recorded   [1-9][0-9]* contents of pages' out || fail "no word on the recorded pages"
run 0 replay --json t.trk
same 'contents without any' "$(get recorded_pages)" 0
"$tools/plan_pages" t.trk >out 2>err
read -r recorded made_up wrong <out
same 'recorded without contents' "$recorded" 0

# Every policy that this device can run; the others say what they lack.
run 0 replay t.trk
validate=--validate
env true "$trk" replay --validate t.trk >out 2>err || {
    validate=
    grep -q 'there is no VK_LAYER_KHRONOS_validation' err || fail "validation: $(cat out err)"
    lacking "the validation layer"
}
# The layer keeps what it knows of a device and is unloaded with it: no leak checker can tell whose
# that is. Without the layer leaks are looked for in cli.bench and cli.device_faults.
[ -z "$validate" ] || leaks=:detect_leaks=0
ran=0
# one POLICY TRACE
one() {
    # shellcheck disable=SC2086 # one word or none
    ASAN_OPTIONS="${ASAN_OPTIONS:-}${leaks:-}" \
        "$trk" replay --policy "$1" --check $validate --json "$2" >out 2>err
    case $? in
    0)
        ran=$((ran + 1))
        same "$1, bytes" "$(get check.equal)" true
        [ -z "$validate" ] || same "$1, messages" "$(get messages)" 0
        ;;
    4) grep -Eq ' (has no|is for images|runs no shader)' err || fail "$1: $(cat err)" ;;
    *) fail "$1: $(cat out err)" ;;
    esac
}
# all F... -- POLICY...: each trace under each policy, in one process: a device is opened once, not a
# hundred times, and what copies cost on it is measured once for all of `auto`.
all() {
    # shellcheck disable=SC2086 # one word or none
    ASAN_OPTIONS="${ASAN_OPTIONS:-}${leaks:-}" "$tools/replay_all" $validate "$@" >out 2>err ||
        fail "replay_all $*: $(cat out err)"
    ran=$((ran + $(grep -c '^ran ' out)))
    unable=$(grep '^lacks ' out | grep -Ev ' (has no|is for images|runs no shader)')
    [ -z "$unable" ] || fail "$unable"
}
for policy in per-range,threads=4 scatter,threads=2 whole+import+scatter host-copy; do
    one "$policy" t.trk
done
all t.trk -- per-range,queue=compute per-range,queue=transfer coalesce:4K auto,threads=3 granule:16K \
    whole,slow=50% auto+scatter auto+import whole+direct,threads=2 whole,ring=64K,batch=8K \
    scatter,ring=64K,batch=8K import,batch=4K auto+fetch fetch,threads=2,ring=64K,batch=8K
# Images and dispatches: as recorded, in other shapes of the same bytes (rows that end inside of pages,
# texels of other sizes), and where something else touches an image's bytes.
"$trk" dump --text i.trk >i.txt || fail "no text of i.trk"
one host-copy i.trk
one per-range i.trk
same 'images' "$(get images)" 2
same 'plain images' "$(get plain_images)" 0
same 'dispatches' "$(get dispatches)" 6
all i.trk -- auto whole scatter,threads=2 fetch,threads=2 import import+scatter direct whole,batch=4K
shaped=$ran
edits=0
while IFS='|' read -r images plain edit; do
    sed "$edit" i.txt >edited.txt
    cmp -s i.txt edited.txt && fail "nothing to edit: $edit"
    edits=$((edits + 1))
    "$trk" assemble -o "edited$edits.trk" edited.txt >out 2>err || fail "assembling: $(cat err)"
    echo "plan edited$edits.trk $images $plain 6" >>plans.txt
done <<'CASES'
2|0|/ image /s/page=64 pages=256/page=2048 pages=8/; / image /s/page=64 pages=512/page=2048 pages=16/
2|0|/ image /s/flags=0x4 \(.*\) page=64/flags=0x1 \1 page=256/
2|0|/ image /s/flags=0x4 \(.*\) page=64/flags=0x2 \1 page=128/
2|0|/ image /s/flags=0x4 \(.*\) page=64/flags=0x8 \1 page=32/
2|0|/ image /s/flags=0x4 \(.*\) page=64/flags=0x10 \1 page=16/
1|0|/ image .* pages=256/d
1|2|0,/pages=256/s/page=64 pages=256/page=128 pages=128/
1|1|0,/gpu_write .*argument=0x20052c000/s/\(gpu_write .*\) seq=2048\(.*argument=0x20052c000\)/\1 seq=2047\2/
CASES
all edited[0-9].trk -- per-range auto+import
same 'plans of edited traces' "$(grep '^plan ' out)" "$(cat plans.txt)"
at_least 'images in other shapes' "$((ran - shaped))" 8
sed '/ image /s/flags=0x4 //' i.txt >edited.txt
"$trk" assemble -f -o edited.trk edited.txt >out 2>err || fail "assembling: $(cat err)"
run 3 replay edited.trk
said 'an image that cannot be, at event [0-9]'
all "$golden"/*.trk --
at_least 'policies that ran' "$ran" 20

# Each bug whose bytes come out wrong: the event and the address that trk sim names.
for bug in copy-before-arm partial-invalidate lost-rearm alias-write early-read-back kernel-store; do
    "$trk" record -f -o bug.trk -- "$trk" demo --frames 12 --bug "$bug" >out 2>err || fail "recording $bug"
    run 1 sim --json bug.trk
    visible=$(get event_visible) at=$(get event_at) verdict=$(get verdict)
    for policy in per-range scatter; do
        run 1 replay --policy "$policy" --check --json bug.trk
        same "$bug, the replay's own faults" "$(get check.wrong_replayed)" 0
        same "$bug, event" "$(get check.first.event)" "$visible"
        same "$bug, blame" "$(get check.first.event_at)" "$at"
        same "$bug, verdict" "$(get check.first.verdict)" "$verdict"
    done
done
# Those that no bytes show are told, too, and once: at the place that trk sim names, in its frame alone.
for bug in call-in-callback flush-leaves-page; do
    "$trk" record -f -o bug.trk -- "$trk" demo --frames 12 --bug "$bug" >out 2>err || fail "recording $bug"
    run 1 sim --json bug.trk
    at=$(get event_at) verdict=$(get verdict) address=$(get guest_addr)
    run 1 replay --check --json bug.trk
    same "$bug, broken rules" "$(get check.broken)" 1
    same "$bug, blame" "$(get check.first_broken.event_at)" "$at"
    same "$bug, verdict" "$(get check.first_broken.verdict)" "$verdict"
    same "$bug, address" "$(get check.first_broken.guest_addr)" "$address"
    frame=$(get check.first_broken.frame)
    run 1 replay --check bug.trk
    grep -q "; the first: $verdict, event $at is to blame\$" out || fail "$bug: $(cat out)"
    run 1 replay --check --json --from "$frame" --to "$frame" bug.trk
    same "$bug, in its frame" "$(get check.first_broken.event_at)" "$at"
    run 0 replay --check --json --from 0 --to $((frame - 1)) bug.trk
    same "$bug, before it" "$(get check.broken) $(get findings)" '0 0'
done
"$trk" record -f -o bug.trk -- "$trk" demo --frames 4 --bug call-in-callback >out 2>err || fail "recording"
run 1 replay --check --json bug.trk
same 'findings' "$(get findings)" 1
run 0 replay bug.trk
finish
