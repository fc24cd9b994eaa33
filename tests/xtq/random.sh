#!/bin/sh
# A million random puts with checksums, and fewer without shared memory.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

for mpi in $mpis; do
    case $SANITIZER in
    no) must $mpi 4 random_puts 250000 ;;
    *)  must $mpi 3 random_puts 20000 ;;
    esac
    VOCL_SHARE=0 must $mpi 3 random_puts 10000
done
