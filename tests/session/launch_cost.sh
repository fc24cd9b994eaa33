#!/bin/sh
# Measures what a launch with seven arguments, two of them changed, costs: in the program, the instructions of the eight
# calls, which are stable where times are not; and on the way, the bytes sent. Also measures calls that need no node.
. "$(dirname "$0")/../lib.sh"
need valgrind valgrind
case $SANITIZER in
address | thread) skip "instructions are not counted in sanitized builds" ;;
esac

most_bytes=64

# instructions FUNCTIONS PROGRAM...: counts the instructions executed in these functions
instructions()
{
    toggles=
    for function in $1; do
        toggles="$toggles --toggle-collect=$function"
    done
    shift
    vocl run --interpose preload -- valgrind --tool=callgrind --callgrind-out-file="$scratch/callgrind" $toggles \
        "$@" > "$scratch/out" 2> "$scratch/err" || fail "$(cat "$scratch/err")"
    sed -n 's/.*Collected : //p' "$scratch/err" | sort -n | tail -n 1 # that of a child that was forked is 0
}

# cost NAME MOST FUNCTIONS PROGRAM...: computes the cost of one step from runs of 100 and 1,100 steps
cost()
{
    name=$1 most=$2
    shift 2
    few=$(instructions "$@" 100)
    many=$(instructions "$@" 1100)
    each=$(((many - few) / 1000))
    echo "$name: $each instructions"
    [ "$each" -gt 0 ] && [ "$each" -le "$most" ] || fail "$name: $each, more than $most"
}
cost launch 4500 "clSetKernelArg clEnqueueNDRangeKernel" "$top_builddir/tests/session/launches" # 3,224 when this was written
cost "map of shared virtual memory" 1000 "clEnqueueSVMMap clEnqueueSVMUnmap" "$top_builddir/tests/session/little_steps" still_svm
cost "buffer over the program's memory" 9000 "clCreateBuffer clReleaseMemObject" "$top_builddir/tests/session/little_steps" unused
cost "query of a device" 300 clGetDeviceInfo "$top_builddir/tests/session/little_steps" ask

VOCL_LOG=info vocl run -- "$top_builddir/tests/session/launches" 10000 2> "$scratch/err" || fail "$(cat "$scratch/err")"
bytes=$(sed -n 's/.*worker 1: \([0-9]*\) bytes sent.*/\1/p' "$scratch/err")
echo "$((bytes / 10000)) bytes a launch"
[ "$bytes" -gt 0 ] && [ $((bytes / 10000)) -le $most_bytes ] || fail "more than $most_bytes"
