#!/bin/sh
# An initiator is killed in the middle of a put, or, on another host, goes silent; the others continue.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks
survives_kills "$top_builddir/tests/xtq/kill"
# As if each rank had its own host: UCX's shared memory has one queue for all senders to a rank, which a sender that
# ends in the middle of a message blocks for the others.
about_silence
VOCL_SHARE=0 UCX_TLS=self,tcp
export VOCL_SHARE UCX_TLS
survives "$top_builddir/tests/xtq/kill" 1000
survives "$top_builddir/tests/xtq/kill" 20000 stop
# half a message has arrived, and the rest never does
for us in $(few 1 20000 30000 40000); do
    survives "$top_builddir/tests/xtq/kill" $us stop 400000
done
