# Goal: trk emu-test compares every instruction of the list in all ways, says what the machine has,
# and repeats itself by its seed.
# Method: 10,000 operand sets an instruction, the machine-readable result counted; the options that
# must be refused; and signals sent while it runs.
. "$(dirname "$0")/lib.sh"

run 0 emu-test --cases 10000 --json
quiet
json
same schema "$(get schema)" trk-emu-test/1
same differences "$(get differences)" 0
names='sha1nexte sha1msg1 sha1msg2 sha1rnds4 sha256rnds2 sha256msg1 sha256msg2 extrq-imm extrq
    insertq-imm insertq monitorx mwaitx rdpid clwb'
i=0
for name in $names; do
    same "instruction $i" "$(get "instructions.$i.name")" "$name"
    same "$name, cases" "$(get "instructions.$i.cases")" 10000
    same "$name, by signal" "$(get "instructions.$i.by_handler")" 10000
    if [ "$(get "instructions.$i.processor")" = true ]; then
        same "$name, by the processor" "$(get "instructions.$i.by_processor")" 10000
    else
        echo "not on this machine, compared with the second implementation only: $name"
        same "$name, by the processor" "$(get "instructions.$i.by_processor")" 0
    fi
    i=$((i + 1))
done
# Operands in memory, and such as cannot be read.
at_least 'sha1nexte, memory' "$(get instructions.0.memory)" 4000
at_least 'sha1nexte, faults' "$(get instructions.0.faults)" 300
at_least 'clwb, memory' "$(get instructions.14.memory)" 10000

run 0 emu-test --cases 50 --seed 7
cp out first
run 0 emu-test --cases 50 --seed 7
cmp -s first out || fail 'the same seed gave another text'

# A signal that somebody sends is no end of an instruction: it ends the program.
ulimit -c 0
for code in 139 135 132 139 135 132; do
    "$trk" emu-test --cases 100000000 >out 2>err &
    program=$!
    sleep 0.2
    kill "-$((code - 128))" "$program"
    wait "$program" 2>/dev/null
    same "exit code of one that is sent signal $((code - 128))" $? "$code"
done

run 2 emu-test --cases 0
said 'not within'
run 2 emu-test operand
said 'too many'
finish
