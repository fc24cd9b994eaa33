#!/bin/sh
# tests/xtq/edges: tasks that put while ranks are in a barrier, the end of a registration, sizes that no packet can
# hold, and kernels without a payload, also on a device that cannot use its process's addresses: one of VOCL's.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

must $first 1 edges $(rounds 2)
must $first 2 edges $(rounds 2)
must $first 4 edges $(rounds 4) # each rank begins
for mpi in $mpis; do
    VOCL_SHARE=0 must $mpi 2 edges $(rounds 2)
done
[ "$SANITIZER" = no ] && [ -n "$MPIEXEC_MPICH" ] || exit 0
$MPIEXEC_MPICH -n 2 vocl run --interpose icd -- "$top_builddir/tests/xtq/edges" kernels > "$scratch/out" 2>&1 < /dev/null ||
    fail "kernels on a device of VOCL's: $(cat "$scratch/out")"
