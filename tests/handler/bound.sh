#!/bin/sh
# Goal: every symbol that the handler may need is bound before main, and its thread-local storage is
# reached without a call.
# Method: the program's flags and its sections; the loader's own log, in which nothing is bound for
# the program once it runs, over a storm of faults; the libraries' references.
# bound.sh TRK STORM_TARGET LIBTRK_CAPTURE LIBTRACK
set -u
trk=$1 target=$2
shift 2
command -v readelf >/dev/null || {
    echo "skipped: no readelf"
    exit 77
}
dir=$(mktemp -d) || exit 70
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 70
fail()
{
    echo "FAIL: $*"
    exit 1
}

readelf -dW "$target" >dynamic
grep -Eq 'BIND_NOW|FLAGS_1.*NOW' dynamic || fail "$target is not linked with -z now"
# Without lazy binding there is no table of stubs to fill in later.
readelf -SW "$target" | grep -q '\.got\.plt' && fail "$target has a table that is bound lazily"
for library; do
    nm "$library" 2>/dev/null | grep -E '__tls_get_addr|__tls_init' &&
        fail "$library calls a function to reach thread-local storage"
    readelf -rW "$library" | grep -E 'TLSGD|TLSLD|TLSDESC|DTPMOD' >tls &&
        fail "$library: thread-local storage of a kind that may allocate: $(head -1 tls)"
done

head -c 8192 /dev/zero >shared
env -u LD_BIND_NOW "$trk" record -f -o storm.trk -- env LD_DEBUG=bindings,files \
    LD_DEBUG_OUTPUT="$dir/log" "$target" "$dir/shared" 4 >out 2>&1 || fail "the storm ends with $?"
log=$(grep -l "transferring control: $target" log.* | head -1)
[ -n "$log" ] || fail "the loader's log does not tell of the program"
sed "1,/transferring control: \(.*\)${target##*/}/d" "$log" | grep "binding file $target" >late &&
    fail "bound late: $(head -1 late)"
exit 0
