#!/bin/sh
# Runs tests/soak for a short time.
. "$(dirname "$0")/../lib.sh"
with_own_memory
need python3 python3
[ "${SANITIZER:-no}" = no ] || skip "sanitized programs are too slow to be killed at interesting moments"
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || skip "VOCL was built without its pool"
[ -n "$MPIEXEC_MPICH" ] || skip "needs MPICH"
"$top_srcdir/tests/soak" --seconds $(rounds 10) "$top_builddir" > "$scratch/out" 2>&1 || fail "$(cat "$scratch/out")"
cat "$scratch/out"
