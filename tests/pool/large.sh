#!/bin/sh
# A pool of more real daemons (more than 64) than are all connected with each other: each knows all of them, a program
# gets devices of many, and the others learn when one of them gets sessions, is lost, and is back. DAEMONS=200 runs 200
# daemons, PLACES=199 a program with a device of each that is left.
. "$(dirname "$0")/many-lib.sh"
count=${DAEMONS:-66}
make_many "$count" 'policy = "spread";' 'prefork = 0;' 'devices-per-user = 0;' 'devices = ( { match = "*"; sessions = 2; } );'
for node in $NODES; do
    start "$node"
    [ $((node % 4)) != 0 ] || wait_until grep -qs ' serves ' "$scratch/log.$node" || fail "d$node does not start: $(cat "$scratch/log.$node")"
done

all_know nodes="$count"
connections=$(ls -l "/proc/$pid_1/fd" | grep -c socket:)
echo "$count daemons; d1 has $connections sockets, $(awk '/VmRSS/ { print $2 }' "/proc/$pid_1/status") KiB"
[ "$count" -le 64 ] || [ "$connections" -lt "$count" ] || fail "as many as there are daemons"

program=$top_builddir/tests/parity/many_devices
export VOCL_POOL="$scratch/only.$count"
vocl run --count 12 -- "$program" > "$scratch/out" 2> "$scratch/err" || fail "12 devices: $(cat "$scratch/out" "$scratch/err"; grep -hv ' info: \|node d' "$scratch"/log.* | tail -n 40)"
used_by()
{
    [ "$(grep -ls '"program"' "$scratch"/accounting.* | wc -l)" = "$1" ]
}
wait_until used_by 12 || fail "on $(grep -ls '"program"' "$scratch"/accounting.* | wc -l) nodes"
silent=$((count / 2))
eval "kill -9 \$pid_$silent"
all_know "state=d$silent:lost"
vocl run --count ${PLACES:-12} -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "without it: $(cat "$scratch/out" "$scratch/err")"
start $silent
silent=
all_know "state=d$((count / 2)):up"
