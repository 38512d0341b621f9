#!/bin/sh
# A query of a region and a frame on a large trace, beside importing the rows into SQLite and asking
# there: one JSON object.
#
#     query.sh BUILD [MEGABYTES [FRAME]]
#
# Both give the same answer, or the script fails. The import is of as much as the query is about, all
# faults, by the same reader; asking there is with no index. Needs sqlite3 and GNU time. Nothing is judged.
set -eu
build=$(cd "$1" && pwd)
megabytes=${2:-1000}
frame=${3:-$((megabytes * 4))}
trk=$build/cli/trk
dir=$(mktemp -d "$build/query.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"
for tool in sqlite3 /usr/bin/time; do
    command -v "$tool" >/dev/null || {
        echo "no $tool" >&2
        exit 77
    }
done
"$build/tests/bench/trk_bench_large" --path l.trk --megabytes "$megabytes" --make-only 1
# timed NAME COMMAND...: seconds, KiB and the processor's seconds into NAME.s, NAME.kib and NAME.cpu.
timed()
{
    name=$1
    shift
    /usr/bin/time -o "$name.time" -f '%e %M %U %S' "$@"
    cut -d ' ' -f 1 "$name.time" >"$name.s"
    cut -d ' ' -f 2 "$name.time" >"$name.kib"
    awk '{ print $3 + $4 }' "$name.time" >"$name.cpu"
}
# Imported, all is text.
timed query "$trk" query --stats l.trk "SELECT count(*), sum(page), sum(tsc) FROM faults
    WHERE region = 0x80001000000 AND frame = $frame" >answer 2>stats
timed export "$trk" query l.trk "SELECT stream, tsc, frame, region, page, guest_addr FROM faults" >rows.csv
timed import sqlite3 rows.db ".import --csv rows.csv faults"
timed ask sqlite3 -csv -header rows.db "SELECT count(*), sum(page), sum(tsc) FROM faults
    WHERE region = '0x80001000000' AND frame = '$frame'" >imported
[ "$(sed 1d answer)" = "$(sed 1d imported | tr -d '\r')" ] || {
    echo "other answers: $(cat answer imported)" >&2
    exit 1
}
read_bytes=$(sed -n 's/.*read \([0-9]*\) of.*/\1/p' stats)
bytes=$(wc -c <l.trk)
awk -v query="$(cat query.s)" -v export="$(cat export.s)" -v import="$(cat import.s)" -v ask="$(cat ask.s)" \
    -v query_cpu="$(cat query.cpu)" -v other_cpu="$(cat export.cpu import.cpu ask.cpu | awk '{ sum += $1 } END { print sum }')" \
    -v kib="$(cat query.kib)" -v read="$read_bytes" -v bytes="$bytes" 'BEGIN {
    printf "{\"schema\": \"trk-bench-query/1\", \"bytes\": %d, \"read_bytes\": %d, \"read_share\": %.5f,\n", bytes, read, read / bytes
    printf " \"query_s\": %.2f, \"memory_mib\": %.1f, \"export_s\": %.2f, \"import_s\": %.2f, \"ask_s\": %.2f,\n", query, kib / 1024, export, import, ask
    printf " \"query_cpu_s\": %.2f, \"other_cpu_s\": %.2f, \"times_as_fast_by_cpu\": %.1f,\n", query_cpu, other_cpu, other_cpu / (query_cpu > 0 ? query_cpu : 0.01)
    printf " \"times_as_fast\": %.1f}\n", (export + import + ask) / (query > 0 ? query : 0.01) }'
