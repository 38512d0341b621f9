# Goal: a demo that dies of a fault that is nobody's leaves a report and a flight recording.
# Method: its guest memory is cut to nothing while it runs; where and when it notices is open.
. "$(dirname "$0")/lib.sh"
need_vulkan

cat >demo.sh <<'SCRIPT'
echo $$ >pid.new && mv pid.new pid
exec "$1" demo --frames 1000000
SCRIPT
"$trk" record --flight 1M --trigger api --json -o f.trk -- sh demo.sh "$trk" >out 2>err &
recorder=$!

# The demo's memory object, once its fault handler stands: then the process catches SIGILL.
memory() {
    [ -e pid ] && grep -q '^SigCgt:.*[89a-f]$' /proc/"$(cat pid)"/status || return
    for fd in /proc/"$(cat pid)"/fd/*; do
        case $(readlink "$fd") in /memfd:trk-demo*) echo "$fd" ;; esac
    done
}
while kill -0 $recorder 2>/dev/null && [ -z "$(memory)" ]; do
    sleep 0.1
done
fd=$(memory)
[ -n "$fd" ] && : >"$fd"
wait $recorder
same "exit code" $? 135
said '^--- Guest fault context ---$'
said '^thread: \(guest [0-9]*\|(host thread)\)$'
said '^Unhandled host exception: type=SIGBUS code=2 pc=0x'
"$trk" info --json f.trk >info 2>>err
same "trigger" "$("$tools/json_get" info header.flight.trigger)" api
finish
