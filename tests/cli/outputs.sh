# Goal: a file that a command makes takes the place of a file only. Devices, pipes, folders and links
# stay what they are, with -f too; what they take goes through to them, and what they refuse is said.
# Method: each command that makes a file, at each kind of place, all in a folder of our own.
. "$(dirname "$0")/lib.sh"

"$tools/trace_tool" make t.trk || fail "trace_tool make"
"$trk" dump --text t.trk >t.txt 2>err || fail "dump --text"
"$trk" pack t.trk -o packed.trk 2>err || fail "pack"
"$trk" record -o race.trk -- "$tools/race_tool" good 2>err || fail "record"
printf 'marks 10\ntrigger\nexit 0\n' >script
full=
mknod full c 1 7 2>err && { : >full; } 2>err && full=full

# make NAME PLACE [OPTION...]: the command of that name writes to PLACE.
make() {
    name=$1
    place=$2
    shift 2
    case $name in
    assemble) "$trk" assemble "$@" t.txt -o "$place" ;;
    recover) "$trk" recover "$@" t.trk -o "$place" ;;
    pack) "$trk" pack "$@" t.trk -o "$place" ;;
    unpack) "$trk" unpack "$@" packed.trk -o "$place" ;;
    explore) "$trk" explore "$@" --from 5 --to 60 --export "$place" race.trk ;;
    record) "$trk" record "$@" -o "$place" -- true ;;
    flight)
        "$trk" record "$@" --flight 1M --trigger api -o "$place" -- \
            "$tools/trace_tool" obey script
        ;;
    esac
}

# ends CODE NAME PLACE [OPTION...]
ends() {
    want=$1
    shift
    make "$@" </dev/null >out 2>err
    got=$?
    [ "$got" -eq "$want" ] || {
        fail "$*: exit code $got, expected $want"
        sed 's/^/    /' err | head
    }
}

for name in assemble recover pack unpack explore record flight; do
    # Nothing there, and a file.
    rm -rf place goal left
    ends 0 "$name" place
    cp place goal
    ends 2 "$name" place
    same "who may read what $name made" "$(stat -c %a place)" "$(printf %o $((0666 & ~$(umask))))"
    echo something else >place
    chmod 600 place
    ends 0 "$name" place -f
    same "who may read what $name -f made" "$(stat -c %a place)" 600
    [ -s place ] && ! grep -q "something else" place || fail "$name -f: the file is not replaced"

    # A link to a file: the link stays, its file is replaced; without -f neither.
    rm -f place
    mkdir -p elsewhere
    echo something else >elsewhere/goal
    ln -s elsewhere/goal place
    ends 2 "$name" place
    grep -q "something else" elsewhere/goal || fail "$name: a link's file was changed without -f"
    ends 0 "$name" place -f
    [ -L place ] || fail "$name -f: the link is gone"
    grep -q "something else" elsewhere/goal && fail "$name -f: the link's file is not replaced"
    [ "$(ls -A elsewhere)" = goal ] || fail "$name -f: left beside the file: $(ls -A elsewhere)"

    # A link to nothing, and a folder.
    rm -f elsewhere/goal
    ends 2 "$name" place
    ends 2 "$name" place -f
    [ -L place ] || fail "$name -f: a link to nothing is gone"
    [ -e elsewhere/goal ] && fail "$name -f: a link to nothing was followed"
    rm -f place
    mkdir place
    ends 2 "$name" place
    ends 2 "$name" place -f
    [ -d place ] || fail "$name -f: the folder is gone"
    rmdir place

    # A pipe: refused without -f, else who reads gets the bytes.
    mkfifo place
    ends 2 "$name" place
    timeout 100 cat place >read &
    reader=$!
    ends 0 "$name" place -f
    wait "$reader" || fail "$name -f: nobody wrote to the pipe"
    [ -p place ] || fail "$name -f: the pipe is gone"
    [ -s read ] || fail "$name -f: the pipe gave nothing"
    case $name in
    record | flight) "$trk" info read >out 2>err || fail "$name -f: what the pipe gave: $(cat err)" ;;
    *) cmp -s goal read || fail "$name -f: the pipe gave other bytes" ;;
    esac
    rm -f place

    # Devices: one that takes all, one that has no room.
    if [ -n "$full" ]; then
        ends 2 "$name" full
        case $name in
        record | flight) ends 0 "$name" full -f ;; # the command's own
        *) ends 4 "$name" full -f ;;
        esac
        said "No space left"
        [ -c full ] || fail "$name -f: the device is gone"
    fi
    ls -A | grep -e '\.part' -e '^\.trk' && fail "$name: a part of a file is left"
done

# Standard output by its other name is standard output: nothing else comes there, nothing is lost.
for name in assemble recover pack unpack; do
    make "$name" goal -f >out 2>err
    make "$name" /dev/stdout -f 2>err | cat >read
    cmp -s goal read || fail "$name to /dev/stdout: other bytes through a pipe"
    echo before >read
    make "$name" /dev/stdout -f 2>err >>read
    { echo before && cat goal; } | cmp -s - read || fail "$name to /dev/stdout: other bytes in a file"
done
finish
