#!/bin/sh
# One context over several workers: the same results as on one device natively, however many workers there are; data
# travel from worker to worker.
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
for name in many_devices many_copies events_over host_pointer_devices native_kernel one_device; do
    program=$top_builddir/tests/parity/$name
    "$program" > "$scratch/native" 2> /dev/null || fail "$name natively"
    for workers in $(few 2 2 8 4); do # four by pairs, below
        env "$mark" vocl run --workers $workers -- "$program" > "$scratch/out" 2> "$scratch/err" ||
            fail "$name, $workers workers: status $?: $(cat "$scratch/out" "$scratch/err")"
        diff "$scratch/native" "$scratch/out" || fail "$name, $workers workers: something else is printed"
        wait_until none_left "$mark" || fail "left after $workers workers: $(session_processes "$mark")"
    done
    VOCL_NETWORK=pairs vocl run --workers 4 -- "$program" > "$scratch/out" 2> "$scratch/err" ||
        fail "$name, by pairs: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$name, by pairs: something else is printed"
    if [ $name = host_pointer_devices ]; then # there is no memory to share then
        program="$program no-svm"
        $program > "$scratch/native"
    fi
    VOCL_ZERO_COPY=0 vocl run --workers 3 -- $program > "$scratch/out" 2> "$scratch/err" ||
        fail "$name, in blocks: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$name, in blocks: something else is printed"
done

# Random graphs of commands: the program computes the expected contents of its buffers itself.
for seed in $(seq "$(rounds 3)"); do
    workers=$((seed % 3 + 2))
    vocl run --workers $workers -- "$top_builddir/tests/session/graph" $seed "${VOCL_GRAPH_COMMANDS:-2000}" \
        > "$scratch/out" 2> "$scratch/err" || fail "graph $seed on $workers: $(cat "$scratch/out" "$scratch/err")"
done

# Data from one worker to another do not pass through the program.
wanted=$("$top_builddir/tests/session/migrate") || fail "migrate natively: $wanted"
env VOCL_LOG=info vocl run --workers 2 -- "$top_builddir/tests/session/migrate" > "$scratch/out" 2> "$scratch/err" ||
    fail "migrate: $(cat "$scratch/out" "$scratch/err")"
[ "$(cat "$scratch/out")" = "$wanted" ] || fail "64 MiB from worker to worker: $(cat "$scratch/out"), not $wanted"
bytes=$(sed -n 's/.*worker [12]: \([0-9]*\) bytes sent, \([0-9]*\) received.*/\1 + \2 +/p' "$scratch/err")
[ -n "$bytes" ] && [ $(($(echo $bytes) 0)) -lt 65536 ] || fail "by way of the program: $bytes bytes"

# Several devices per worker
for program in many_copies many_devices; do
    POCL_DEVICES="pthread pthread" vocl run --workers 2 -- "$top_builddir/tests/parity/$program" \
        > "$scratch/out" 2> "$scratch/err" || fail "$program, two devices a worker: $(cat "$scratch/err")"
    "$top_builddir/tests/parity/$program" 2> /dev/null | diff - "$scratch/out" || fail "$program, two devices a worker"
done

# Many workers
vocl run --workers 32 -- "$top_builddir/tests/parity/many_copies" > "$scratch/out" 2> "$scratch/err" ||
    fail "32 workers: $(cat "$scratch/err")"
"$top_builddir/tests/parity/many_copies" 2> /dev/null | diff - "$scratch/out" || fail "32 workers: something else"

# VOCL_DEVICES: by index, range, name, type and node; each device once, in the order of the list; nonsense is refused.
sees()
{
    result=$(env VOCL_DEVICES="$1" vocl run --workers 4 -- "$top_builddir/tests/session/every_device")
    [ "$result" = "$2" ] || fail "VOCL_DEVICES=$1: $result, not $2"
}
sees 2 "1 devices"
sees 1-3,0,2 "4 devices"
sees "type=cpu+1-2" "2 devices"
sees "name=*,3" "4 devices"
sees "node=*+all" "4 devices"
for nonsense in "" , 1,,2 2-1 one type=fpga node= 1+ 1+2; do
    vocl run --devices "$nonsense" -- true > "$scratch/out" 2>&1
    [ $? -eq 2 ] || fail "--devices \"$nonsense\" is taken"
done
vocl run --devices nonsense -- true 2>&1 | grep -q nonsense || fail "nonsense is not named"
for none in 7 type=gpu "name=nobody's" nonsense; do
    env VOCL_DEVICES="$none" vocl run -- "$top_builddir/tests/session/every_device" > "$scratch/out" 2>&1 &&
        fail "VOCL_DEVICES=$none shows devices: $(cat "$scratch/out")"
done
true
