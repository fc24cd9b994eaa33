#!/bin/sh
# libxtqmpi with MPICH: see mpi-lib.sh.
. "$(dirname "$0")/mpi-lib.sh"
one_at_a_time ranks
[ -n "$MPIEXEC_MPICH" ] || skip "no MPICH"
mpi=mpich mpicc=$MPICC_MPICH library=libxtqmpi.so

try_all 2 3 few
# operations left to MPI: in windows, then reductions, then the smallest of both
export VOCL_XTQ_WINDOW_BYTES=1G
told='xtq: [1-9][0-9]* collectives, 0 accumulates'
same 2 few
unset VOCL_XTQ_WINDOW_BYTES
export VOCL_XTQ_BYTES=1G
told='xtq: 0 collectives, [1-9][0-9]* accumulates'
same 2 few
told='xtq: [1-9][0-9]* collectives, [1-9][0-9]* accumulates'
export VOCL_XTQ_BYTES=40 VOCL_XTQ_WINDOW_BYTES=0
same 2 few
unset VOCL_XTQ_BYTES VOCL_XTQ_WINDOW_BYTES
export VOCL_SHARE=0
same 2 few
atomics 2
