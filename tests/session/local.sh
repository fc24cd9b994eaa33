#!/bin/sh
# Devices in the program's own process: the same results as natively, alone and in one context with workers; without
# workers no process is started; the loss of a worker does not affect them.
. "$(dirname "$0")/../lib.sh"

[ "$SANITIZER" != thread ] || skip "the thread sanitizer finds fault with these programs natively, too"
mark=VOCL_TEST_MARK=$$
parity=$top_builddir/tests/parity

# same PROGRAM WORKERS:METHOD...: prints the same as it prints natively
same()
{
    program=$1
    shift
    "$parity/$program" > "$scratch/native" 2> /dev/null
    wanted=$?
    [ $wanted != 77 ] || return 0 # it ends at once, maybe while PoCL still starts
    for way in "$@"; do
        env "$mark" vocl run --local --workers "${way%:*}" --interpose "${way#*:}" -- "$parity/$program" > "$scratch/out" 2> "$scratch/err"
        status=$?
        [ $status -eq $wanted ] || fail "$program $way: status $status, natively $wanted: $(cat "$scratch/err")"
        diff "$scratch/native" "$scratch/out" || fail "$program $way: something else is printed"
        wait_until none_left "$mark" || fail "left after $program $way: $(session_processes "$mark")"
    done
}

for program in callbacks command_buffer device_info errors_buffer errors_kernel host_pointer host_pointer_life includes kernel_printf \
        map_unmap no_release several_contexts unused user_events; do
    beside same $program 0:preload
done
for program in events svm; do
    beside same $program 0:preload 0:icd
done
for program in buffer_ops images programs; do
    beside same $program $(few 1 0:icd 0:preload)
done
for program in many_devices many_copies native_kernel one_device; do
    beside same $program 0:preload 1:preload 2:icd
done
beside same threads $(few 2 0:preload 2:icd 0:icd 1:preload)
beside same host_pointer_devices 1:preload 2:icd
graph()
{
    vocl run --local --workers $(($1 - 1)) -- "$top_builddir/tests/session/graph" $1 1000 \
        > "$scratch/out" 2> "$scratch/err" || fail "graph $1: $(cat "$scratch/out" "$scratch/err")"
}
for seed in 1 2 3; do
    beside graph $seed
done
well_beside

# Without workers, no process is started.
mkfifo "$scratch/say"
rm -f "$scratch/out" # or "ready" may be another's
env "$mark" vocl run --local -- "$top_builddir/tests/session/sleeper" < "$scratch/say" > "$scratch/out" 2>&1 &
program=$!
exec 9> "$scratch/say"
wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/out")"
for process in $(session_processes "$mark"); do
    [ "$process" = $program ] || fail "a process was started: $(cat "/proc/$process/comm")"
done
kill $program
wait $program 2> /dev/null
exec 9>&-

# The only worker is killed.
mkfifo "$scratch/tell"
rm -f "$scratch/out"
env "$mark" vocl run --local --workers 1 -- "$top_builddir/tests/session/survivor" < "$scratch/tell" \
    > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 9> "$scratch/tell"
wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
for process in $(session_processes "$mark"); do
    if [ "$(cat "/proc/$process/comm")" = vocl-proxy ]; then kill -KILL "$process"; fi
done
echo >&9
wait $program
status=$?
[ $status -eq 0 ] || fail "after the loss of the worker: status $status: $(cat "$scratch/out" "$scratch/err")"
exec 9>&-
wait_until none_left "$mark" || fail "left after the loss of the worker: $(session_processes "$mark")"

# MPI is lost when the program closes its descriptors; local devices, which need none, continue.
if [ -n "$MPIEXEC_OPENMPI" ]; then
    echo | env "$mark" vocl run --local --workers 1 --mpi openmpi -- "$top_builddir/tests/session/survivor" close \
        > "$scratch/out" 2> "$scratch/err" || fail "after the loss of MPI: $(cat "$scratch/out" "$scratch/err")"
    wait_until none_left "$mark" || fail "left after the loss of MPI: $(session_processes "$mark")"
fi

# Programs exit while their kernels run: the driver is not unloaded while its threads still run.
for attempt in $(seq "$(rounds 1)"); do
    for how in "" event; do
        vocl run --local -- "$top_builddir/tests/session/brief" $how > "$scratch/out" 2> "$scratch/err" ||
            fail "a program that ends at once $how, attempt $attempt: $?: $(cat "$scratch/out" "$scratch/err")"
    done
done

# What the command line accepts
vocl run --workers 0 -- true > /dev/null 2>&1
[ $? -eq 2 ] || fail "no workers and no local devices is taken"
[ "$(vocl devices --local | wc -l)" -eq "$(($(vocl devices | wc -l)))" ] || fail "vocl devices --local"
true
