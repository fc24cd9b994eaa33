#!/bin/sh
# An MPI program that preloads libxtqmpi gives what it gives without, and its reductions and accumulates go through XTQ.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
[ "$SANITIZER" = no ] || skip "mpiexec would be preloaded, too, and the program is not built with the $SANITIZER sanitizer"

try()
{
    mpi=$1 mpicc=$2 number=$3 library=$4
    $mpicc -O1 "$top_srcdir/tests/xtq/mpi_program.c" -o "$scratch/$mpi" || fail "no program for $mpi"
    case $mpi in
    mpich) set -- $MPIEXEC_MPICH -n $number ;;
    *)     set -- $MPIEXEC_OPENMPI --oversubscribe -n $number ;;
    esac
    "$@" "$scratch/$mpi" > "$scratch/plain" 2> "$scratch/err" < /dev/null || fail "$mpi alone: $(cat "$scratch/err")"
    "$@" env LD_PRELOAD="$top_builddir/.libs/$library" VOCL_LOG=info "$scratch/$mpi" > "$scratch/through" \
        2> "$scratch/err" < /dev/null || fail "$mpi, $number ranks: $(tail -n 20 "$scratch/err")"
    diff "$scratch/plain" "$scratch/through" || fail "$mpi, $number ranks${VOCL_SHARE:+, no memory shared}: not the same"
    grep -q "$told" "$scratch/err" || fail "$mpi: not \"$told\": $(cat "$scratch/err")"
}

told='xtq: [1-9][0-9]* collectives, [1-9][0-9]* accumulates'
for number in 2 3 5; do
    [ -z "$MPIEXEC_MPICH" ] || try mpich "$MPICC_MPICH" $number libxtqmpi.so
    [ -z "$MPIEXEC_OPENMPI" ] || try openmpi "$MPICC_OPENMPI" $number "libxtqmpi$xtq_suffix.so"
done
# however small: what XTQ itself asks of MPI is not for XTQ
for bytes in 0 8 40; do
    VOCL_XTQ_BYTES=$bytes
    export VOCL_XTQ_BYTES
    [ -z "$MPIEXEC_MPICH" ] || try mpich "$MPICC_MPICH" 2 libxtqmpi.so
    [ -z "$MPIEXEC_OPENMPI" ] || try openmpi "$MPICC_OPENMPI" 2 "libxtqmpi$xtq_suffix.so"
done
unset VOCL_XTQ_BYTES
# what is left to MPI: windows, then collectives
export VOCL_XTQ_WINDOW_BYTES=1G
told='xtq: [1-9][0-9]* collectives, 0 accumulates'
[ -z "$MPIEXEC_MPICH" ] || try mpich "$MPICC_MPICH" 2 libxtqmpi.so
unset VOCL_XTQ_WINDOW_BYTES
export VOCL_XTQ_BYTES=1G
told='xtq: 0 collectives, [1-9][0-9]* accumulates'
[ -z "$MPIEXEC_MPICH" ] || try mpich "$MPICC_MPICH" 2 libxtqmpi.so
unset VOCL_XTQ_BYTES
told='xtq: [1-9][0-9]* collectives, [1-9][0-9]* accumulates'
VOCL_SHARE=0
export VOCL_SHARE
[ -z "$MPIEXEC_MPICH" ] || try mpich "$MPICC_MPICH" 3 libxtqmpi.so
