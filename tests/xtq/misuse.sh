#!/bin/sh
# tests/xtq/misuse: the errors of calls.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

for mpi in $mpis; do
    must $mpi 1 misuse
done
VOCL_SHARE=0 must $first 2 misuse
