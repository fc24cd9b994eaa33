#!/bin/sh
# An initiator writes arbitrary bytes into its rings. One MPI suffices: MPI takes no part in this.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

[ "$first" = mpich ] || skip "the program is linked with MPICH"
must mpich 3 abuse $(rounds 6)
