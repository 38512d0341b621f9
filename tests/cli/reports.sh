# Goal: reports of scenarios say the same words as ever: the steps, who is to blame, the missing edge,
# what would pass; and the JSON form says the same.
# Method: scenarios against stored texts, without the lines of schedules, which name the
# core they were made with. A text that differs is printed; where it is meant, it is the new one.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
handed=$here/../scenarios/handed

report() {
    name=$(basename "$1" .json)
    cp "$handed/$1" . || fail "no $1"
    run 0 sim "$name.json"
    sed 's/ --schedule trk1:.*//' out >text
    cmp -s text "$here/reports/$name.txt" || {
        fail "$name: another report than reports/$name.txt:"
        cat text
    }
    run 0 sim --json "$name.json"
    missing=$(get missing)
    grep -qF "missing edge: $missing" text || fail "$name: JSON has another missing edge"
    steps=$(grep -c '^ *[0-9][0-9]*  [a-z]' text)
    same "$name: steps" "$(get story.#)" "$steps"
}

for file in faults/lost-fault-on-a-gpu-page faults/draw-that-runs-late field/particles-restart \
    field/rights-restored-over-two-pages field/unmap-waits-for-a-label \
    core/store-in-a-completion-is-reentry litmus/download-orders-gpu-work \
    ../own/finished-upload-is-no-part-of-the-next; do
    report "$file.json"
done

# Of a folder only what failed is told.
run 0 sim --json .
same "a folder's held files have no story" "$(get files.0.story.#)" 0
finish
