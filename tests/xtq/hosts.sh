#!/bin/sh
# Two ranks on two hosts.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks
across "$top_builddir/tests/xtq/tasks"
across "$top_builddir/tests/xtq/reductions"
across "$top_builddir/tests/xtq/random_puts" $(rounds 3000)
across "$top_builddir/tests/xtq/edges" $(rounds 2)
across "$top_builddir/tests/xtq/device_mpi"
