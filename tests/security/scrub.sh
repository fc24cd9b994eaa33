#!/bin/sh
# A session's new memory has no data of other sessions. The CPU stands in for a device with its own memory.
. "$(dirname "$0")/../lib.sh"
stale=$top_builddir/tests/security/stale

VOCL_SHARE=0 VOCL_WORKER_SCRUB=all vocl run -- "$stale" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
grep -qx '0 bytes were not 0' "$scratch/out" || fail "scrubbed: $(cat "$scratch/out")"
VOCL_SHARE=0 VOCL_WORKER_SCRUB=none vocl run -- "$stale" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
grep -qx '0 bytes were not 0' "$scratch/out" && fail "the test finds nothing without scrubbing either"
exit 0
