#!/bin/sh
# The program is itself an MPI program, with each of the two MPIs: its own job and the sessions of its ranks do not
# disturb each other.
. "$(dirname "$0")/../lib.sh"
need_whole_mpi

run_ranks()
{
    first=$1
    shift
    result=$($mpiexec -n 2 vocl run "$@" -- "$scratch/$name" $first)
    status=$?
    [ $status -eq 0 ] || fail "$name, $*, OpenCL $first: status $status: $result"
    [ "$result" = "2 ranks: 8590000128" ] || fail "$name, $*, OpenCL $first: $result"
}

try()
{
    name=$1 mpicc=$2 mpiexec=$3
    [ -n "$mpicc" ] || { echo "built without $name"; return; }
    $mpicc $OPENCL_CFLAGS -DCL_TARGET_OPENCL_VERSION=120 "$top_srcdir/tests/session/mpi_app.c" -o "$scratch/$name" \
        -lOpenCL || fail "mpi_app.c does not build with $name"
    for when in after first; do
        for method in preload icd; do
            run_ranks $when --interpose $method
        done
    done
    # a session over the same MPI, or over the other one if that is impossible
    run_ranks after --mpi $name
    tried="$tried $name"
}

tried=
try mpich "$MPICC_MPICH" "$MPIEXEC_MPICH"
try openmpi "$MPICC_OPENMPI" "$MPIEXEC_OPENMPI"
[ -n "$tried" ] || skip "no mpicc"
echo "tried$tried"
