#!/bin/sh
# A million random operations with checksums on one host, and fewer by messages.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
programs=devcom

for mpi in $mpis; do
    case $SANITIZER in
    no) must $mpi 4 random 250000 ;;
    *)  must $mpi 3 random 20000 ;;
    esac
    must $mpi 3 random 5000 staged
    VOCL_SHARE=0 must $mpi 3 random 10000 staged
    VOCL_SHARE=0 VOCL_DEVCOM_EAGER=100 must $mpi 3 random 10000
done
