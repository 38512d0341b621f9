# Goal: trk replay, bench and advise do right by traces that no demo makes: read-backs that come before the
# GPU's work, ranges of odd sizes, frames without a copy, addresses that cannot be.
# Method: texts of a few events, assembled; what is known of each is held against what is printed.
. "$(dirname "$0")/lib.sh"
record_all
need_vulkan
"$trk" record -o demo.trk -- "$trk" demo --frames 1 >out 2>err || fail "recording the demo"
"$trk" dump --text demo.trk | head -3 >head.txt

# made FILE: the events of standard input, all of one thread, become that trace.
made() {
    {
        cat head.txt
        echo schema
        echo 'note stream=0 "{\"tid\":1,\"role\":0,\"name\":\"render\"}"'
        echo 'events stream=0 shift=5 flags=1'
        awk '{ printf "%d %s\n", 77492424100704 + 64 * NR, $0 }'
        echo 'end status=0 cut=0'
    } >made.txt
    "$trk" assemble -f -o "$1" made.txt >out 2>err || fail "assembling $1: $(cat err)"
}
# copy up|down SIZE ADDRESS
copy() {
    way=0
    [ "$1" = up ] || way=1
    echo "copy_begin context=$way seq=$2 page=1 argument=$3"
    echo "copy_end context=$way seq=$2 page=1 argument=$3"
}
begin() {
    echo 'tracker context=1 argument=0x10001000'
    echo 'frame argument=0x0'
}

# A read-back that comes before the GPU's work brings old bytes, over what the processor has stored since:
# the copy loses that store, and only that, however much of it the GPU has written.
for size in 64 4096 8192; do
    made early.trk <<EVENTS
$(begin)
witness_store domain=0x1 seq=8192 argument=0x200000000
$(copy up 8192 0x200000000)
gpu_complete argument=0x4
gpu_write domain=0x2 seq=$size page=5 argument=0x200000000
witness_store domain=0x3 seq=64 argument=0x200001080
$(copy down 8192 0x200000000)
witness_check domain=0x1 seq=64 argument=0x200001080
gpu_complete argument=0x5
frame argument=0x1
EVENTS
    run 1 sim --oracle-only --json early.trk
    visible=$(get event_visible) at=$(get event_at) verdict=$(get verdict)
    for policy in per-range scatter; do
        run 1 replay --check --json --policy "$policy" early.trk
        same "$size, the replay's own faults" "$(get check.wrong_replayed)" 0
        same "$size, findings that do not show" "$(get check.unseen)" 0
        same "$size, event" "$(get check.first.event)" "$visible"
        same "$size, blame" "$(get check.first.event_at)" "$at"
        same "$size, verdict" "$(get check.first.verdict)" "$verdict"
    done
done
# What has been copied up behind that work comes back, not what was there before: no store is lost.
made over.trk <<EVENTS
$(begin)
witness_store domain=0x1 seq=4096 argument=0x200000000
$(copy up 4096 0x200000000)
gpu_complete argument=0x4
gpu_write domain=0x2 seq=4096 page=5 argument=0x200000000
witness_store domain=0x3 seq=256 argument=0x200000100
$(copy up 256 0x200000100)
$(copy down 256 0x200000100)
witness_check domain=0x3 seq=256 argument=0x200000100
gpu_complete argument=0x5
EVENTS
run 0 sim --oracle-only over.trk
run 0 replay --check --json over.trk
same 'over, bytes' "$(get check.equal)" true
same 'over, findings' "$(get findings)" 0

# Ranges that no shader can move, beside some that it can: nothing for the layer to say.
made odd.trk <<EVENTS
$(begin)
witness_store domain=0x1 seq=16384 argument=0x200000000
$(copy up 100 0x200000004)
$(copy up 4096 0x200001000)
$(copy up 33 0x20000200f)
$(copy down 100 0x200000004)
$(copy down 4096 0x200001000)
$(copy down 33 0x20000200f)
EVENTS
# The layer keeps what it knows of a device and is unloaded with it: no leaks are looked for with it.
asan_options=${ASAN_OPTIONS:-}
ASAN_OPTIONS="$asan_options:detect_leaks=0"
export ASAN_OPTIONS
validate=--validate
"$trk" replay --validate odd.trk >out 2>err || {
    grep -q 'there is no VK_LAYER_KHRONOS_validation' err || fail "validation: $(cat out err)"
    validate=
}
for policy in per-range scatter fetch import import+scatter whole+scatter,batch=4K whole+fetch,batch=4K; do
    # shellcheck disable=SC2086 # one word or none
    "$trk" replay --check $validate --policy "$policy" --json odd.trk >out 2>err ||
        grep -q ' has no ' err || fail "$policy: $(cat out err)"
    [ ! -s out ] || same "$policy, bytes" "$(get check.equal)" true
    [ ! -s out ] || [ -z "$validate" ] || same "$policy, messages" "$(get messages)" 0
done
ASAN_OPTIONS=$asan_options

# Only the GPU writes: no copy has a time of the device.
made gpuonly.trk <<EVENTS
$(begin)
gpu_write domain=0x2 seq=4096 argument=0x200000000
EVENTS
run 0 bench --b auto --rounds 6 --json gpuonly.trk
same 'the clock' "$(get comparisons.0.clock)" host
run 0 replay --json gpuonly.trk
same 'the time of the device' "$(get passes.0.device_ns)" null
run 0 replay gpuonly.trk
# More than any memory is refused, not left out.
made huge.trk <<EVENTS
$(begin)
copy_begin seq=0 domain=0x200 page=1 argument=0x200000000
copy_end seq=0 domain=0x200 page=1 argument=0x200000000
EVENTS
run 4 replay huge.trk
said 'a range of more than 1 TiB, or behind the last address, at event 3'
made wrap.trk <<EVENTS
$(begin)
$(copy up 8192 0xfffffffffffff000)
EVENTS
for command in replay "bench --b auto" advise; do
    # shellcheck disable=SC2086 # the arguments are words
    run 4 $command wrap.trk
    said 'or behind the last address, at event 3'
done
# More than is left is refused before any of it is taken.
made large.trk <<EVENTS
$(begin)
copy_begin seq=0 domain=0x4 page=1 argument=0x200000000
copy_end seq=0 domain=0x4 page=1 argument=0x200000000
EVENTS
if (ulimit -v 8388608 && "$trk" help) >out 2>err; then # sanitizers take more than that
    (
        ulimit -v 8388608
        run 4 replay large.trk
        said 'replaying takes 16384 MiB of memory, and [0-9]* are left'
        exit "$failures"
    ) || failures=$((failures + 1))
fi

# Pages that no store was witnessed to, or not to all of, have bytes that tell a copy that is missing from
# one that is not, though another page has all of its own: each copy is left out once, known by its size, which
# no look has.
made untold.trk <<EVENTS
$(begin)
witness_store domain=0x1 seq=4096 argument=0x200000000
$(copy up 4096 0x200000000)
$(copy up 4080 0x200100000)
gpu_read domain=0x0 seq=4079 argument=0x200100000
$(copy up 4064 0x200100000)
witness_store domain=0x2 seq=64 argument=0x200200000
$(copy up 64 0x200200000)
$(copy up 3840 0x200200100)
gpu_read domain=0x0 seq=4095 argument=0x200200000
$(copy up 3824 0x200200000)
gpu_complete argument=0x1
gpu_write domain=0x3 seq=8192 page=2 argument=0x200300000
gpu_complete argument=0x2
$(copy down 8192 0x200300000)
witness_check domain=0x3 seq=8192 argument=0x200300000
$(copy up 4048 0x200300000)
gpu_read domain=0x3 seq=4047 argument=0x200300000
witness_store domain=0x4 seq=32 argument=0x200301000
$(copy up 32 0x200301000)
gpu_read domain=0x3 seq=63 argument=0x200301020
EVENTS
run 0 sim --oracle-only untold.trk
for policy in per-range whole scatter,threads=2 fetch,threads=2 direct; do
    run 0 replay --check --json --policy "$policy" untold.trk
    same "untold, $policy" "$(get check.equal)" true
done
# What the GPU wrote and nothing was made up over is still the oracle's to say.
at_least "bytes held against the oracle" "$(get check.oracle_bytes)" $((8192 + 63))
loader=$(ldconfig -p 2>/dev/null | sed -n 's/^.*libvulkan\.so\.1 (.*x86-64.*) => //p' | head -1)
[ -n "$loader" ] || loader=$(/sbin/ldconfig -p | sed -n 's/^.*libvulkan\.so\.1 (.*x86-64.*) => //p' | head -1)
for bytes in 4096 4080 4064 64 3840 3824 4048 32; do
    LD_LIBRARY_PATH=$tools/faults${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRK_FAULT_LOADER=$loader \
        run_with TRK_FAULT=drop:$bytes:0 1 replay --check --json --policy per-range untold.trk
    at_least "the copy of $bytes bytes" "$(get check.wrong_replayed)" 1
done
# Bytes that are wrong at the end, where nobody looked, have a place, too: the last copy of that page.
LD_LIBRARY_PATH=$tools/faults${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRK_FAULT_LOADER=$loader \
    run_with TRK_FAULT=drop:3824:0 1 replay --check --json --policy per-range untold.trk
same "at the end, event" "$(get check.first.event)" null
same "at the end, address" "$(get check.first.guest_addr)" 0x200200040
"$trk" dump untold.trk | sed -n "$(($(get check.first.touched_event) + 1))p" >line.txt
grep -q " copy_end .* size=3824 " line.txt || fail "at the end, touched: $(cat line.txt)"
LD_LIBRARY_PATH=$tools/faults${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRK_FAULT_LOADER=$loader \
    run_with TRK_FAULT=drop:3824:0 1 replay --check --policy per-range untold.trk
grep -q "^wrong      at the end, address 0x200200040, last touched by event [0-9]*, [0-9]* bytes of the device" out ||
    fail "at the end: $(cat out)"
LD_LIBRARY_PATH=$tools/faults${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRK_FAULT_LOADER=$loader \
    run_with TRK_FAULT=drop:3824:0 1 bench --b auto --rounds 6 untold.trk
said "wrong bytes at 0x200200040 at the end"

# A slow-down that would do nothing is refused.
run 4 replay --policy per-range,slow=5% odd.trk
said 'slow=5%: of [0-9]* submits none would be done twice'

# What a damaged trace lacks is no wrong usage; where it is damaged is said.
size=$(wc -c <demo.trk)
head -c $((size * 3 / 4)) demo.trk >cut.trk
for command in replay 'bench --b auto' advise; do
    # shellcheck disable=SC2086 # the arguments are words
    run 3 $command --from 1000 cut.trk
    said 'cut.trk'
    [ "$(wc -l <err)" -ge 2 ] || fail "$command: no word on the damage: $(cat err)"
done
# A copy that the trace does not tell of: what it would have brought is missed, and the replay is not blamed.
"$trk" dump --text "$(dirname "$0")/../../traces/corpus/demo-seed-1.trk" |
    awk '!(/ copy_end / && ++count == 226)' >untold.txt
run 0 assemble -f -o untold.trk untold.txt
for policy in per-range whole+scatter; do
    "$trk" replay --check --json --policy "$policy" untold.trk >out 2>err
    same "$policy, a copy that is not told: the replay's own faults" "$(get check.wrong_replayed)" 0
    at_least "$policy, a copy that is not told" "$(get check.not_brought)" 1
    same "$policy, a copy that is not told: equal" "$(get check.equal)" false
done
run 0 bench --b auto --rounds 6 untold.trk
[ -n "$validate" ] || lacking "the validation layer"
finish
