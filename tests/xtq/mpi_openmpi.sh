#!/bin/sh
# libxtqmpi with Open MPI: see mpi-lib.sh.
. "$(dirname "$0")/mpi-lib.sh"
one_at_a_time ranks
[ -n "$MPIEXEC_OPENMPI" ] || skip "no Open MPI"
[ "$SANITIZER" != thread ] || skip "Open MPI does not bear the thread sanitizer"
mpi=openmpi mpicc=$MPICC_OPENMPI library=libxtqmpi$xtq_suffix.so

try_all 3 5
atomics 3
through 3 "$scratch/requests"
