# An exercise for docs/tutorial-bisect.md: a trace of the demo with a bug in it, and nobody says which.
#
#     sh tests/tutorial/unknown.sh SEED          writes unknown.trk, of which the seed chooses the bug
#     sh tests/tutorial/unknown.sh SEED ANSWER   ends with 0 if ANSWER, of trk demo --list-bugs, is it
#
# `trk` must be in the PATH. Whatever would name the bug is taken out of the trace, and all are alike in
# size. The same seed chooses the same bug as long as the demo has the same ones.
usage() {
    echo "usage: unknown.sh SEED [ANSWER], SEED a number of at most 9 digits" >&2
    exit 2
}
case $1 in
'' | *[!0-9]* | ??????????*) usage ;;
esac
[ $# -le 2 ] || usage
seed=$1
names=$(trk demo --list-bugs) || exit 4
count=$(printf '%s\n' "$names" | wc -l)
# Neighbouring seeds should not have neighbouring bugs.
mixed=$(printf 'a bug by chance: %s' "$seed" | cksum | cut -d ' ' -f 1)
name=$(printf '%s\n' "$names" | sed -n "$((mixed % count + 1))p")

if [ $# -eq 2 ]; then
    printf '%s\n' "$names" | grep -qxF -e "$2" || {
        echo "no bug of the demo is called '$2'; see: trk demo --list-bugs --json" >&2
        exit 2
    }
    [ "$2" = "$name" ] || {
        echo "no: it is another one"
        exit 1
    }
    echo "yes: that is it"
    exit 0
fi

if [ -e unknown.trk ]; then
    echo "unknown.trk is there already: remove it, or run this in another folder" >&2
    exit 2
fi
folder=$(mktemp -d) || exit 4
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
# A busy machine may lose events all the same, with which no bug can be told: then again, with more room.
tries=1
room="--block 60000"
while :; do
    # As many frames as the slowest bug needs.
    # shellcheck disable=SC2086 # words
    if ! trk record -f $room -o "$folder/raw.trk" -- \
        trk demo --megabytes 2 --frames 216 --threads 2 --seed "$seed" --bug "$name" >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        exit 4
    fi
    trk info "$folder/raw.trk" >"$folder/info" 2>"$folder/log"
    code=$?
    [ "$code" -ne 0 ] || break
    if [ "$code" -ne 3 ] || [ "$tries" -eq 5 ]; then
        cat "$folder/log" >&2
        echo "no whole recording in $tries: try again when the machine is less busy" >&2
        exit 4
    fi
    echo "the recording lost events: recording again" >&2
    tries=$((tries + 1))
    room="--block 60000 --ring 16M"
done
trk pack --redact "$folder/raw.trk" -o unknown.trk || exit 4
echo "unknown.trk: one of $count bugs"
