# Goal: a recording with contents of pages has each content once, keeps them through every command
# that writes a trace again, leaves them out when it is redacted, and says what is damaged.
# Method: a program that uploads pages of known contents, recorded with each payload.
. "$(dirname "$0")/lib.sh"

for payload in none hash pages; do
    run 0 record --json --payload "$payload" -o "$payload.trk" -- "$tools/trace_tool" pages 300
    json
    same "pages missed with $payload" "$(get pages_missed)" 0
done
same "contents" "$(get pages)" 300
run 0 info --full --json none.trk
same "stored with none" "$(get pages_stored)" 0
same "hashed with none" "$(get pages_hashed)" null
run 0 info --full --json hash.trk
same "stored with hash" "$(get pages_stored)" 0
same "hashed" "$(get pages_hashed)" 600

# has FILE CONTENTS MISSING: FILE is whole and has so many contents.
has() {
    run 0 info --full --json "$1"
    same "contents of $1" "$(get pages_stored)" "$2"
    same "missing in $1" "$(get pages_missing)" "$3"
    run 0 doctor "$1"
}
has pages.trk 300 0
run 0 info --full pages.trk
grep -q "contents   300 of pages, 0 missing" out || fail "info says nothing of contents"
run 0 info --json pages.trk
same "stored, by the index" "$(get pages_stored)" null
run 0 pack pages.trk -o packed.trk
has packed.trk 300 0
run 0 unpack packed.trk -o unpacked.trk
has unpacked.trk 300 0
run 0 recover pages.trk -o recovered.trk
has recovered.trk 300 0
run 0 trim pages.trk 0-39 -o part.trk
has part.trk 20 0
[ "$(wc -c <part.trk)" -lt "$(wc -c <pages.trk)" ] || fail "the part is not smaller"
run 0 pack --redact pages.trk -o redacted.trk
run 0 info --full --json redacted.trk
same "contents when redacted" "$(get pages_stored)" 0
same "hashed when redacted" "$(get pages_hashed)" 600
text_keeps pages.trk
if command -v zstd >/dev/null; then
    zstd -q -t <pages.trk || fail "zstd -t refuses contents of pages"
fi

# Half a file: what is good of it is recovered.
head -c $(($(wc -c <pages.trk) / 2)) pages.trk >cut.trk
run 3 doctor cut.trk
run 0 recover cut.trk -o whole.trk
run 3 info --json whole.trk
at_least "contents of a cut recording" "$(get pages_stored)" 1

# With a guard, and where nothing can be kept.
run 0 record --guard --payload pages -o guarded.trk -- "$tools/trace_tool" pages 50
has guarded.trk 50 0
run 2 record --flight 1M --payload pages -o flight.trk -- "$tools/trace_tool" pages 5
said "needs a file"
run 2 record --payload all -o none2.trk -- "$tools/trace_tool" pages 5
finish
