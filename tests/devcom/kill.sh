#!/bin/sh
# A rank is killed in the middle of its puts; the others go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
survives_kills "$top_builddir/tests/devcom/kill"
# As if each had a host of its own: UCX's memory between processes has one queue for all who send to a rank, which one
# that ends in the middle of a message blocks for the others.
about_silence
VOCL_SHARE=0 UCX_TLS=self,tcp
export VOCL_SHARE UCX_TLS
survives "$top_builddir/tests/devcom/kill" 1000
survives "$top_builddir/tests/devcom/kill" 20000 stop
# half a message has come, and the rest never does: sometimes one that MPI had matched already
VOCL_DEVCOM_EAGER=64K
export VOCL_DEVCOM_EAGER
for us in $(few 1 20000 30000 40000); do
    survives "$top_builddir/tests/devcom/kill" $us stop 65536 8
done
