#!/bin/sh
# Puts of all kinds, and reductions, with 1 to 8 ranks: with shared memory, and as if each rank had its own host.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

# The examples, with one MPI.
cd "$top_builddir/examples" || exit 99
example()
{
    expected=$1 number=$2
    shift 2
    case $first in
    mpich) set -- $MPIEXEC_MPICH -n $number "$@" ;;
    *)     set -- $MPIEXEC_OPENMPI --oversubscribe -n $number "$@" ;;
    esac
    "$@" > "$scratch/out" 2>&1 < /dev/null || fail "$*: $(cat "$scratch/out")"
    grep -q "$expected" "$scratch/out" || fail "$*: $(cat "$scratch/out")"
}
example 'out\[1023\] = 1024' 2 ./xtq_put
for number in 1 3; do
    example 'sum of the leaves: 1572352' $number ./xtq_graph
    example 'step 400: loss [0-9.]*e-1[0-9]' $number ./xtq_sgd
done
example 'step 400: loss [0-9.]*e-1[0-9]' 2 ./xtq_sgd device

for number in 1 3; do
    must $first $number tasks
    must $first $number reductions
done
must $second 8 tasks
must $second 8 reductions
# with the persistent kernel, which needs cores
must $first 2 reductions 1
must $first 1 reductions 2
must $first 2 tasks
VOCL_SHARE=0 must $second 4 tasks
VOCL_SHARE=0 must $second 4 reductions
[ $second = $first ] || VOCL_SHARE=0 must $first 2 tasks
[ $second = $first ] || VOCL_SHARE=0 must $first 2 reductions
