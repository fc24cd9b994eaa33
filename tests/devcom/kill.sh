#!/bin/sh
# A rank is killed in the middle of its puts; the others go on.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
survives_kills "$top_builddir/tests/devcom/kill"
