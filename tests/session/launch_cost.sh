#!/bin/sh
# What a launch with seven arguments, two of them changed, costs in the program: instructions of the eight calls, which
# are stable where times are not. And what it costs on the way: bytes.
. "$(dirname "$0")/../lib.sh"
need valgrind valgrind
case $SANITIZER in
address | thread) skip "instructions are not counted in sanitized builds" ;;
esac

most_instructions=4500 # 3,224 when this was written
most_bytes=64

# instructions LAUNCHES
instructions()
{
    vocl run --door preload -- valgrind --tool=callgrind --callgrind-out-file="$scratch/callgrind" \
        --toggle-collect=clSetKernelArg --toggle-collect=clEnqueueNDRangeKernel \
        "$top_builddir/tests/session/launches" "$1" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
    sed -n 's/.*Collected : //p' "$scratch/err" | sort -n | tail -n 1 # that of a child that was forked is 0
}
few=$(instructions 100)
many=$(instructions 1100)
each=$(((many - few) / 1000))
echo "$each instructions a launch"
[ "$each" -gt 0 ] && [ "$each" -le $most_instructions ] || fail "more than $most_instructions"

VOCL_LOG=info vocl run -- "$top_builddir/tests/session/launches" 10000 2> "$scratch/err" || fail "$(cat "$scratch/err")"
bytes=$(sed -n 's/.*worker 1: \([0-9]*\) bytes sent.*/\1/p' "$scratch/err")
echo "$((bytes / 10000)) bytes a launch"
[ "$bytes" -gt 0 ] && [ $((bytes / 10000)) -le $most_bytes ] || fail "more than $most_bytes"
