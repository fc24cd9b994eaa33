#!/bin/sh
# Runs tests/soak --restarts for a short time: daemons are restarted all the time, half of them killed, and no program,
# hold, place in the queue or account is lost.
. "$(dirname "$0")/../lib.sh"
need python3 python3
[ "${SANITIZER:-no}" = no ] || skip "sanitized programs are too slow to be restarted at interesting moments"
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || skip "VOCL was built without its pool"
"$top_srcdir/tests/soak" --restarts --seconds $(rounds 10) "$top_builddir" > "$scratch/out" 2>&1 || fail "$(cat "$scratch/out")"
cat "$scratch/out"
