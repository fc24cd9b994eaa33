#!/bin/sh
# A rank is killed in the middle of its puts; the others go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
survives_kills "$top_builddir/tests/devcom/kill"
# as if each had a host of its own: no reads of other processes' memory, by which UCX ends itself if they are dead
VOCL_SHARE=0 VOCL_PEER_TIMEOUT=2 UCX_RNDV_THRESH=1m
export VOCL_SHARE VOCL_PEER_TIMEOUT UCX_RNDV_THRESH
survives "$top_builddir/tests/devcom/kill" 1000
survives "$top_builddir/tests/devcom/kill" 20000 stop
