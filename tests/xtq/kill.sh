#!/bin/sh
# An initiator is killed in the middle of a put; the others go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks
survives_kills "$top_builddir/tests/xtq/kill"
