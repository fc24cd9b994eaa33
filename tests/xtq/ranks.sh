#!/bin/sh
# Puts of all kinds, and reductions, among 1 to 8 ranks: with shared memory, and as if each rank had a host of its own.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"

for mpi in $mpis; do
    for number in 1 2 3 5 8; do
        must $mpi $number tasks
        must $mpi $number reductions
    done
    # the persistent kernel's, which wants cores
    must $mpi 2 reductions 1
    must $mpi 1 reductions 2
    for number in 2 4; do
        VOCL_SHARE=0 must $mpi $number tasks
        VOCL_SHARE=0 must $mpi $number reductions
    done
done
