#!/bin/sh
# Every packet between the program and its workers is delayed: messages cross in other orders than on one host. The
# results are the same as natively.
. "$(dirname "$0")/../lib.sh"
need ip iproute2

# far DELAY WORKERS COMMAND...: runs COMMAND with workers at that distance, in microseconds
far()
{
    VOCL_LOG=warn "$top_srcdir/tests/net/two-hosts" --delay "$1" --workers "$2" -- "$3" $4 $5
}
far 1000 1 true 2> "$scratch/err"
[ $? -ne 77 ] || skip "$(cat "$scratch/err")"

# same DELAY WORKERS PROGRAM: prints the same as natively
same()
{
    "$top_builddir/tests/parity/$3" > "$scratch/native" 2> /dev/null
    far "$1" "$2" "$top_builddir/tests/parity/$3" > "$scratch/out" 2> "$scratch/err" ||
        fail "$3, $1 us, $2 workers: status $?: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$3, $1 us, $2 workers: something else is printed"
}
same 1000 1 events
same 1000 1 user_events
same 1000 2 many_devices
same 5000 3 many_copies
for seed in 7 8; do
    far 1000 3 "$top_builddir/tests/session/graph" $seed 500 > "$scratch/out" 2> "$scratch/err" ||
        fail "graph $seed: $(cat "$scratch/out" "$scratch/err")"
done

# A distant link with little bandwidth: not all connections are used, in whatever order data arrive over the others.
VOCL_LOG=info VOCL_NETWORK=tls VOCL_KNOWN_BYTES=0 VOCL_COMPRESS=off "$top_srcdir/tests/net/two-hosts" --delay 50000 --rate 100 -- \
    "$top_builddir/tests/session/uploads" random 24 3 > "$scratch/out" 2> "$scratch/err" ||
    fail "a link of 100 Mbit/s: $(cat "$scratch/out" "$scratch/err")"
grep -q 'of [0-9]* connections for bulk data are used' "$scratch/err" ||
    fail "a link of 100 Mbit/s: all connections are used: $(cat "$scratch/err")"

# MPI is not made for distant hosts: the log says so.
[ -z "$MPIEXEC_MPICH" ] || VOCL_LOG=info VOCL_NETWORK=mpi "$top_srcdir/tests/net/two-hosts" --delay 10000 -- \
    "$top_builddir/tests/parity/events" > "$scratch/out" 2> "$scratch/err" ||
    fail "mpi, far away: $(cat "$scratch/err")"
[ -z "$MPIEXEC_MPICH" ] || grep -q 'a round trip takes [0-9]* us: VOCL_NETWORK=tls' "$scratch/err" ||
    fail "mpi, far away: nothing is said: $(cat "$scratch/err")"
true
