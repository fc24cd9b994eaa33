#!/bin/sh
# An initiator is killed in the middle of a put; the others go on. With MPICH, which leaves them alone: Open MPI ends the
# whole job.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
[ -n "$MPIEXEC_MPICH" ] || skip "needs MPICH, as Open MPI kills the others"

for us in 50 300 1000 5000 20000 70000; do
    RANKS_OPTIONS=-disable-auto-cleanup ranks mpich 3 kill $us "$scratch/said.$us"
    grep -q survives "$scratch/said.$us.0" && grep -q survives "$scratch/said.$us.1" ||
        { cat "$scratch/out"; fail "killed after $us us"; }
done
