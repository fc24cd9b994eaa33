#!/bin/sh
# The program closes every descriptor that it does not know, also while the session waits for something: tests/parity/descriptors
# closes them before and after its parity_rich(), where these verbs are applied. Nothing of the session is lost, and
# none of the program's own descriptors is closed.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/verbs-lib.sh"
prepare "$top_builddir/tests/parity/descriptors"

# The spare worker has not been spoken to when the descriptors are closed, and the new worker's get their numbers.
verbs --spare=1 -- here spare
mkdir "$scratch/store"
verbs VOCL_SHARE=0 VOCL_SUSPEND_DIR="$scratch/store" -- doze
