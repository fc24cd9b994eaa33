#!/bin/sh
# A rank is killed in the middle of its puts; the others go on. With MPICH, which leaves them alone: Open MPI ends the
# whole job.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
[ -n "$MPIEXEC_MPICH" ] || skip "needs MPICH, as Open MPI kills the others"

# died MICROSECONDS [stop]
died()
{
    # Hydra sees a shell end, and nothing wrong, and its signals go to the shells: else it kills the others.
    $MPIEXEC_MPICH -disable-auto-cleanup -n 3 sh -c "trap '' USR1 TERM
        timeout -s KILL 60 '$top_builddir/tests/devcom/kill' $*
        exit 0" > "$scratch/out" 2>&1 < /dev/null
    grep -q 'rank 0 survives' "$scratch/out" && grep -q 'rank 1 survives' "$scratch/out" ||
        { cat "$scratch/out"; fail "killed after $*${VOCL_SHARE:+, no memory shared}"; }
}

for us in 50 300 1000 5000 20000 70000; do
    died $us
done
# as if each had a host of its own
VOCL_SHARE=0 VOCL_PEER_TIMEOUT=2
export VOCL_SHARE VOCL_PEER_TIMEOUT
died 1000
died 20000 stop
