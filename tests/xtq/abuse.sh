#!/bin/sh
# An initiator that writes anything into its lanes. One MPI is enough: nothing of it is MPI's.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/xtq-lib.sh"
one_at_a_time ranks

[ "$first" = mpich ] || skip "the program is linked with MPICH"
must mpich 3 abuse $(rounds 6)
