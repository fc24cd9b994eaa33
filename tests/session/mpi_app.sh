#!/bin/sh
# A program that is itself an MPI program, of both MPIs: its own job and its ranks' sessions do not disturb each other.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs

try()
{
    name=$1 mpicc=$2 mpiexec=$3
    [ -n "$mpicc" ] || { echo "built without $name"; return; }
    $mpicc $OPENCL_CFLAGS -DCL_TARGET_OPENCL_VERSION=120 "$top_srcdir/tests/session/mpi_app.c" -o "$scratch/$name" \
        -lOpenCL || fail "mpi_app.c does not build with $name"
    for when in after first; do
        for door in preload icd; do
            result=$($mpiexec -n 2 vocl run --door $door -- "$scratch/$name" $when)
            status=$?
            [ $status -eq 0 ] || fail "$name, $door, OpenCL $when: status $status: $result"
            [ "$result" = "2 ranks: 8590000128" ] || fail "$name, $door, OpenCL $when: $result"
        done
    done
    tried="$tried $name"
}

tried=
try mpich "$MPICC_MPICH" "$MPIEXEC_MPICH"
try openmpi "$MPICC_OPENMPI" "$MPIEXEC_OPENMPI"
[ -n "$tried" ] || skip "no mpicc"
echo "tried$tried"
