#!/bin/sh
# A daemon starts workers of the largest session that the pool allows: 256 nodes at its start, and the members that may
# join it later. It refuses a number that no member can have.
. "$(dirname "$0")/one-lib.sh"
make_pool here
start_daemon
# answers TEXT NUMBER SIZE
answers()
{
    "$top_builddir/tests/pool/numbers" "$scratch/pool" "$2" "$3" > "$scratch/out" 2>&1
    grep -qx "$1" "$scratch/out" || fail "member $2 of $3: $(cat "$scratch/out" "$scratch/log")"
    [ "$1" != started ] || VOCL_POOL=$scratch/pool await sessions=0 || fail "member $2 stays"
}
answers started 81 82
answers started 256 257 # the last of 256 nodes
answers started 529 530 # the last of 1 + 256 + 1 + 16 + 256 members
answers 'no worker can be started with that' 530 531
answers 'no worker can be started with that' 257 257
answers started 1 2
