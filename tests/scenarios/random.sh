#!/bin/sh
# Goal: no random scenario raises a false alarm, whatever the schedule.
# Method: random.sh TRK STEPS runs programs from TRK_SEED (1) on, so many steps in all, shared out to
# the kinds of schedules; in order, a step is a whole thread, so a few programs do. What fails is printed with the command that shows it again.
set -u
trk=$1
steps=$2
seed=${TRK_SEED:-1}
# What a user has set is not asked.
for name in $(env | sed -n 's/^\(TRK_[A-Z_]*\)=.*/\1/p'); do
    unset "$name"
done
failures=0
fuzz()
{
    "$trk" fuzz --seed "$seed" "$@" || failures=$((failures + 1))
}
fuzz --schedule random --steps $((steps * 30 / 100))
fuzz --schedule walk --steps $((steps * 20 / 100))
fuzz --schedule pct --steps $((steps * 30 / 100))
fuzz --schedule explore --schedules 2000 --steps $((steps * 20 / 100))
fuzz --schedule in-order --runs $((steps / 10000 + 1))
exit $((failures > 0))
