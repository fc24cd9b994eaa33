#!/bin/sh
# Memory that a session gets holds nothing of anybody's. The CPU stands for a device with memory of its own.
. "$(dirname "$0")/../lib.sh"
stale=$top_builddir/tests/security/stale

VOCL_SHARE=0 VOCL_WORKER_SCRUB=all vocl run -- "$stale" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
grep -qx '0 bytes were not 0' "$scratch/out" || fail "scrubbed: $(cat "$scratch/out")"
VOCL_SHARE=0 VOCL_WORKER_SCRUB=none vocl run -- "$stale" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
grep -qx '0 bytes were not 0' "$scratch/out" && fail "the test finds nothing without scrubbing either"
exit 0
