#!/bin/sh
# Random operations with checksums on one host, and fewer of them by messages; a million with VOCL_TEST_ROUNDS=10.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
programs=devcom

for mpi in $mpis; do
    case $SANITIZER in
    no) must $mpi 4 random $(rounds 25000) ;;
    *)  must $mpi 3 random $(rounds 10000) ;;
    esac
    VOCL_SHARE=0 must $mpi 3 random $(rounds 2000) staged
    VOCL_SHARE=0 VOCL_DEVCOM_EAGER=100 must $mpi 3 random $(rounds 2000)
done
must $first 3 random $(rounds 2000) staged
