# Goal: behind a loss, regions that lost nothing are followed to the end, with exit code 3 and the
# gaps named; a right program is accused of nothing; and a trace can be followed while it is written.
# Method: a recorded trace out of which an operation is cut in its text form, a DROP in its place; and what
# is needed of a recording that once led to a false verdict, the rest of it told as lost.
. "$(dirname "$0")/lib.sh"
record_all

# Following needs no device.
"$tools/trace_tool" make t.trk || fail "trace_tool make"
run 0 follow t.trk
quiet
same "events followed" "$(wc -l <out)" 40
run 0 follow --json t.trk
json
"$tools/trace_tool" unended u.trk || fail "trace_tool unended"
run 3 follow --idle 1 u.trk
same "events followed without an end" "$(wc -l <out)" 40
said "nothing was written for 1 s"
run 2 follow nowhere.trk
echo "no trace, but more than sixty-four bytes of something else altogether, as we see" >text.trk
run 3 follow text.trk
size=$(wc -c <t.trk)
head -c $((size / 2)) t.trk >grows.trk
"$trk" follow --idle 100 grows.trk >out 2>err &
follower=$!
sleep 0.3
tail -c +$((size / 2 + 1)) t.trk >>grows.trk
wait "$follower"
same "exit code of following a file that grows" $? 0
same "events of a file that grows" "$(wc -l <out)" 40

# Through a pipe: as it comes, and no longer than the pipe lasts.
mkfifo pipe
"$trk" follow pipe >out 2>err &
follower=$!
exec 3>pipe
head -c $((size / 2)) t.trk >&3
tail -c +$((size / 2 + 1)) t.trk >&3
wait "$follower" # the trace has ended, the pipe has not
same "exit code of following a pipe" $? 0
same "events of a pipe" "$(wc -l <out)" 40
exec 3>&-
# A pipe that nobody writes: with --idle no longer than a silent file.
for how in "" --json; do
    # shellcheck disable=SC2086
    timeout 100 "$trk" follow --idle 1 $how pipe >out 2>err </dev/null
    same "exit code of a pipe without a writer" $? 3
done
same "object of a pipe without a writer" "$(get complete)" false
# shellcheck disable=SC2002
cat u.trk | "$trk" follow --json - >out 2>err
same "exit code of a pipe that ends first" $? 3
said "the pipe has ended, the trace has not"
same "lines of a pipe that ends first" "$(wc -l <out)" 41
# shellcheck disable=SC2002
cat text.trk | "$trk" follow - >out 2>err
same "exit code of following what is no trace" $? 3
printf '\211TRK' | "$trk" follow - >out 2>err
same "exit code of following a beginning" $? 3
# shellcheck disable=SC2002
cat u.trk | "$trk" recover - -o r.trk >out 2>err || fail "recover of a pipe"
"$trk" recover u.trk -o named.trk >out 2>err || fail "recover"
cmp r.trk named.trk || fail "recover of a pipe gives other bytes"
# A chunk whose header is good is a chunk.
at=$(($(wc -c <t.trk) / 2))
: >out
while [ "$at" -lt "$(wc -c <t.trk)" ] && ! grep -q 'the contents of chunk' out; do
    at=$((at + 20))
    cp t.trk bad.trk
    printf 'XX' | dd of=bad.trk bs=1 seek="$at" conv=notrunc 2>/dev/null
    run 3 doctor bad.trk
done
run 3 follow bad.trk
said "the chunk that stands there is damaged (at byte [1-9]"
# A socket as standard input, by each of its names.
for name in - /dev/stdin /proc/self/fd/0; do
    "$tools/on_socket" "$trk" follow "$name" <t.trk >out 2>err
    same "exit code of following a socket as $name" $? 0
    same "events of a socket as $name" "$(wc -l <out)" 40
    "$tools/on_socket" "$trk" recover -f "$name" -o r.trk <u.trk >out 2>err || fail "recover of a socket as $name"
    cmp r.trk named.trk || fail "recover of a socket as $name gives other bytes"
done
"$tools/on_socket" "$trk" info - <t.trk >out 2>err || fail "info of a socket"
"$trk" recover -f pipe -o r.trk >out 2>err &
recovery=$!
cat text.trk >pipe
wait "$recovery"
same "exit code of recovering what is no trace" $? 3

# By its time the render thread's GPU write is behind the guest's read; the hold before the guest's fault
# is lost, so that the fault waits until nothing else can go on.
assembled guess <<END
$(text_begin '{}' '0 render' '1 guest 0')
events stream=0 shift=5 flags=1
57760241977504 drop argument=0x4493
57760700819232 op_begin flags=0x1 context=7 seq=98304 argument=0x2003f4000
57760700855712 op_end context=7 argument=0x1
57760708924032 gpu_write domain=0x2d01 seq=2048 page=540 argument=0x2003fa000
events stream=1 shift=5 flags=1
57760245331776 drop argument=0x3bed
57760707699456 fault domain=0x30000800 seq=1165 page=1018 argument=0x2003fa400
57760707781504 op_end context=19 argument=0x1
57760707784096 witness_check domain=0x2c01 seq=1024 argument=0x2003fa400
end status=0 cut=0
END
run 3 sim --json guess.trk
same "verdict where the order is a guess" "$(get verdict)" trace-incomplete
run 3 sim --json --oracle-only guess.trk
same "the oracle's where the order is a guess" "$(get verdict)" trace-incomplete

# Nothing but time orders the two threads. Three events of holds are lost: the first thread waits for the end
# of its own hold until the second one has ended, and by then its changes of views and its copies stand behind
# all that the second one did. What that one read is not old: another frame was there when it stored.
assembled order <<END
$(text_begin '{}' '0 render' '1 guest 0')
events stream=0 shift=5 flags=1
176290244566528 tracker argument=0x10001000
176290244574816 map context=3 seq=1048576 argument=0x200000000
176290244576768 op_begin context=11 seq=1048576 argument=0x200000000
176290244595264 lock domain=0x10000800 seq=1
176290244614784 drop context=3 argument=0x1
176290244614848 op_end context=11
176290244615008 witness_store domain=0x1 seq=16 argument=0x200000000
176290244615040 signal domain=0x5 argument=0x1
176290244626752 op_begin context=7 seq=4096 argument=0x200000000
176290244626848 lock domain=0x10000800 seq=2
176290244634336 protect flags=0x81 domain=0x30000800 seq=1 pages=1
176290244634496 range domain=0x10000800 seq=2 pages=1
176290244634624 copy_begin seq=4096 argument=0x200000000
176290244634688 copy_end seq=4096 argument=0x200000000
176290244634752 unlock domain=0x10000800 seq=2 pages=1
176290244634848 callback context=1
176290244634944 op_end context=7 argument=0x1
176291814206080 unmap seq=1048576 argument=0x200000000
176291814206400 map context=3 seq=1048576 page=9000 argument=0x200000000
176291819907776 unmap seq=1048576 argument=0x200000000
176291819908224 map context=3 seq=1048576 argument=0x200000000
176291819910464 op_begin context=7 seq=4096 argument=0x200000000
176291819910496 lock domain=0x10000800 seq=4
176291819914336 protect flags=0x81 domain=0x30000800 seq=3 pages=1
176291819916320 range domain=0x10000800 seq=4 pages=1
176291819916416 copy_begin seq=4096 argument=0x200000000
176291819916480 copy_end seq=4096 argument=0x200000000
176291819916576 unlock domain=0x10000800 seq=4 pages=1
176291819916672 callback context=1
176291819916768 op_end context=7 argument=0x1
events stream=1 shift=5 flags=1
176291814528032 await domain=0x5 argument=0x1
176291814528064 op_begin context=10 seq=4096 argument=0x200000000
176291814562176 drop context=2 argument=0x1
176291814571360 drop context=5 argument=0x1
176291814573280 drop context=3 argument=0x1
176291814573408 op_end context=10
176291814573568 witness_store domain=0x7 seq=16 argument=0x200000000
176291820235296 gpu_read seq=16 page=2 argument=0x200000000
176291820235840 witness_check flags=0x1 domain=0x1 seq=16 argument=0x200000000
end status=0 cut=0
END
for how in "" --oracle-only; do
    # shellcheck disable=SC2086
    run 3 sim --json $how order.trk
    same "verdict where threads stand in another order, $how" "$(get verdict)" trace-incomplete
done

# A copy home puts older bytes over newer ones, and what is then copied to the GPU is read. With a store that is
# lost in between, what was read is still old; who did it, and who has the newest bytes, is not known any more.
assembled over <<END
$(text_begin '{}' '0 render')
events stream=0 shift=5 flags=1
100000000 witness_store flags=0x2 domain=0x200 seq=1024 argument=0x200074800
100100000 copy_begin seq=4096 argument=0x200074000
100200000 copy_end seq=4096 argument=0x200074000
100300000 witness_store flags=0x2 domain=0x300 seq=1024 argument=0x200074800
100400000 witness_store flags=0x2 domain=0x300 seq=1024 argument=0x300013000
100500000 copy_begin context=1 seq=4096 argument=0x200074000
100600000 copy_end context=1 seq=4096 argument=0x200074000
100700000 copy_begin seq=4096 argument=0x200074000
100800000 copy_end seq=4096 argument=0x200074000
100900000 witness_check flags=0x1 domain=0x200 seq=1024 argument=0x200074800
end status=0 cut=0
END
sed 's/^100400000 .*/100400000 drop context=75 argument=0x1/' over.txt >lost_store.txt
run 0 assemble lost_store.txt -o lost_store.trk
run 1 sim --json over.trk
same "verdict of a copy over newer bytes" "$(get verdict)" lost-cpu-write
same "its event" "$(get event_at)" 3
run 1 sim --json lost_store.trk
same "verdict behind a lost store" "$(get verdict)" stale-gpu-read
same "its way" "$(get detail)" "behind missing events"
same "its event" "$(get event_at)" null
same "what shows it" "$(get event_visible)" 9
get holder | grep -q "^not known" || fail "who has the bytes: $(get holder)"
get missing | grep -q "^not known" || fail "what is missing: $(get missing)"
run 0 why --json over.trk 0x200074800 @8
same "the GPU's copy" "$(get gpu)" older
run 3 why --json lost_store.trk 0x200074800 @8
same "the GPU's copy behind a lost store" "$(get gpu)" unclear
same "guest memory behind a lost store" "$(get guest)" unclear
get for_gpu | grep -q "^not known" || fail "for the GPU: $(get for_gpu)"

# A store before the second one is lost, maybe the one that took the page: who should have told is not known.
sed 's/^100300000 /100250000 drop context=75 argument=0x1\n&/' over.txt >early_loss.txt
run 0 assemble early_loss.txt -o early_loss.trk
run 1 sim --json early_loss.trk
same "verdict of a copy over newer bytes, behind a loss" "$(get verdict)" lost-cpu-write
same "its way, behind a loss" "$(get detail)" "behind missing events"
same "its event, behind a loss" "$(get event_at)" null
same "who has the bytes, behind a loss" "$(get holder)" "nowhere: guest memory was overwritten"
get missing | grep -q "^not known" || fail "what is missing, behind a loss: $(get missing)"
# It can be written nowhere, and is found.
if [ -w /dev/full ]; then
    "$trk" sim over.trk >/dev/full 2>err
    same "exit code of a verdict on a full disk" $? 1
    said "standard output"
fi

# A thread that copies what another one stored. Where the file just stops such a thread may have more to say, also
# one of which there is a name only: a stream's NOTE comes before what others do later.
cat >one.txt <<END
$(text_begin '{}' '0 render')
events stream=0 shift=5 flags=1
1000032 tracker argument=0x10001000
1000064 map context=3 seq=1048576 argument=0x200000000
1000192 witness_store domain=0x1 seq=16 argument=0x200000000
1000224 copy_begin seq=4096 argument=0x200000000
1000256 copy_end seq=4096 argument=0x200000000
1000288 witness_store domain=0x2 seq=16 argument=0x200000000
2000288 gpu_read seq=16 argument=0x200000000
5000288 frame
END
sed '$i4000256 witness_check flags=0x1 domain=0x1 seq=16 argument=0x200000000' one.txt | sed '/ gpu_read /d' >stamped.txt
for read in one stamped; do
    (cat $read.txt && echo "end status=0 cut=0") >end0.txt
    run 0 assemble -f end0.txt -o end0.trk
    run 1 sim --json end0.trk
    same "$read, alone: verdict" "$(get verdict)" stale-gpu-read
    sed '/^note stream=0/a note stream=1 "{\\"tid\\":2,\\"role\\":0,\\"name\\":\\"copier\\"}"' $read.txt >stops.txt
    (cat stops.txt && echo "end status=0 cut=1") >end1.txt
    run 0 assemble -f end1.txt -o end1.trk
    run 0 assemble -f stops.txt -o stops.trk
    for file in stops end1; do
        for how in "" --oracle-only; do
            # shellcheck disable=SC2086
            run 3 sim --json $how $file.trk
            same "$read, $file, $how: verdict" "$(get verdict)" trace-incomplete
        done
        get text | grep -q ": events are missing that the bytes may depend on" || fail "$read, $file: $(get text)"
        run 3 bisect $file.trk
    done
done

# The place of a fault is that of the fault behind it, and of no later one.
cat >place.txt <<END
$(text_begin '{}' '1 guest 0')
events stream=0 shift=5 flags=1
1000032 tracker argument=0x10001000
1000064 map context=3 seq=1048576 argument=0x200000000
1000096 op_begin context=11 seq=1048576 argument=0x200000000
1000128 lock domain=0x10000800 seq=1
1000160 unlock domain=0x10000800 seq=1
1000192 op_end context=11
2000000 fault_at argument=0x55550001111
2900000 fault domain=0x30000800 seq=1 argument=0x200004000 flags=1
2900064 op_end context=19 argument=0x1
end status=0 cut=0
END
lost_pair='1000256 drop context=9 argument=1\n1000288 drop context=92 argument=1'
sed "s/^2900000 /2000032 drop context=9 argument=1\n2000064 drop context=92 argument=1\n&/" place.txt >between.txt
sed "s/^2900000 /2000032 frame\n&/" place.txt >other.txt
sed "s/^2000000 /$lost_pair\n&/" place.txt >before.txt
sed "s/^2900000 /events stream=0 shift=5 flags=1\n&/" before.txt >chunks.txt
for case in place between other before chunks; do
    run 0 assemble $case.txt -o $case.trk
    "$trk" why $case.trk 0x200004000 >out 2>err
    known=0
    grep -q "by code at 0x55550001111" out && known=1
    case $case in
    place | before) same "$case: the place of the fault" $known 1 ;;
    *) same "$case: the place of another fault" $known 0 ;;
    esac
done

run 1 sim place.trk
grep -q "guest 0: fault 0x200004000 .*, by code at 0x55550001111$" out || fail "the story lacks the code: $(cat out)"
"$trk" sim between.trk >out 2>err
grep -q "by code at" out && fail "the story has the code of another fault: $(cat out)"

# Without a tracker nothing can be judged: of a whole trace that is certain.
bare() { # LINE...
    {
        printf '%s\n' 'trk-text 1' 'file level=3 plain=0 sync=5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a' 'header "{}"' \
            schema 'note stream=1 "{}"' 'events stream=1 shift=5 flags=1' "$@" 'end status=0 cut=0'
    } >bare.txt
    run 0 assemble -f bare.txt -o bare.trk
    run 3 sim --json bare.trk
}
bare '32 mark argument=1'
same "without a tracker" "$(get verdict)" unknown
bare '32 mark argument=1' '64 drop argument=4'
same "without a tracker, after a loss" "$(get verdict)" trace-incomplete
get text | grep -q "declares no tracker.* among what is missing" || fail "no tracker, after a loss: $(get text)"

need_vulkan
# No other loss than the one that is made below, however busy the machine is.
"$trk" record -o ok.trk -- "$trk" demo --frames 40 >out 2>err || fail "record"
run 0 doctor --json ok.trk
same "lost in the recording" "$(get dropped)" 0
"$trk" dump --text ok.trk >text.txt 2>err
# Behind the middle, one whole operation of a guest on the arena band, that orders nothing.
awk -v half="$(($(wc -l <text.txt) / 2))" '
    function flush() { printf "%s", held; held = ""; count = 0; odd = 0 }
    /^events / { flush(); guest = $2 ~ /^stream=[1-4]$/ }
    guest && NR > half && !cut && / fault .*domain=0x3004/ { flush(); inside = 1 }
    inside {
        if (!count) first = $1
        held = held $0 "\n"
        count++
        odd = odd || /signal|await|callback/
        if (/^events / || / op_end/) {
            if (/ op_end/ && !odd) {
                print first " drop argument=" count
                held = ""; count = 0; cut = 1
            }
            flush()
            inside = 0
        }
        next
    }
    { print }
    END { flush() }' text.txt >lost.txt
lost=$(sed -n 's/.* drop argument=//p' lost.txt)
at_least "events that were cut" "${lost:-0}" 3
run 0 assemble lost.txt -o lost.trk
run 3 sim --json lost.trk
same verdict "$(get verdict)" trace-incomplete
same complete "$(get complete)" false
get text | grep -q "2 of 4 regions lost nothing and were followed to the end" ||
    fail "what lost nothing was not followed: $(get text)"
run 3 doctor --json lost.trk
same dropped "$(get dropped)" "$lost"
get gaps.0.region | grep -q 0x80000 || fail "the gap is not named"
finish
