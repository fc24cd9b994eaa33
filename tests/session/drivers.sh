#!/bin/sh
# Drivers other than PoCL: programs print the same as natively, through a worker and in the program's own process.
# tests/drivers/older.c is PoCL without what is newer than a version; strict.c is PoCL with the behaviour of a GPU's
# driver, and discrete.c adds a card's times; oclgrind implements OpenCL 1.2, and runs a queue's commands inside clFlush.
. "$(dirname "$0")/../lib.sh"

parity=$top_builddir/tests/parity

# driver LIBRARY: makes it the only driver from here on
driver()
{
    rm -rf "$scratch/vendors"
    mkdir "$scratch/vendors"
    echo "$1" > "$scratch/vendors/driver.icd"
    OCL_ICD_VENDORS=$scratch/vendors
    export OCL_ICD_VENDORS
}

# natively PROGRAM: runs it natively; false, with the reason, if the program has nothing to do there
natively()
{
    "$parity/$1" > "$scratch/native" 2> "$scratch/native.err" < /dev/null
    status=$?
    [ $status != 77 ] || { echo "$what: $1: skipped: $(tail -n 1 "$scratch/native")"; return 1; }
    [ $status = 0 ] || fail "$what: $1 ends natively with $status: $(tail -n 3 "$scratch/native.err")"
}

# same PROGRAM [OPTION]...: the program, which has run natively before, prints the same with vocl run OPTION...
same()
{
    program=$1
    shift
    vocl run "$@" -- "$parity/$program" > "$scratch/out" 2> "$scratch/err" < /dev/null
    status=$?
    [ $status -eq 0 ] || fail "$what: $program $*: status $status: $(tail -n 3 "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$what: $program $*: something else is printed"
}

older=$top_builddir/tests/drivers/.libs/older.so

# A driver hangs: VOCL cannot help, but reports it. Its message is awaited below, after the other tests.
driver $older
cp -r "$scratch/vendors" "$scratch/hangs"
OCL_ICD_VENDORS=$scratch/hangs OLDER_VERSION=1.2 OLDER_FAILS=hang timeout -k 5 100 vocl run -- "$parity/first_calls" \
    > /dev/null 2> "$scratch/hang.err" < /dev/null &
hanging=$!

# A driver that crashes ends the session.
OLDER_VERSION=1.2 OLDER_FAILS=crash vocl run -- "$parity/first_calls" > /dev/null 2> "$scratch/err"
status=$?
[ $status -eq 1 ] || fail "a driver that crashes: status $status: $(cat "$scratch/err")"
grep -q "worker 1 on .* is lost" "$scratch/err" || fail "a driver that crashes: no message: $(cat "$scratch/err")"

for OLDER_VERSION in 1.1 1.2 2.0 2.2; do
    export OLDER_VERSION
    what="OpenCL $OLDER_VERSION"
    case $OLDER_VERSION in
    1.1) programs="device_info errors_context errors_queue first_calls map_unmap svm" ;;
    1.2) programs="buffer_ops command_buffer device_info errors_kernel errors_program errors_svm events first_calls
            images info_queries kernel_info" ;;
    2.0) programs="device_info errors_queue info_queries kernel_info svm" ;;
    2.2) programs="callbacks device_info errors_program info_queries kernel_info" ;;
    esac
    for program in $programs; do
        natively $program || continue
        same $program
        case $program in
        first_calls | info_queries) same $program --local ;;
        esac
    done
done
unset OLDER_VERSION

wait_until grep -q "driver has not returned .* enqueue_ndrange" "$scratch/hang.err" ||
    fail "a driver that hangs: no message: $(cat "$scratch/hang.err")"
kill $hanging 2> /dev/null # it may have reached its own limit
wait $hanging

# A GPU's driver: with device memory, copies whose completion is not reported, and everything else that strict.c says.
driver "$top_builddir/tests/drivers/.libs/strict.so"
what="a GPU's driver"
for program in $(few 13 build_callback callbacks contents first_calls image_creation images kernel_info many_copies map_unmap profiling programs \
    relay user_events several_contexts); do
    natively $program
    same $program
    VOCL_SHARE=0 VOCL_PIPELINE=1 same $program
    [ $program != first_calls ] || same $program --local
done
# The completion of a later command is reported before those of kernels, which have to be queried. Natively, on PoCL,
# which callbacks have been called does not depend on that.
(unset OCL_ICD_VENDORS && natively callback_waits) || exit 1
STRICT_UNTOLD=1 same callback_waits
parity=$top_builddir/tests/drivers
natively fault
grep -q '^finish behind it = CL_INVALID_COMMAND_QUEUE$' "$scratch/native" || fail "no fault: $(cat "$scratch/native")"
for STRICT_FAULT in status asked flush; do
    export STRICT_FAULT
    same fault
done
unset STRICT_FAULT

# A marker right behind a launch needs no native command.
natively launch_finish
STRICT_MARKERS=$scratch/markers same launch_finish
[ "$(cat "$scratch/markers" 2> /dev/null | wc -c)" -lt 25 ] || fail "50 launches take $(wc -c < "$scratch/markers") markers"

# Workers with several devices order their transfers at the bus. Contents for another worker, and for the program's
# memory, are among these transfers, also where queues are in order only.
natively exchange
for STRICT_IN_ORDER in "" 1; do
    [ -z "$STRICT_IN_ORDER" ] || export STRICT_IN_ORDER
    POCL_DEVICES="pthread pthread" VOCL_TOPOLOGY=T2 same exchange --workers 2
    POCL_DEVICES="pthread pthread" VOCL_TOPOLOGY=T2 VOCL_SHARE=0 same exchange --workers 2
done
unset STRICT_IN_ORDER
# A driver refuses to write contents from another worker: the command fails, and the worker stays.
STRICT_REFUSED=65536 vocl run --workers 2 -- "$parity/exchange" > "$scratch/out" 2> "$scratch/err" ||
    fail "a write is refused: $(tail -n 5 "$scratch/out" "$scratch/err")"
awk 'NR % 4 { print; next } { print "65536 bytes: failed" }' "$scratch/native" | diff - "$scratch/out" ||
    fail "a write is refused, and something else is printed"
parity=$top_builddir/tests/parity

# The same with the times of a card, and late callbacks, the newest first.
driver "$top_builddir/tests/drivers/.libs/discrete.so"
what="a card's driver"
for program in callbacks events first_calls images map_unmap profiling user_events; do
    natively $program
    same $program
done
# A device that runs commands inside clSetUserEventStatus, as the worker's for its transfers.
what="a card's driver, on the basic device"
export POCL_DEVICES=basic
for program in contents events images profiling; do
    natively $program
    VOCL_SHARE=0 same $program
done
unset POCL_DEVICES
# Commands stay queued until somebody flushes their queue, or waits.
what="a card's driver that needs flushes"
export DISCRETE_FLUSH=1
for program in events map_unmap user_events; do
    natively $program
    same $program
done
unset DISCRETE_FLUSH
# The card has less memory than the host.
what="a card with little memory"
export DISCRETE_MEMORY_MB=64
natively device_info
same device_info
parity=$top_builddir/tests/drivers
natively limits
grep -q '^64000000 bytes, 16000000 at once$' "$scratch/native" || fail "$what: $(cat "$scratch/native")"
same limits
parity=$top_builddir/tests/parity
unset DISCRETE_MEMORY_MB

# The other programs crash or fail natively, or do not end in time (oclgrind interprets kernels, and its clFlush also
# waits for user events), or make queries that VOCL answers itself where OpenCL leaves the answer open.
oclgrind=/usr/lib/oclgrind/liboclgrind-rt-icd.so
[ -e $oclgrind ] || skip "no $oclgrind (package oclgrind)"
driver $oclgrind
what=oclgrind
# It deletes objects through a smaller type.
ASAN_OPTIONS=new_delete_type_mismatch=0:$ASAN_OPTIONS
export ASAN_OPTIONS
for program in device_info first_calls kernel_printf native_kernel sub_devices svm; do
    natively $program
    same $program
    [ $program != first_calls ] || same $program --local
done
true
