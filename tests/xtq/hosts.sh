#!/bin/sh
# Two ranks on two hosts: network namespaces, TCP only.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
need ip iproute2
[ -n "$MPIEXEC_MPICH" ] || skip "tests/net/two-hosts needs MPICH"

across()
{
    "$top_srcdir/tests/net/two-hosts" --mpi -- "$@" > "$scratch/out" 2>&1
    status=$?
    [ $status -ne 77 ] || skip "$(cat "$scratch/out")"
    [ $status -eq 0 ] || fail "$*: status $status: $(tail -n 20 "$scratch/out")"
}
# ranks of two namespaces see one shared memory all the same, so they are told not to use it
VOCL_SHARE=0
export VOCL_SHARE
across "$top_builddir/tests/xtq/tasks"
across "$top_builddir/tests/xtq/reductions"
across "$top_builddir/tests/xtq/random_puts" 10000
across "$top_builddir/tests/xtq/edges"
across "$top_builddir/tests/xtq/device_mpi"
