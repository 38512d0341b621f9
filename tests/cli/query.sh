# Goal: trk query answers as a look at every event does: the questions of the cookbook, and each
# region and frame, by chunks and in order; it changes nothing, ends in time, and says what it refuses.
# Method: a trace with something of everything; the answers once more by awk over trk dump.
#
#     sh query.sh TRK TOOLS TRK_LONG_TRACE
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
long_trace=$3
cookbook=$here/../../docs/query-cookbook.md

"$tools/query_tool" a.trk || fail "making the trace"
"$long_trace" --events 3000 -o stale.trk || fail "making the stale trace"
run 0 dump a.trk
cp out dump

# The events as one line each: number TAB time TAB frame TAB thread TAB type TAB then key=value fields.
# The frame of an event is the newest that began no later than it.
awk '
    function thread(line) { return substr(line, 26, 12) }
    { name = thread($0); sub(/ +$/, "", name); rest = substr($0, 39); split(rest, word, " ")
      print $1 "\t" $2 "\t" name "\t" word[1] "\t" rest }' dump >lines
awk -F '\t' -v OFS='\t' -v n=0 '
    NR == FNR { if ($4 == "frame") { at[n] = $2; split($5, w, "="); number[n++] = w[2] + 0 } next }
    { frame = ""; for (i = 0; i < n && at[i] <= $2 + 0; i++) frame = number[i]
      print $1, $2, frame, $3, $4, $5 }' lines lines >events
[ "$(wc -l <events)" -gt 10000 ] || fail "the dump has few events"

# Functions for the looks below.
cat >look.awk <<'AWK'
function field(key,    i, n, w) {
    n = split($6, w, " ")
    for (i = 1; i <= n; i++)
        if (index(w[i], key "=") == 1) return substr(w[i], length(key) + 2)
    return ""
}
function has(word) { return (" " $6 " ") ~ (" " word " ") }
function digit(c) { return index("0123456789abcdef", c) - 1 }
function number(hex,    i, n) {
    n = 0
    for (i = 3; i <= length(hex); i++) n = n * 16 + digit(substr(hex, i, 1))
    return n
}
# By digits: not every awk writes so large numbers.
function page_of(addr) { return substr(addr, 1, length(addr) - 3) "000" }
function region_of(addr,    d) {
    d = digit(substr(addr, length(addr) - 5, 1))
    return substr(addr, 1, length(addr) - 6) substr("048c", int(d / 4) + 1, 1) "00000"
}
function quoted(text) { if (text ~ /"/) { gsub(/"/, "\"\"", text); return "\"" text "\"" } return text }
BEGIN { FS = "\t"; OFS = "," }
AWK

question() {
    awk -v n="$1" '/^### / { split($2, w, "."); in_it = w[1] == n } /^```$/ { on = 0 } on { print }
                   in_it && /^```sql/ { on = 1 }' "$cookbook"
}

# answer N TRACE: the rows of a question without their names, with its chunks and bytes said.
answer() {
    question "$1" >"q$1.sql"
    [ -s "q$1.sql" ] || fail "no question $1 in the cookbook"
    run 0 query --stats "$2" --file "q$1.sql"
    sed 1d out >"answer$1"
}

# agree N: what awk says of the events on standard input is the answer.
agree() {
    cat >"brute$1"
    cmp -s "brute$1" "answer$1" || {
        fail "question $1:"
        diff "brute$1" "answer$1" | head -6
    }
    [ -s "brute$1" ] || fail "question $1: no rows to compare"
}

for n in 1 2 3 4 5 6 7 8 9 10 11; do
    answer $n a.trk
done
answer 12 stale.trk

look() {
    cat look.awk - >now.awk
    awk -f now.awk events
}

look <<'AWK' | LC_ALL=C sort | agree 1
{ count[$5]++ } END { for (t in count) print t, count[t] }
AWK
look <<'AWK' | agree 2
$5 == "fault" { held[$4] = region_of(field("guest_addr")) == "0x200800000" && $3 == "3"
    row[$4] = $1 "," quoted($4) "," field("guest_addr") "," field("access") }
$5 == "op_end" && has("op=fault") && held[$4] { line[++rows] = row[$4] "," field("outcome"); first[rows] = row[$4] + 0; held[$4] = 0 }
END { for (i = 1; i <= rows; i++) for (j = i; j > 1 && first[j] < first[j - 1]; j--) {
        t = first[j]; first[j] = first[j - 1]; first[j - 1] = t; t = line[j]; line[j] = line[j - 1]; line[j - 1] = t }
      for (i = 1; i <= rows; i++) print line[i] }
AWK
look <<'AWK' | LC_ALL=C sort -t, -k2,2nr -k1,1 | head -10 | agree 3
$5 == "fault" { count[page_of(field("guest_addr"))]++ } END { for (p in count) print p, count[p] }
AWK
look <<'AWK' | LC_ALL=C sort -t, -k1,1n -k2,2 | agree 4
$5 == "fault" && $3 != "" { k = $3 "," page_of(field("guest_addr")); count[k]++
    writes[k] += field("access") == "write"; if (!seen[k, $4]++) threads[k]++ }
END { for (k in count) if (count[k] >= 4) print k, count[k], writes[k], threads[k] }
AWK
look <<'AWK' | agree 5
{ addr = field("guest_addr"); if (addr == "") next
  size = field("size"); if (size == "") size = 1
  if (field("pages") != "") size = field("pages") * 4096
  first = number(addr); page = number("0x200001000")
  if (first < page + 4096 && first + size > page) print $1, quoted($4), $5 }
AWK
look <<'AWK' | LC_ALL=C sort -t, -k1,1n -k2,2 | agree 6
function push(op) { d = ++depth[$4]; kind[$4, d] = op; time[$4, d] = $2; key[$4, d] = $3 "," region_of(field("guest_addr"))
    ranges[$4, d] = pages[$4, d] = 0 }
$5 == "op_begin" { push(field("op")); if (field("op") == "upload") uploads[$3 "," region_of(field("guest_addr"))]++ }
$5 == "fault" { push("fault") }
$5 == "range" { ranges[$4, depth[$4]]++; pages[$4, depth[$4]] += field("pages") }
$5 == "op_end" { t = $4
    # What has no end in the log ends nowhere: all that is open is given up.
    if (depth[t] > 0 && kind[t, depth[t]] != field("op")) { depth[t] = 0; next }
    if (depth[t] == 0) next
    d = depth[t]--; if (kind[t, d] != "upload") next
    k = key[t, d]; r[k] += ranges[t, d]; p[k] += pages[t, d]; us[k] += $2 - time[t, d] }
END { for (k in uploads) { split(k, w, ","); if (w[1] >= 2 && w[1] <= 9 && w[1] != "") {
        printf "%s,%d,%s,%s,", k, uploads[k], r[k], p[k]
        text = sprintf("%.3f", us[k]); sub(/0+$/, "", text); sub(/\.$/, "", text); print text } } }
AWK
look <<'AWK' | agree 7
$5 == "page" && field("moment") == "copied" { p = field("guest_addr"); h = field("hash")
    if (p in was && was[p] == h) print $1, p, h, before[p]
    was[p] = h; before[p] = $1 }
AWK
look <<'AWK' | LC_ALL=C sort -t, -k4,4nr -k1,1n | head -10 | agree 8
$5 == "fault" { open[$4] = $1 "," quoted($4) "," field("guest_addr"); begun[$4] = $2 }
$5 == "op_end" && has("op=fault") && open[$4] != "" { text = sprintf("%.3f", $2 - begun[$4]); sub(/0+$/, "", text); sub(/\.$/, "", text)
    print open[$4], text; open[$4] = "" }
AWK
look <<'AWK' | LC_ALL=C sort | agree 9
$5 == "protect" { k = field("region"); count[k]++; pages[k] += field("pages"); failed[k] += has("failed") }
END { for (k in count) print k, count[k], pages[k], failed[k] }
AWK
look <<'AWK' | LC_ALL=C sort | agree 10
$2 >= 1000 && $2 <= 1500 { count[$4]++ } END { for (k in count) print quoted(k), count[k] }
AWK
look <<'AWK' | LC_ALL=C sort -t, -k1,1n -k2,2 | agree 11
$5 == "copy_begin" && $3 != "" && $3 >= 4 { k = $3 "," field("direction"); bytes[k] += field("size") }
END { for (k in bytes) print k, bytes[k] }
AWK
run 1 sim --json stale.trk
echo "$(get verdict),$(get event_at),$(get guest_addr)" | agree 12

# Each region and frame: faults by their summaries, all events without; and with event numbers.
for region in 0x200000000 0x200400000 0x200800000 0x200c00000; do
    for frame in 0 1 4 13 19; do
        brute=$(cat look.awk - <<AWK >now.awk; awk -f now.awk events
\$5 == "fault" && \$3 == "$frame" && region_of(field("guest_addr")) == "$region" { n++; sum += \$1 } END { print n + 0 "," sum + 0 }
AWK
        )
        where="WHERE region = $region AND frame = $frame"
        run 0 query a.trk "SELECT count(*), coalesce(sum(event), 0) FROM faults $where"
        same "faults $where, in order" "$(sed 1d out)" "$brute"
        run 0 query --stats a.trk "SELECT count(*) FROM events WHERE type = 'fault' AND region = $region AND frame = $frame"
        same "faults $where, by chunks" "$(sed 1d out)" "${brute%,*}"
        run 0 query a.trk "SELECT count(*) FROM touches WHERE type = 'fault' AND region = $region AND frame = $frame"
        same "faults $where, by pages" "$(sed 1d out)" "${brute%,*}"
    done
done

# By thread, stream and spans of numbers; a name that there is not; what no frame has.
for where in "thread = 'guest 1'" "stream = 2" "event BETWEEN 500 AND 900" "event > 9999" "frame <= 2" "frame > 17" \
    "thread = 'nobody'" "type = 'nothing'" "frame = 77" "region = 1" "stream = -1" "event < 0" "frame = 3.0" "time_us < 0.5"; do
    run 0 query a.trk "SELECT count(*), sum(tsc), sum(ordinal) FROM events WHERE $where"
    sed 1d out >narrow
    column=${where%% *}
    run 0 query a.trk "SELECT count(*), sum(tsc), sum(ordinal) FROM events WHERE +$where AND +$column IS NOT NULL"
    same "where $where" "$(cat narrow)" "$(sed 1d out)"
done

# Ends of operations are found behind the time that is asked for, also in other chunks.
for at in $(seq 300 40 1500); do
    what="SELECT count(*), count(duration_us), round(sum(duration_us), 3) FROM uploads WHERE"
    run 0 query a.trk "$what time_us BETWEEN $at AND $((at + 12))"
    cp out narrow
    run 0 query a.trk "$what +time_us BETWEEN $at AND $((at + 12))"
    same "uploads from $at us on" "$(cat narrow)" "$(cat out)"
done

# From checkpoints: the same, and less is read.
"$tools/query_tool" points.trk points || fail "making the trace with checkpoints"
for where in "frame = 13" "frame BETWEEN 7 AND 8" "time_us BETWEEN 1000 AND 1100" "event BETWEEN 9000 AND 9100" "frame = 0" \
    "frame = 19" "time_us < 30" "event > 14000"; do
    for table in events uploads faults; do
        sql="SELECT count(*), sum(event), sum(ordinal), sum(length(coalesce(status, ''))) FROM $table WHERE $where"
        run 0 query a.trk "$sql"
        cp out whole
        run 0 query --stats points.trk "$sql"
        same "$table where $where, from checkpoints" "$(cat out)" "$(cat whole)"
    done
done
bytes_of() { sed -n 's/.*read \([0-9]*\) of.*/\1/p' err; }
run 0 query --stats points.trk "SELECT max(event) FROM events"
all=$(bytes_of)
run 0 query --stats points.trk "SELECT max(event) FROM events WHERE event = 9000"
[ "$(bytes_of)" -lt "$all" ] || fail "an event reads $(bytes_of) bytes, all of them $all"

# A query of little reads little: chunks and bytes are counted.
chunks_of() { sed -n 's/.*decoded \([0-9]*\) chunks of.*/\1/p' err; }
run 0 query --stats a.trk "SELECT count(*) FROM faults"
all=$(chunks_of)
run 0 query --stats a.trk "SELECT count(*) FROM faults WHERE time_us BETWEEN 1000 AND 1100"
[ "$(chunks_of)" -lt $((all / 4)) ] || fail "a time reads $(chunks_of) of $all chunks"
run 0 query --stats a.trk "SELECT count(*) FROM events WHERE stream = 1"
[ "$(chunks_of)" -lt $((all / 2)) ] || fail "a thread reads $(chunks_of) of $all chunks"
run 0 query --stats a.trk "SELECT count(*) FROM protections WHERE region = 0x200800000"
[ "$(chunks_of)" -lt "$all" ] || fail "a region reads all chunks"

# A region or a page alone: in every table, of every type, and in a file of a version without places, the
# same as without passing over; and not all chunks are read, whatever takes no hold.
golden=$here/../format/golden
for trace in a.trk "$golden/1.0.trk" "$golden/1.1.trk"; do
    for table in events touches operations uploads downloads faults protections; do
        for where in "region = 0x200000000" "region = 0x200400000" "region = 0x201000000" "page_addr = 0x200001000" \
            "page_addr = 0x200402000" "region = 0x900000000" "region = 0x80000000000"; do
            run 0 query "$trace" "SELECT count(*), sum(tsc), sum(ordinal) FROM $table WHERE $where"
            cp out narrow
            run 0 query "$trace" "SELECT count(*), sum(tsc), sum(ordinal) FROM $table WHERE +$where"
            same "$table of $trace where $where" "$(cat narrow)" "$(cat out)"
        done
    done
done
run 0 query a.trk "SELECT DISTINCT type FROM events"
sed 1d out >types
while read -r type; do
    run 0 query a.trk "SELECT count(*), sum(tsc) FROM events WHERE type = '$type' AND region = 0x200400000"
    cp out narrow
    run 0 query a.trk "SELECT count(*), sum(tsc) FROM events WHERE +type = '$type' AND +region = 0x200400000"
    same "events of type $type in a region" "$(cat narrow)" "$(cat out)"
done <types
# A comparison that is not byte by byte is SQLite's own to make.
for other in "'FAULT' COLLATE NOCASE" "'fault  ' COLLATE RTRIM"; do
    run 0 query a.trk "SELECT count(*), sum(tsc) FROM events WHERE type = 'fault'"
    cp out plain
    run 0 query a.trk "SELECT count(*), sum(tsc) FROM events WHERE type = $other"
    same "type = $other" "$(cat out)" "$(cat plain)"
done
for what in "uploads WHERE region = 0x200800000" "events WHERE type = 'copy_begin' AND region = 0x200400000" \
    "touches WHERE type = 'page' AND page_addr = 0x200401000" "operations WHERE region = 0x201000000" \
    "events WHERE region = 0x200c00000"; do
    run 0 query --stats a.trk "SELECT count(*) FROM $what"
    at_least "$what" "$(sed 1d out)" 1
    [ "$(chunks_of)" -lt "$all" ] || fail "$what reads $(chunks_of) of $all chunks"
done
run 0 query --stats a.trk "SELECT count(*) FROM uploads WHERE region = 0x200800000"
[ "$(chunks_of)" -lt $((all / 4)) ] || fail "uploads in a region read $(chunks_of) of $all chunks"
run 0 query --stats a.trk "SELECT count(*) FROM events WHERE region = 0x900000000"
same "chunks read for a region that nobody used" "$(chunks_of)" 0

# The small tables.
run 0 query a.trk "SELECT stream, thread, role, thread_id FROM threads ORDER BY stream"
same threads "$(sed 1d out | tr '\n' ';')" '0,render,host,10;1,guest 0,guest,11;2,guest 1,guest,12;3,"guest ""2""",guest,13;'
run 0 query a.trk "SELECT sum(events) FROM threads"
same "events of threads" "$(sed 1d out)" "$(wc -l <events | tr -d ' ')"
run 0 query a.trk "SELECT count(*), min(frame), max(frame) FROM frames"
same frames "$(sed 1d out)" "$(awk -F '\t' '$5 == "frame"' events | wc -l | tr -d ' '),0,19"
run 0 query a.trk "SELECT sum(locks) FROM regions"
same locks "$(sed 1d out)" "$(awk -F '\t' '$5 == "unlock"' events | wc -l | tr -d ' ')"
run 0 query a.trk "SELECT count(*) FROM uploads WHERE duration_us IS NULL"
at_least "uploads without an end" "$(sed 1d out)" 1

# Forms.
run 0 query --json a.trk "SELECT stream, thread, 1.5 AS x, NULL AS y, 9007199254740993 AS z, guest_addr FROM faults LIMIT 2"
json
same schema "$(get schema)" trk-query/1
same complete "$(get complete)" true
run 0 query --json a.trk "SELECT thread, 9007199254740993, region FROM faults WHERE stream = 3 LIMIT 1"
grep -qF '["guest \"2\"","9007199254740993","0x2' out || fail "JSON of numbers and addresses: $(cat out)"
run 0 query --table a.trk "SELECT region, address(region + 4096) AS a FROM regions ORDER BY region LIMIT 1"
same table "$(tail -1 out)" "0x200000000  0x200001000"
echo "SELECT count(*) FROM frames; -- all" | "$trk" query a.trk -f - >out 2>err || fail "a statement on standard input"
"$trk" query - "SELECT count(*) FROM frames" <a.trk >piped || fail "a trace on standard input"
same "a trace on standard input" "$(cat piped)" "$(cat out)"

# Statement by statement, from a pipe: comments and quotes end none; the first that fails ends it.
ask() { "$trk" query "$@" <statements >out 2>err; }
cat >statements <<'SQL'
-- how many; and which
SELECT count(*) FROM frames; ; SELECT ';' AS "a;b" /*/ ; */
  FROM threads WHERE stream = 0 ;SELECT [stream] FROM threads
WHERE thread = 'guest 0'; -- the end; really
SQL
ask -i a.trk
same "exit code of three statements" $? 0
same "three statements" "$(tr '\n' ' ' <out)" 'count(*) 20 a;b ; stream 1 '
ask -i --json a.trk
same "JSON of three statements" "$(grep -c '"schema":"trk-query/1"' out)" 3
printf 'SELECT 1;\nSELECT nothing;\nSELECT 2;\n' >statements
ask -i a.trk
same "exit code behind a statement that fails" $? 2
same "what came before it" "$(tr '\n' ' ' <out)" '1 1 '
for rest in 'SELECT 1; SELECT 2' "SELECT 1; SELECT 'x;" 'SELECT 1; /* ; '; do
    printf '%s' "$rest" >statements
    ask -i a.trk
    same "exit code of '$rest'" $? 2
    said "does not end with ;"
done
: >statements
ask -i a.trk
same "exit code of no statement" $? 0
printf 'SELECT 1;\0' >statements
ask -i a.trk
same "exit code of no text" $? 2
head -c 1100000 /dev/zero | tr '\0' x >statements
ask -i a.trk
same "exit code of a long statement" $? 2
said "more than a megabyte"
run 2 query -i - <a.trk
run 2 query -i a.trk "SELECT 1"
run 2 query -i a.trk -f q1.sql
# On a terminal an error ends its statement only.
if command -v script >/dev/null; then
    printf 'SELECT absent;\nSELECT 40 +\n2;\n' |
        script -qec "'$trk' query -i a.trk" /dev/null >typed 2>&1
    grep -q '^42' typed || fail "an error on a terminal ends all: $(cat typed)"
    grep -q 'no such column: absent' typed || fail "an error on a terminal is not told"
    grep -q 'trk> ' typed || fail "no prompt on a terminal"
fi

# Of an OR each arm is looked for alone: no row is there twice, none is missing. A + before a column
# keeps SQLite from that.
same_rows() { # TABLE ARM ARM
    "$trk" query "${of:-a.trk}" "SELECT stream, ordinal, page_addr FROM $1 WHERE $2 OR $3" | sort >arms
    "$trk" query "${of:-a.trk}" "SELECT stream, ordinal, page_addr FROM $1 WHERE +$2 OR +$3" | sort >whole
    compared=$((${compared:-0} + $(wc -l <whole) - 1))
    cmp -s arms whole ||
        fail "$1 WHERE $2 OR $3: $(wc -l <arms) rows, of which $(sort -u arms | wc -l) differ, not $(wc -l <whole)"
}
for table in events touches faults operations uploads downloads protections; do
    same_rows "$table" "event = 2467" "event > 2468"
    same_rows "$table" "frame = 2" "thread = 'render'"
    same_rows "$table" "frame = 1" "frame > 2"
done
at_least "rows compared" "$compared" 5000

# A range that no tracker takes touches no pages.
refused="$here/../../traces/corpus/scenario-empty-and-outside-ranges-are-refused.trk"
run 0 query "$refused" "SELECT count(*) FROM events WHERE event = 19 AND op = 'untrack'"
at_least "operations on more than there can be" "$(sed 1d out)" 1
run 0 query --limit 20 "$refused" "SELECT count(*) FROM touches WHERE event <= 34"
same "pages of the ranges that were taken" "$(sed 1d out)" 18

# Only reading.
cp a.trk before.trk
for sql in "ATTACH 'x.db' AS x" "CREATE TABLE t(a)" "DELETE FROM threads" "PRAGMA writable_schema = 1" \
    "SELECT load_extension('x')" "INSERT INTO sqlite_schema VALUES(1,2,3,4,5)" "DROP VIEW v_stale_reads" "VACUUM INTO 'x.db'" \
    "SELECT 1; SELECT 2" "SELEC" "" "SELECT nothing FROM events" "SELECT \"text\" FROM events" "BEGIN" \
    "EXPLAIN SELECT 1 FROM events" "SELECT ?1" "SELECT :a"; do
    run 2 query a.trk "$sql"
    [ ! -s out ] || fail "$sql: printed something"
    [ -s err ] || fail "$sql: refused without a word"
done
cmp -s a.trk before.trk || fail "the trace was changed"
[ ! -e x.db ] || fail "a file was made"
run 2 query a.trk
run 2 query a.trk "SELECT 1" -f q1.sql
run 2 query a.trk -f missing.sql
run 2 query --json --table a.trk "SELECT 1"
run 2 query missing.trk "SELECT 1"
run 3 query dump "SELECT 1"

# In time: a product of everything with everything.
run 4 query --limit 1 a.trk "SELECT count(*) FROM events a, events b, events c"
said "time"

# Each field that dump prints is a column with its values, but for texts.
assembled types <<TEXT
$(text_begin '{"tsc_hz":1000000000}' '0 t')
events stream=0 shift=5 flags=1
32 fault_at argument=0x555500001111 seq=4096 domain=0x7fff page=77 pages=1 flags=2 context=8
64 fault argument=0x200001008 flags=1 context=1
96 fault_at argument=0x555500002222
128 drop argument=4 seq=55 context=64
160 fault argument=0x200001008 flags=1 context=1
192 shared argument=5 page=3 context=2
224 shared argument=6 page=4 flags=1 context=2
256 result argument=4096 seq=100 flags=1 context=14
288 object_detail argument=0xffffffffffffffff seq=64 page=9 context=3
320 host_protect argument=0x200000000 seq=4096 page=2 flags=0x8b context=12
352 image argument=0x200000000 seq=4096 page=16 pages=8 flags=4 context=7
384 dispatch argument=11 page=5 context=6
416 map argument=0x200400000 seq=65536 page=12 pages=1 context=3
448 mask argument=0xff00 page=3
480 operand argument=0x77
512 label argument=0x41424344 flags=0x80 context=9
544 tracker argument=0x10001000 page=1 context=1
end status=0 cut=0
TEXT
corpus=$here/../../traces/corpus
code=0
for trace in "$corpus/foreign.trk" "$corpus/bug-call-in-callback.trk" types.trk; do
    [ "$trace" != types.trk ] || code=3
    run $code dump --json "$trace"
    sed 's/"text":"[^"]*"//; s/"thread":"[^"]*"//' out >fields
    for key in $(grep -o '"[a-z_0-9]*":' fields | tr -d '":' | LC_ALL=C sort -u); do
        column=$key
        case $key in
            schema | thread | time_us | event | stream | type | region | status) continue ;;
            frame) column=map_frame ;;
        esac
        run $code query "$trace" "SELECT $column FROM events WHERE $column IS NOT NULL AND $column <> 0 ORDER BY event"
        sed 1d out | cksum >columns
        sed -n "s/.*\"$key\":\"*\([^\",}]*\).*/\1/p" fields | sed 's/^true$/1/; /^0$/d; /^0x0$/d' | cksum >printed
        cmp -s columns printed || fail "$key of ${trace##*/}: not as dump prints it"
    done
done
# The code of faults: not that of a fault whose event is lost.
question 13 >code.sql
run 3 query types.trk -f code.sql
same "code of faults" "$(tr '\n' ' ' <out)" "code,faults ,1 0x555500001111,1 "

# What is missing is said, and the rest is right.
"$tools/query_tool" lost.trk lose || fail "making the trace with a loss"
echo 'SELECT count(*) FROM frames;' >statements
ask -i lost.trk
same "exit code of statements about a trace with a loss" $? 3
said "7 events are missing"
run 3 query --json lost.trk "SELECT value, number FROM events WHERE type = 'drop'"
same complete "$(get complete)" false
said "7 events are missing"
size=$(wc -c <a.trk)
{ head -c $((size / 2)) a.trk; printf 'x'; tail -c +$((size / 2 + 2)) a.trk; } >hurt.trk
run 3 query hurt.trk "SELECT count(*) FROM events"
[ "$(sed 1d out)" -lt "$(wc -l <events)" ] || fail "events of a damaged chunk were counted"
said "damaged"
of=hurt.trk
same_rows events "event >= 100" "stream < 9" 2>/dev/null
same_rows touches "event >= 100" "stream < 9" 2>/dev/null
head -c $((size / 2)) a.trk >half.trk
run 3 query half.trk "SELECT count(*) > 100 FROM events"
same "of half a trace" "$(sed 1d out)" 1
# A text goes on behind a NUL, in all forms.
nul="SELECT 'a'||char(0)||'b' AS x, char(0) AS y, CAST(x'610022002c' AS TEXT) AS z, '' AS e"
run 0 query a.trk "$nul"
same "NUL in CSV" "$(sed -n 2p out)" 'a\x00b,\x00,"a\x00""\x00,",'
run 0 query --json a.trk "$nul"
same "NUL in JSON" "$(sed -n 2p out)" '["a\u0000b","\u0000","a\u0000\"\u0000,",""]'
run 0 query --table a.trk "$nul"
same "NUL in a table" "$(sed -n 2p out | tr -s ' ')" 'a\x00b \x00 a\x00"\x00, '
# Numbers that SQLite has not are their digits.
assembled big <<TEXT
$(text_begin '{}' '0 t')
events stream=0 shift=5 flags=1
32 mark argument=0x7fffffffffffffff
64 mark argument=0x8000000000000000
96 mark argument=0xffffffffffffffff
end status=0 cut=0
TEXT
run 0 query big.trk "SELECT number FROM events"
same "large numbers" "$(tail -n 3 out | paste -sd ' ')" \
    "9223372036854775807 9223372036854775808 18446744073709551615"
run 0 query --json big.trk "SELECT number FROM events WHERE event = 2"
same "a large number in JSON" "$(sed -n 2p out)" '["18446744073709551615"]'
finish
