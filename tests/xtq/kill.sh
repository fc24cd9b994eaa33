#!/bin/sh
# An initiator is killed in the middle of a put, or of another host is heard of no more; the others go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks
survives_kills "$top_builddir/tests/xtq/kill"
# As if each had a host of its own: UCX's memory between processes has one queue for all who send to a rank, which one
# that ends in the middle of a message blocks for the others.
about_silence
VOCL_SHARE=0 UCX_TLS=self,tcp
export VOCL_SHARE UCX_TLS
survives "$top_builddir/tests/xtq/kill" 1000
survives "$top_builddir/tests/xtq/kill" 20000 stop
# half a message has come, and the rest never does
for us in $(few 1 20000 30000 40000); do
    survives "$top_builddir/tests/xtq/kill" $us stop 400000
done
