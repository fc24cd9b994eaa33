#!/bin/sh
# benchmarks/xtq_simulate: the model agrees with the measured allreduce of two ranks, and the CPU is below or above a device
# by what is measured, not by construction. benchmarks/xtq_traces and xtq_replay: the message sizes of programs, replayed.
. "$(dirname "$0")/lib.sh"
need python3 python3

# simulate CPU DEVICE: times of an allreduce of 4 MiB in us, by the CPU and by a persistent kernel.
simulate()
{
    cat > "$scratch/figures" <<END
mpi_latency_8B 0.3 us
mpi_1MiB 12 GB/s
cpu_4096B_call 500 ns
hsa_4096B_call 500 ns
xtq_device_4096B_call 0.5 us
cpu_64B_task 0.7 us
hsa_polled_64B_task 12 us
xtq_device_64B_task 1 us
xtq_device_64B_call 0.5 us
cpu_allreduce_4194304B_2ranks $1 us
hsa_allreduce_4194304B_2ranks 3000 us
beside_xtq_device_allreduce_4194304B_2ranks $2 us
END
    "$top_srcdir/benchmarks/xtq_simulate" "$scratch/figures" > "$scratch/out" || fail "it ended with $?"
}

# ratio COMPARISON: that of xtq to cpu on all numbers of nodes.
ratio()
{
    awk "/^ / && !(\$6 $1) { wrong = 1 } /^ / { rows++ } END { exit wrong || rows != 6 }" "$scratch/out" ||
        fail "xtq / cpu is not $1 everywhere: $(cat "$scratch/out")"
}

simulate 1000 800
ratio '< 1'
awk '$1 == 2 && ($2 != 1000 || $4 != 800) { exit 1 }' "$scratch/out" || fail "2 nodes are not as measured: $(cat "$scratch/out")"
simulate 1000 1300
ratio '> 1'

# the sweep: a device that is as fast as the CPU never wins; rounds that become smaller need a shorter launch
grep -q '^# paper *ring .* 1 *never *never$' "$scratch/out" || fail "$(cat "$scratch/out")"
awk '/^# measured *ring .* 4 / { found = $6 > 4 * $7 && $7 > 0 } END { exit !found }' "$scratch/out" ||
    fail "the limits of rings: $(cat "$scratch/out")"

sed -i '/cpu_64B_task/d' "$scratch/figures"
! "$top_srcdir/benchmarks/xtq_simulate" "$scratch/figures" 2> "$scratch/err" || fail "a figure is missing"
grep -q cpu_64B_task "$scratch/err" || fail "$(cat "$scratch/err")"

# the sizes are those that the programs publish
sizes()
{
    "$top_srcdir/benchmarks/xtq_traces" "$1" > "$scratch/$1" || fail "$1: $?"
    bytes=$(awk '{ bytes += $2 * $3; count += $3 } END { print count, bytes }' "$scratch/$1")
    [ "$bytes" = "$2" ] || fail "$1: $bytes, not $2"
}
sizes nwchem "147 $(((112383 + 165) * 8))"
sizes an4_lstm "23 $(((4096 * (363 + 512 + 512) + 3 * (4096 + 4096 * 512 + 3 * 1024 + 512 * 1024) + 132 * 513) * 4))"
sizes an4_feedforward "6 $(((364 * 512 + 513 * 512 + 513 * 132) * 4))"
! "$top_srcdir/benchmarks/xtq_traces" nothing 2> "$scratch/err" || fail "there is no such program"

[ -n "$MPIEXEC_MPICH" ] && [ -x "$top_builddir/benchmarks/xtq_replay" ] || exit 0
for trace in nwchem an4_feedforward; do
    BENCH_ONCE=1 $MPIEXEC_MPICH -n 2 env LD_PRELOAD="$top_builddir/.libs/libxtqmpi.so" "$top_builddir/benchmarks/xtq_replay" \
        $trace "$scratch/$trace" > "$scratch/out" 2>&1 < /dev/null || fail "$trace: $(cat "$scratch/out")"
    grep -q "^xtq_replay_${trace}_2ranks [0-9]" "$scratch/out" || fail "$trace: $(cat "$scratch/out")"
done
