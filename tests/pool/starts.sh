#!/bin/sh
# Many sessions start at once, while children of the daemon are being forked, which have all its descriptors: each
# session starts, for the daemon takes none of them for another's.
. "$(dirname "$0")/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 50; } );' 'sessions-per-user = 0;'
start_at="env LD_PRELOAD=$top_builddir/tests/pool/.libs/slow_fork.so"
start_daemon
export VOCL_POOL="$scratch/pool"

vocl run -- "$top_builddir/tests/parity/vector_add" > "$scratch/expected" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
for number in $(seq 24); do
    vocl run --wait 60 -- "$top_builddir/tests/parity/vector_add" > "$scratch/out.$number" 2> "$scratch/err.$number" &
    programs="$programs $!"
done
for program in $programs; do
    wait "$program" || fail "a program: $(cat "$scratch"/err.*)"
done
for number in $(seq 24); do
    cmp "$scratch/expected" "$scratch/out.$number" || fail "program $number has another result"
done
await sessions=0
exit 0
