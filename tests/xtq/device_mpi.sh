#!/bin/sh
# MPI on device memory: the same as on the host's, near and far, with both MPIs.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

for mpi in $mpis; do
    must $mpi 2 device_mpi
    must $mpi 3 device_mpi
    for number in 1 2 3; do
        must $mpi $number device_collectives
    done
    # far from each other, and all reductions and accumulates by XTQ, however small
    export VOCL_SHARE=0 VOCL_XTQ_BYTES=0 VOCL_XTQ_WINDOW_BYTES=0
    must $mpi 2 device_mpi
    unset VOCL_SHARE VOCL_XTQ_BYTES VOCL_XTQ_WINDOW_BYTES
done
