#!/bin/sh
# MPI on device memory gives the same as on host memory, with shared memory and without, with both MPIs.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

must $first 2 device_mpi
must $second 3 device_mpi
must $first 1 device_collectives
must $first 2 device_collectives
must $second 3 device_collectives
for mpi in $mpis; do
    # without shared memory, and with all reductions and accumulates through XTQ, however small
    export VOCL_SHARE=0 VOCL_XTQ_BYTES=0 VOCL_XTQ_WINDOW_BYTES=0
    must $mpi 2 device_mpi
    unset VOCL_SHARE VOCL_XTQ_BYTES VOCL_XTQ_WINDOW_BYTES
done
