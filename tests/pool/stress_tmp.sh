#!/bin/sh
. "$(dirname "$0")/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 8; } );'
export VOCL_POOL="$scratch/pool"
start_daemon
for i in $(seq 60); do
    for j in 1 2 3; do
    timeout 30 vocl run --wait 60 -- "$top_builddir/tests/parity/vector_add" > "$scratch/o$j" 2> "$scratch/err$j" || { echo "$i.$j failed $?"; cat "$scratch/err$j" "$scratch/log" | tail -20; vocl pool --json status; } &
    [ $j = 1 ] && p1=$!; [ $j = 2 ] && p2=$!; [ $j = 3 ] && p3=$!
    done
    wait $p1 $p2 $p3
done
exit 0
