#!/bin/sh
# An MPI program that preloads libxtqmpi gives what it gives without, and its reductions and accumulates go through XTQ.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
[ "$SANITIZER" = no ] || skip "mpiexec would be preloaded, too, and the program is not built with the $SANITIZER sanitizer"

# run NUMBER WORD...: of $mpi.
run()
{
    number=$1
    shift
    case $mpi in
    mpich) $MPIEXEC_MPICH -n $number "$@" ;;
    *)     $MPIEXEC_OPENMPI --oversubscribe -n $number "$@" ;;
    esac < /dev/null
}

through()
{
    through_number=$1
    shift
    run $through_number env LD_PRELOAD="$top_builddir/.libs/$library" VOCL_LOG=info "$@" 2> "$scratch/err" ||
        fail "$mpi, $through_number ranks${VOCL_SHARE:+, no memory shared}: $*: $(tail -n 20 "$scratch/err")"
}

same()
{
    run $1 "$scratch/mpi_program" > "$scratch/plain" 2> "$scratch/err" || fail "$mpi alone: $(cat "$scratch/err")"
    through $1 "$scratch/mpi_program" > "$scratch/through"
    diff "$scratch/plain" "$scratch/through" || fail "$mpi, $1 ranks${VOCL_SHARE:+, no memory shared}: not the same"
    grep -q 'xtq: [1-9][0-9]* collectives, [1-9][0-9]* accumulates' "$scratch/err" ||
        fail "$mpi: nothing went through XTQ: $(cat "$scratch/err")"
}

for mpi in $mpis; do
    case $mpi in
    mpich) mpicc=$MPICC_MPICH library=libxtqmpi.so ;;
    *)     mpicc=$MPICC_OPENMPI library=libxtqmpi$xtq_suffix.so ;;
    esac
    for program in mpi_program atomics requests; do
        $mpicc -O1 "$top_srcdir/tests/xtq/$program.c" -o "$scratch/$program" || fail "no $program for $mpi"
    done
    for number in 2 3 5; do
        same $number
    done
    through 2 "$scratch/atomics"
    [ $mpi = mpich ] || through 3 "$scratch/atomics" # MPICH's ranks do not yield the cores that they wait on
    through 2 "$scratch/requests"
    through 3 "$scratch/requests"
    # however small: what XTQ itself asks of MPI is not for XTQ, and small windows are XTQ's, too
    for bytes in 0 8 40; do
        VOCL_XTQ_BYTES=$bytes
        export VOCL_XTQ_BYTES
        same 2
    done
    VOCL_XTQ_BYTES=0
    through 2 "$scratch/atomics"
    unset VOCL_XTQ_BYTES
done
[ -n "$MPIEXEC_MPICH" ] || exit 0
mpi=mpich library=libxtqmpi.so
for program in mpi_program atomics; do
    $MPICC_MPICH -O1 "$top_srcdir/tests/xtq/$program.c" -o "$scratch/$program" || fail "no $program for $mpi"
done
VOCL_SHARE=0
export VOCL_SHARE
same 3
through 2 "$scratch/atomics"
