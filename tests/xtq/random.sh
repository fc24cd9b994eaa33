#!/bin/sh
# Random puts with checksums, fewer of them without shared memory; a million with VOCL_TEST_ROUNDS=10.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

for mpi in $mpis; do
    case $SANITIZER in
    no) must $mpi 4 random_puts $(rounds 25000) ;;
    *)  must $mpi 3 random_puts $(rounds 10000) ;;
    esac
    VOCL_SHARE=0 must $mpi 3 random_puts $(rounds 3000)
done
