#!/bin/sh
# Large transfers that do not block are not sent either where program and worker share memory.
. "$(dirname "$0")/../lib.sh"

moved()
{
    VOCL_LOG=info vocl run "$@" -- "$top_builddir/tests/parity/large_moves" > "$scratch/out" 2> "$scratch/err" ||
        fail "status $?: $(cat "$scratch/out" "$scratch/err")"
    sed -n 's/.*worker 1: \([0-9]*\) bytes sent, \([0-9]*\) received.*/\1 + \2/p' "$scratch/err"
}
bytes=$(($(moved)))
echo "$bytes bytes"
[ "$bytes" -gt 0 ] && [ "$bytes" -lt 1000000 ] || fail "$bytes bytes were sent"
