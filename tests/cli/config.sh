# Goal: an option's value comes from the command line, else the environment, else the settings file,
# else the default; a setting that cannot be meant ends the run; the trace says where each came from.
# Method: one option under all combinations, read back from the header; files with one fault each.
. "$(dirname "$0")/lib.sh"

# from WANT_VALUE WANT_FROM [VARIABLE=VALUE [ARGUMENT...]]
from() {
    value=$1
    origin=$2
    setting=${3:-A=0}
    shift 2
    [ $# -eq 0 ] || shift
    run_with "$setting" 0 record -f -o x.trk "$@" -- true
    run 0 info --json x.trk
    same "value ($setting $*)" "$(get header.options.ring.value)" "$value"
    same "from ($setting $*)" "$(get header.options.ring.from)" "$origin"
}

from 4M default
from 8K environment TRK_RING=8K
from 16K environment TRK_RECORD_RING=16K
from 32K "command line" TRK_RECORD_RING=16K --ring 32K
mkdir -p .config/trk
printf '# rings\nring = 64K\n' >.config/trk/config
from 64K file
printf 'ring = 64K\n[record]\n  ring=128K  \n[sim]\njson = 1\n' >.config/trk/config
from 128K file
from 8K environment TRK_RING=8K
from 32K "command line" TRK_RING=8K --ring 32K
mkdir -p xdg/trk
printf '[record]\nring = 256K\n' >xdg/trk/config
from 256K file XDG_CONFIG_HOME="$dir/xdg"
printf '[record]\nring = 512K\n' >own
from 512K file TRK_CONFIG=own
run_with TRK_CONFIG=own 0 info --json x.trk
same "capture of the file's ring" "$(get header.capture.ring_records)" 16384

# What goes with --flight may be set for recordings that are none; asked for, it is refused.
printf '[record]\ncooldown = 5\nstates = off\n' >own
run_with TRK_CONFIG=own 0 record -f -o x.trk -- true
run_with TRK_BEFORE=5 0 record -f -o x.trk -- true
run_with TRK_CONFIG=own 2 record -f -o x.trk --after 5 -- true
said "with --flight only"
run_with TRK_CONFIG=own 0 record -f -o y.trk --flight 1M --trigger exit -- true
run 0 info --json y.trk
same "a setting for flight recordings" "$(get header.options.cooldown.from)" file
rm y.trk

# A command's own variable comes before every command's.
TRK_RING=8K
export TRK_RING
from 16K environment TRK_RECORD_RING=16K
unset TRK_RING

# Flags come from files, too.
printf '[info]\njson = 1\n' >own
run_with TRK_CONFIG=own 0 info x.trk
json

# What cannot be meant, with its line.
while IFS='|' read -r text message; do
    printf "$text" >own
    run_with TRK_CONFIG=own 2 record -f -o y.trk -- true
    said "$message"
    [ ! -e y.trk ] || fail "a trace in spite of '$text'"
done <<'CASES'
ring\n|own:1: expected name = value
\nring = soon\n|own:2: ring: 'soon'
ring = 1\n|own:1: ring: 1 is not within
rinq = 4K\n|own:1: no option rinq
[recrod]\nring = 4K\n|own:2: no option ring of recrod
[sim]\nring = 4K\n|own:2: no option ring of sim
[record\nring = 4K\n|own:1: expected \[COMMAND\]
ring =\n|own:1: a name or a value is empty
help = 1\n|own:1: no option help
[record]\njson = yes\n|own:2: json=yes: expected 0 or 1
CASES
run_with TRK_CONFIG=absent 2 record -f -o y.trk -- true
said "absent"
mkfifo fifo
run_with TRK_CONFIG=fifo 2 info x.trk
said "settings fifo: not a file"
run_with TRK_CONFIG=. 2 info x.trk
run_with TRK_CONFIG=/dev/zero 2 info x.trk
run_with TRK_CONFIG=/dev/null 0 info x.trk
run_with TRK_RECORD_RING=soon 2 record -f -o y.trk -- true
said "TRK_RECORD_RING: 'soon'"
# A bad setting is overruled by the command line, and does not keep anybody from help.
printf 'ring = soon\n' >own
run_with TRK_CONFIG=own 0 record --ring 4K -f -o x.trk -- true
printf 'nonsense\n' >own
run_with TRK_CONFIG=own 0 help record
run_with TRK_CONFIG=own 0 version
finish
