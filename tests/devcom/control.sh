#!/bin/sh
# Control programs, with shared memory and by messages, and when a rank dies while they run.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
programs=devcom

must $first 1 control
must $first 3 control
for mpi in $mpis; do
    must $mpi 2 control
    VOCL_SHARE=0 must $mpi 2 control
done

# MPICH lets the survivors run if the process that Hydra sees end is a shell (kill.sh)
[ -n "$MPIEXEC_MPICH" ] || exit 0
lost()
{
    $MPIEXEC_MPICH -disable-auto-cleanup -n 3 sh -c "trap '' USR1 TERM
        timeout -s KILL 300 '$top_builddir/tests/devcom/control' $1
        exit 0" > "$scratch/out" 2>&1 < /dev/null
    grep -q 'rank 0 survives' "$scratch/out" && grep -q 'rank 1 survives' "$scratch/out" ||
        { cat "$scratch/out"; fail "a rank is lost: $1"; }
}
lost now
lost late
