#!/bin/sh
# Intel's OpenCL for CPUs as a node's driver: programs print the same as natively with both interposition methods, with
# one and two workers, on another host, moved, and when they lose their worker. `./quickstart test` fetches that driver
# from PyPI into build/intel (intel.txt); its licence is Intel's, and nothing of it is kept in the tree.
. "$(dirname "$0")/../lib.sh"
at_most 900

driver=$top_builddir/intel/lib/libintelocl.so
[ -e "$driver" ] || skip "no Intel OpenCL: $(cat "$top_builddir/intel.why" 2> /dev/null || echo "./quickstart test fetches it")"
mkdir "$scratch/vendors"
echo "$driver" > "$scratch/vendors/intel.icd"
export OCL_ICD_VENDORS="$scratch/vendors"
parity=$top_builddir/tests/parity
"$parity/vector_add" > "$scratch/out" 2>&1 || skip "Intel's OpenCL does not run here: $(tail -n 3 "$scratch/out")"

# Cases that this driver does not survive are omitted.
VOCL_TEST_OMIT=$(sed -n 's/^\([a-z-]*\):.*/\1/p' "$top_srcdir/tests/drivers/intel.omit" | tr '\n' ' ')
export VOCL_TEST_OMIT

# Not in this list: programs whose output differs in what OpenCL leaves open, or because VOCL answers by itself;
# doc/user/opencl-support.md has the reasons.
programs="contents user_events host_pointer_devices vector_add profiling callbacks svm map_unmap argument_sizes blocking_writes
    build_callback callback_ends descriptors events_over first_calls halo host_pointer_life includes kernel_info kernel_printf
    large_moves long_lists many_launches native_kernel nbody no_release one_device one_place reduction relay several_contexts sgemm
    smith_waterman threads transpose unused"

for name in $(few 3 $programs); do
    "$top_srcdir/tests/run-parity" "$parity/$name" > "$scratch/tap" 2>&1
    [ "$(grep -c '^ok [12] - [a-z]*$' "$scratch/tap")" = 2 ] || fail "$name: $(cat "$scratch/tap")"
done

# image_creation prints pitches, which are the driver's own; its contents are compared.
contents_of()
{
    grep -E ': [0-9a-f]{16}$'
}
"$parity/image_creation" | contents_of > "$scratch/native" || fail "image_creation prints no contents"
for options in "" --local; do
    vocl run $options -- "$parity/image_creation" | contents_of > "$scratch/out"
    diff "$scratch/native" "$scratch/out" || fail "image_creation $options: other contents"
done

# Queues that are released as soon as their commands are over (driver_queue_waits_for_itself())
for options in "" --local; do
    timeout -k 5 100 vocl run $options -- "$top_builddir/tests/drivers/queue_ends" > "$scratch/out" 2>&1 < /dev/null ||
        fail "queue_ends $options: $(cat "$scratch/out")"
done

# Memory that is not aligned, which this driver reads when the buffer is created, and afterwards only by maps
"$top_builddir/tests/drivers/host_ends" > "$scratch/native" || fail "host_ends natively"
for options in "" --local; do
    vocl run $options -- "$top_builddir/tests/drivers/host_ends" > "$scratch/out" || fail "host_ends $options"
    diff "$scratch/native" "$scratch/out" || fail "host_ends $options prints something else"
done

# same PROGRAM COMMAND...: the program, run by the command, prints the same as natively
same()
{
    name=$1
    shift
    "$parity/$name" > "$scratch/native" 2> /dev/null < /dev/null || fail "$name natively"
    "$@" "$parity/$name" > "$scratch/out" 2> "$scratch/err" < /dev/null || fail "$*: $name: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$*: $name prints something else"
}

# Each worker has a device, and on another host there is no fine-grained memory: programs that print neither.
for name in $(few 2 contents map_unmap vector_add callbacks nbody sgemm transpose reduction smith_waterman); do
    same "$name" vocl run --workers 2 --
done

for name in $(few 2 contents vector_add map_unmap callbacks nbody sgemm transpose reduction smith_waterman); do
    "$top_srcdir/tests/session/verbs" --spare=1 "$name" here spare || fail "$name: moved"
    "$top_srcdir/tests/session/verbs" --recover "$name" kill here || fail "$name: its worker is killed"
done

# Commands that a marker of the node stands for have all times, which this driver's markers have not: events checks them.
VOCL_SHARE=0 vocl run -- "$parity/events" > "$scratch/out" 2>&1 || fail "events, without shared memory: $(tail -n 3 "$scratch/out")"

# kernels of devcom, whose compiler is not the processor's here: it takes no assembly, so they make no system calls
if [ -n "$MPIEXEC_MPICH" ]; then
    $MPIEXEC_MPICH -n 2 "$top_builddir/tests/devcom/words" > "$scratch/out" 2>&1 < /dev/null || fail "devcom: $(tail -n 20 "$scratch/out")"
fi

"$top_srcdir/tests/net/two-hosts" -- true 2> "$scratch/err"
[ $? -ne 77 ] || skip "only on one host: $(cat "$scratch/err")"
for name in $(few 2 vector_add contents map_unmap callbacks nbody sgemm transpose reduction smith_waterman); do
    same "$name" "$top_srcdir/tests/net/two-hosts" --
done
