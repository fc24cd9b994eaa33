#!/bin/sh
# Pages for contents that are about to arrive are populated before.
. "$(dirname "$0")/../lib.sh"

status=0
timeout 200 "$top_builddir/tests/wire/pages" > "$scratch/out" 2>&1 || status=$?
! grep -E 'ERROR: .*Sanitizer|WARNING: .*Sanitizer|runtime error' "$scratch/out" || fail "$(cat "$scratch/out")"
[ $status != 77 ] || skip "$(cat "$scratch/out")"
[ $status = 0 ] || fail "status $status: $(cat "$scratch/out")"
cat "$scratch/out"
