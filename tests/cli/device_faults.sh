# Goal: a device that is lost, memory that is used up, an extension that is missing and a time stamp that
# does not come are told with the frame and the event, and with exit code 4; nothing is said to be right.
# Method: a loader of our own stands before the machine's one and lets calls fail on order, at every place
# of a replay in turn. Started as `sh device_faults.sh TRK TOOLS`; the loader is in TOOLS/faults.
. "$(dirname "$0")/lib.sh"
record_all
[ -e "$tools/faults/libvulkan.so.1" ] || fail "no loader that fails on order"
loader=$(ldconfig -p 2>/dev/null | sed -n 's/^.*libvulkan\.so\.1 (.*x86-64.*) => //p' | head -1)
[ -n "$loader" ] || loader=$(/sbin/ldconfig -p | sed -n 's/^.*libvulkan\.so\.1 (.*x86-64.*) => //p' | head -1)
[ -n "$loader" ] || {
    echo "skipped: no Vulkan loader"
    exit 77
}
need_vulkan
"$trk" record -o t.trk -- "$trk" demo --frames 4 --images --dispatch >out 2>err || fail "recording the demo"
"$trk" dump t.trk >dump.txt || fail "dumping"

# faulty FAULT CODE ARGUMENT...: trk with that fault.
faulty() {
    fault=$1
    shift
    want=$1
    shift
    LD_LIBRARY_PATH=$tools/faults${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} TRK_FAULT_LOADER=$loader TRK_FAULT=$fault \
        "$trk" "$@" </dev/null >out 2>err
    got=$?
    [ "$got" -eq "$want" ] || fail "$fault, trk $*: exit code $got, expected $want: $(head -3 err)"
}
# place FRAME EVENT: that event is a copy or a write of the GPU, in that frame.
place() {
    sed -n "$(($2 + 1))p" dump.txt >line.txt
    grep -Eq ' (copy_end|gpu_write|witness_store|gpu_read|witness_check) ' line.txt ||
        fail "event $2 is $(cat line.txt)"
    frame=$(head -n "$2" dump.txt | sed -n 's/^.* frame  *number=//p' | tail -1)
    same "the frame of event $2" "$1" "$frame"
}

faulty none:0:0 0 replay --check t.trk
grep -q ': equal$' out || fail "no fault, and yet: $(cat out)"

# The first submits and waits restore the state; those behind are of frames.
told=0
for fault in submit:8:-4 submit:40:-4 submit:70:-4 wait:12:-4 wait:70:-4 wait:60:2 \
    submit:50:-2 submit:51:-1; do
    for policy in per-range scatter fetch import; do
        faulty "$fault" 4 replay --policy "$policy" --json t.trk
        text=$(get error.text)
        case $fault:$text in
        *:-4:*'the device was lost'* | *:2:*'does not answer'* | *:-2:*'out of device memory'* | *:-1:*'out of host memory'*) ;;
        *) fail "$fault, $policy: $text" ;;
        esac
        case $text in
        'frame '*)
            told=$((told + 1))
            event=$(get error.event)
            frame=${text#frame }
            place "${frame%%,*}" "$event"
            case $text in
            *"event $event: "*) ;;
            *) fail "$fault, $policy: $text, and not event $event" ;;
            esac
            ;;
        esac
        faulty "$fault" 4 replay --policy "$policy" t.trk
        [ -s out ] && fail "$fault, $policy: a result: $(cat out)"
    done
done
at_least 'faults told with their frame' "$told" 18

# No memory for what a replay needs: before any frame.
number=1
while [ "$number" -le 3 ]; do
    faulty "allocate:$number:-2" 4 replay t.trk
    said 'MiB left'
    number=$((number + 1))
done

# Without the extension the policy is refused, others run, and a bench leaves the policy out.
faulty hide:0:VK_EXT_external_memory_host 4 replay --policy import t.trk
said 'has no VK_EXT_external_memory_host'
faulty hide:0:VK_EXT_external_memory_host 0 replay --policy auto t.trk
faulty hide:0:VK_EXT_external_memory_host 4 replay --policy import+scatter t.trk

# Host copies of images, on a device that the loader lends them; and where no image is copied.
faulty host-copy:0:on 0 replay --policy host-copy --check --json t.trk
same 'host copies, bytes' "$(get check.equal)" true
same 'host copies, images' "$(get images)" 2
faulty host-copy:0:on 0 replay --policy host-copy,batch=4K,threads=2 --check --loop 2 t.trk
faulty host-copy:0:on 0 replay --policy auto --check t.trk
# What the host copies itself no time stamp of the device sees: the host's clock counts.
faulty host-copy:0:on 0 bench --b host-copy --rounds 6 --json t.trk
same 'host copies, the clock' "$(get comparisons.0.clock)" host
same 'host copies, the time of the device' "$(get policies.1.device_ns)" null
faulty host-copy:0:on 4 bench --b host-copy --rounds 6 --clock device --no-check t.trk
said 'has no time of the device'
# With all of them they are left out, before the rounds.
faulty host-copy:0:on 0 bench --all --rounds 6 --seconds 1 --clock device --no-check --json t.trk
grep -A1 '"host-copy"' out | grep -q 'it has no time of the device' || fail 'host-copy is not left out'
for texel in 'flags=0x1 \1 page=256' 'flags=0x2 \1 page=128' 'flags=0x8 \1 page=32' 'flags=0x10 \1 page=16'; do
    "$trk" dump --text t.trk | sed "/ image /s/flags=0x4 \(.*\) page=64/$texel/" >t.txt
    "$trk" assemble -f -o shaped.trk t.txt >out 2>err || fail "assembling: $(cat err)"
    faulty host-copy:0:on 0 replay --policy host-copy --check --json shaped.trk
    same "$texel, bytes" "$(get check.equal)" true
    same "$texel, images" "$(get images)" 2
done
"$trk" dump --text t.trk | sed '/ image /d' >t.txt
"$trk" assemble -f -o plain.trk t.txt >out 2>err || fail "assembling: $(cat err)"
faulty host-copy:0:on 4 replay --policy host-copy plain.trk
said 'host-copy is for images, and the trace copies none'
faulty hide:0:VK_EXT_host_image_copy 4 replay --policy host-copy t.trk
said 'has no VK_EXT_host_image_copy'

# What the layer says when the device goes is counted, too: a buffer that is still there.
if ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$trk" replay --validate t.trk >out 2>err; then
    asan_options=${ASAN_OPTIONS:-}
    ASAN_OPTIONS="$asan_options:detect_leaks=0"
    export ASAN_OPTIONS
    faulty leak:2:0 1 replay --validate --json t.trk
    at_least "messages of a buffer that is left" "$(get messages)" 1
    faulty leak:2:0 0 replay t.trk
    ASAN_OPTIONS=$asan_options
else
    grep -q 'there is no VK_LAYER_KHRONOS_validation' err || fail "validation: $(cat out err)"
    lacking "the validation layer"
fi

# A time stamp that does not come: the first pass's first and a later one.
for number in 1 7 30; do
    faulty "queries:$number:0" 4 replay --policy per-range --json t.trk
    same "time stamp $number, lost" "$(get passes.0.lost_timestamps)" 1
    place "$(get passes.0.lost_frame)" "$(get passes.0.lost_event)"
    said "a time stamp was lost in frame $(get passes.0.lost_frame), event $(get passes.0.lost_event)"
done
# Wrong bytes are the verdict of bench and advise, to programs, too.
for command in 'bench --b auto' advise; do
    # shellcheck disable=SC2086 # words
    faulty drop:4096:0 1 $command --json t.trk
    same "wrong bytes, trk $command" "$(get error.status)" broken
    same "wrong bytes, trk $command, complete" "$(get complete)" false
    same "wrong bytes, trk $command, path" "$(get path)" t.trk
    get error.text | grep -q '^policy [^:]*: wrong bytes at ' || fail "wrong bytes, trk $command: $(cat out)"
done
faulty queries:5:0 4 bench --a per-range --b auto --rounds 6 t.trk
said 'a time stamp was lost in frame [0-9]*, event [0-9]'

# Both clocks read together: copies lie on the host's clock where the host saw them, the device's frames
# inside of the host's.
faulty none:0:0 0 replay --policy per-range --loop 3 --frames --json t.trk
[ -n "$(get calibration.extension)" ] || {
    lacking "calibrated time stamps"
    finish
}
apart=$(get calibration.deviation_ns)
at_most "deviation" "$apart" 10000000
same "clock" "$(get calibration.host_clock)" CLOCK_MONOTONIC
same "a fault of none" "$(get calibration.fault)" null
slack=$((apart + 50000))
placed=0
for frame in 0 1 2 3; do
    from=$(get "frame_list.$frame.device_begin_ns") to=$(get "frame_list.$frame.device_end_ns")
    [ "$from" != null ] || continue
    placed=$((placed + 1))
    at_least "frame $frame, its beginning" "$from" "$(($(get "frame_list.$frame.host_begin_ns") - slack))"
    at_most "frame $frame, its end" "$to" "$(($(get "frame_list.$frame.host_end_ns") + slack))"
    at_least "frame $frame, its length" "$((to - from + slack))" "$(get "frame_list.$frame.device_ns")"
done
at_least "frames on the host's clock" "$placed" 3
faulty none:0:0 0 replay t.trk
grep -Eq "^clocks     the device's is on the host's within [0-9.]+ us, and gains [-+][0-9.]+ ppm \([0-9.]+ either way\), by VK_(EXT|KHR)_calibrated_timestamps and CLOCK_MONOTONIC\$" out ||
    fail "no line of clocks: $(grep clocks out)"
faulty none:0:0 0 bench --b auto --rounds 6 --no-check --json t.trk
same "clocks of a bench" "$(get calibration.fault)" null
at_least "their deviation" "$(get calibration.deviation_ns)" 1

# Without the extension, or without a clock that both have: as ever, and said.
for fault in hide:0:VK_EXT_calibrated_timestamps,VK_KHR_calibrated_timestamps clocks:0:host-alone; do
    faulty "$fault" 0 replay --frames --json t.trk
    same "$fault" "$(get calibration)" null
    same "$fault, places" "$(get frame_list.1.device_begin_ns)" null
    at_least "$fault, times" "$(get passes.0.device_ns)" 1
    faulty "$fault" 0 replay t.trk
    grep -q "^clocks     not read together: the device has no calibrated time stamps\$" out || fail "$fault: $(cat out)"
done
# By the newer name, and by the other clock.
faulty clocks:0:khr 0 replay --frames --json t.trk
same "the newer name" "$(get calibration.extension)" VK_KHR_calibrated_timestamps
[ "$(get frame_list.1.device_begin_ns)" != null ] || fail "the newer name: no places"
faulty clocks:0:raw 0 replay --frames --json t.trk
same "the other clock" "$(get calibration.host_clock)" CLOCK_MONOTONIC_RAW
[ "$(get frame_list.1.device_begin_ns)" != null ] || fail "the other clock: no places"
# A wide deviation is told, and nothing is held against places that are no nearer.
faulty clocks:0:wide 0 replay --json t.trk
same "a wide deviation" "$(get calibration.deviation_ns)" 10000000000
# A reading that fails, and clocks that cannot be.
for pair in "clocks:1:-1|out of host memory" "clocks:2:-4|the device was lost" \
    "clocks:0:backwards|clock stood still or ran backwards" "clocks:0:fast|clock does not tick as fast"; do
    faulty "${pair%%|*}" 4 replay --loop 3 --json t.trk
    said "${pair#*|}"
    faulty "${pair%%|*}" 4 bench --b auto --rounds 6 --no-check t.trk
    said "${pair#*|}"
done
# Stamps that cannot be: longer than the host waited, before they began, and at another time.
for fault in stamp:1:10000000000 stamp:7:10000000000 stamp:7:-10000000000; do
        faulty "$fault" 4 replay --json t.trk
        same "$fault, wrong" "$(get passes.0.wrong_timestamps)" 1
        same "$fault, lost" "$(get passes.0.lost_timestamps)" 0
        at_most "$fault, time" "$(get passes.0.device_ns)" 9000000000
        place "$(get passes.0.wrong_frame)" "$(get passes.0.wrong_event)"
        said "a time stamp is wrong in frame $(get passes.0.wrong_frame), event $(get passes.0.wrong_event)"
done
faulty clocks:0:apart 4 replay --json t.trk
same "stamps at another time" "$(get passes.0.wrong_timestamps)" "$(get passes.0.submits)"
said "a time stamp is wrong in frame 0, event "
faulty stamp:5:10000000000 4 bench --a per-range --b auto --rounds 6 t.trk
said "a time stamp is wrong in frame [0-9]*, event [0-9]"
finish
