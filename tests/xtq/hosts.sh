#!/bin/sh
# Two ranks on two hosts.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks
across "$top_builddir/tests/xtq/tasks"
across "$top_builddir/tests/xtq/reductions"
across "$top_builddir/tests/xtq/random_puts" 10000
across "$top_builddir/tests/xtq/edges"
across "$top_builddir/tests/xtq/device_mpi"
