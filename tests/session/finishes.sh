#!/bin/sh
# clFinish waits for a read's data, which take a second to arrive from another host, although a move that was tried
# meanwhile has asked the worker how far the queue is.
. "$(dirname "$0")/../lib.sh"
need ip iproute2
mark=VOCL_TEST_MARK=$$
two=$top_srcdir/tests/net/two-hosts
[ "$(status_of "$two" --rate 24 -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"
env "$mark" VOCL_SPARE=1 VOCL_MOVE_EVERY=100 VOCL_COMPRESS=off VOCL_LOG=info "$two" --rate 24 --workers 2 -- \
    "$top_builddir/tests/session/finishes" > "$scratch/out" 2> "$scratch/err" || fail "status $?: $(cat "$scratch/out"; tail -n 5 "$scratch/err")"
grep -q 'stays where it is: .*user event' "$scratch/err" || fail "no move was tried: $(tail -n 20 "$scratch/err")"
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
exit 0
