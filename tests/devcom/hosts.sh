#!/bin/sh
# Two ranks on two hosts: network namespaces, TCP only.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
need ip iproute2
[ -n "$MPIEXEC_MPICH" ] || skip "tests/net/two-hosts needs MPICH"
need_whole_mpi

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
across "$top_builddir/tests/devcom/basics" messages
across "$top_builddir/tests/devcom/chains" messages
across "$top_builddir/tests/devcom/devices"
across "$top_builddir/tests/devcom/random" 10000 staged

# the link goes down for a moment, and for longer than they bear
VOCL_PEER_TIMEOUT=3
export VOCL_PEER_TIMEOUT
down='ip link set near down' up='ip link set near up'
across "$top_builddir/tests/devcom/link" 1000 "$down" "$up"
across "$top_builddir/tests/devcom/link" 0 "$down" "$up" lost
grep -q 'rank 0 survives' "$scratch/out" && grep -q 'rank 1 survives' "$scratch/out" || fail "$(cat "$scratch/out")"
