#!/bin/sh
# Slurm places a session's workers (vocl run --slurm), with a real Slurm of three nodes: near, where programs run, and
# gpu1 and gpu2, which are other hosts with two fictitious GPUs each and processes of their own.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/slurm-lib.sh"
need_slurm
need ip iproute2
need nsenter util-linux
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
unset VOCL_HOSTS VOCL_WORKERS VOCL_LOCAL VOCL_MPI VOCL_NETWORK VOCL_RSH VOCL_POOL

near=vocl-slurm-near-$$ far=vocl-slurm-far-$$
remove()
{
    end_slurm
    for space in "$near" "$far"; do
        ip netns pids "$space" 2> /dev/null | xargs -r kill -9 2> /dev/null
        ip netns delete "$space" 2> /dev/null
    done
    rm -rf "$scratch"
}
trap remove EXIT
for space in "$near" "$far"; do
    reason=$("$top_srcdir/tests/net/namespace" "$space" 2>&1) || skip "no network namespaces: $reason"
    ip -n "$space" link set lo up
done
ip link add near netns "$near" type veth peer name far netns "$far" || skip "no veth"
ip -n "$near" address add 10.94.0.1/24 dev near && ip -n "$far" address add 10.94.0.2/24 dev far &&
    ip -n "$far" address add 10.94.0.3/24 dev far && ip -n "$near" link set near up && ip -n "$far" link set far up || fail "veth"
printf '%s\n' '127.0.0.1 localhost' '10.94.0.1 near' '10.94.0.2 gpu1' '10.94.0.3 gpu2' > "$scratch/hosts"
# `ip netns exec` would hide the control groups, which slurmd wants.
# at NAMESPACE COMMAND..., host NAME NAMESPACE COMMAND...: replace this shell. near COMMAND...: runs it there.
at()
{
    at_space=$1
    shift
    exec nsenter --net="/run/netns/$at_space" unshare --mount sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$scratch/hosts" "$@"
}
host()
{
    host_name=$1 host_space=$2
    shift 2
    at "$host_space" unshare --uts --pid --fork --kill-child --mount-proc sh -c 'hostname "$0" && exec "$@"' "$host_name" "$@"
}
near()
{
    (at "$near" "$@")
}
printf 'NodeName=gpu[1-2] Name=gpu File=/dev/null\nNodeName=gpu[1-2] Name=gpu File=/dev/zero\n' > "$scratch/gres.conf"
write_slurm 10.94.0.1 7817 GresTypes=gpu SchedulerParameters=bf_interval=1 \
    "NodeName=near NodeAddr=10.94.0.1 NodeHostname=near CPUs=$(nproc) State=UNKNOWN" \
    "NodeName=gpu1 NodeAddr=10.94.0.2 NodeHostname=gpu1 CPUs=$(nproc) Gres=gpu:2 Weight=2 State=UNKNOWN" \
    "NodeName=gpu2 NodeAddr=10.94.0.3 NodeHostname=gpu2 Port=7819 CPUs=$(nproc) Gres=gpu:2 Weight=2 State=UNKNOWN" \
    "PartitionName=all Nodes=near,gpu1,gpu2 Default=YES State=UP"
start_slurm at "$near"
start_node host near "$near"
start_node host gpu1 "$far"
start_node host gpu2 "$far"
node2=$!
sinfo() { near sinfo "$@"; }
squeue() { near squeue "$@"; }
nodes_idle 3

mark=VOCL_TEST_MARK=$$
export "$mark" VOCL_SHARE=0
# job OPTION... [: OPTION...] -- COMMAND...: runs the command on near, in a job
job()
{
    near salloc --quiet --kill-command=TERM "$@"
}
over()
{
    [ -z "$(squeue --noheader)" ] && none_left "$mark"
}
ends()
{
    wait_until over || fail "$1: left: $(squeue --steps; session_processes "$mark")"
}

# On all nodes of a job: one worker each, and the results are native's.
"$top_builddir/tests/parity/many_devices" > "$scratch/native" 2> /dev/null || fail "many_devices fails natively"
job -N2 -w gpu1,gpu2 -- vocl run --slurm -- "$top_builddir/tests/parity/many_devices" > "$scratch/out" 2> "$scratch/err" ||
    fail "two nodes: $(cat "$scratch/out" "$scratch/err")"
cmp "$scratch/native" "$scratch/out" || fail "many_devices prints something else"
job -N2 -w gpu1,gpu2 -- vocl devices --slurm > "$scratch/out" 2> "$scratch/err" || fail "devices: $(cat "$scratch/err")"
grep -q '^gpu1 ' "$scratch/out" && grep -q '^gpu2 ' "$scratch/out" || fail "the nodes: $(cat "$scratch/out")"
"$top_builddir/tests/parity/vector_add" > "$scratch/little" 2> /dev/null || fail "vector_add fails natively"
VOCL_NETWORK=ssh job -N2 -w gpu1,gpu2 -- vocl run --slurm -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "through srun: $(cat "$scratch/out" "$scratch/err")"
cmp "$scratch/little" "$scratch/out" || fail "through srun: vector_add prints something else"
ends "two nodes"

# A worker is a step of the job, with the devices that Slurm has bound; it ends with the program, however that ends.
# begin OPTION... -- COMMAND...: begins a job in the background whose program prints "ready"; sets $program.
begin()
{
    rm -f "$scratch/out"
    job "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/out" "$scratch/err")"
}
# workers_have VARIABLE: prints its values in all workers
workers_have()
{
    for process in $(session_workers "$mark"); do
        tr '\0' '\n' < "/proc/$process/environ" | sed -n "s/^$1=//p"
    done | sort
}
sleeper=$top_builddir/tests/session/sleeper
begin -N2 -w gpu1,gpu2 --gres=gpu:2 -- vocl run --slurm --gres gpu:1 -- "$sleeper"
[ "$(squeue --noheader --steps --format '%j %N' | grep -c '^sh gpu[12]$')" = 2 ] || fail "the steps: $(squeue --steps)"
[ "$(workers_have CUDA_VISIBLE_DEVICES)" = "0
0" ] || fail "one device each: $(workers_have CUDA_VISIBLE_DEVICES)"
kill -9 "$(program_of "$sleeper")"
wait $program
ends "a program that was killed"

# A heterogeneous job: the program on near, its devices on the other component's nodes, all that these have.
begin -N1 -w near : -N2 -w gpu1,gpu2 --gres=gpu:2 -- vocl run --slurm -- "$sleeper"
[ "$(workers_have CUDA_VISIBLE_DEVICES)" = "0,1
0,1" ] || fail "the component's devices: $(workers_have CUDA_VISIBLE_DEVICES)"
near scancel "$(squeue --noheader --format %A | sort | head -n 1)"
wait $program
ends "a job that was cancelled"

# The examples, and a time limit.
for example in two-nodes heterogeneous; do
    near sbatch --quiet --wait --output="$scratch/out" "$top_srcdir/etc/slurm/$example.sbatch" \
        "$top_builddir/tests/parity/many_devices" || fail "$example: $(cat "$scratch/out")"
    cmp "$scratch/native" "$scratch/out" || fail "$example: many_devices prints something else"
done
ends "the examples"

# What is refused.
# refused REASON COMMAND...
refused()
{
    reason=$1
    shift
    "$@" > "$scratch/out" 2> "$scratch/err" && fail "accepted: $*"
    grep -q -e "$reason" "$scratch/err" || fail "$*: $(cat "$scratch/err")"
}
refused 'this is no job of Slurm' vocl run --slurm -- true
refused 'exclude each other' vocl run --slurm --hosts a -- true
refused 'exclude each other' vocl run --slurm --workers 1 -- true
refused 'needs --slurm' vocl run --gres gpu:1 -- true
refused 'has no components' job -N1 -w gpu1 -- vocl run --slurm=1 -- true
refused 'components 0 to 1' job -N1 -w near : -N1 -w gpu1 -- vocl run --slurm=2 -- true
refused 'srun: error: .*gres' job -N1 -w gpu1 --gres=gpu:1 -- vocl devices --slurm --gres gpu:2
ends "what is refused"

# Another launcher, which starts the workers of all hosts, also of this one.
cat > "$scratch/launch" <<END
#!/bin/sh
echo "\$1" >> "$scratch/launched"
shift
exec "\$@"
END
chmod +x "$scratch/launch"
vocl devices --hosts localhost,127.0.0.1 --launcher "$scratch/launch at={host} /bin/sh -c" > "$scratch/out" 2> "$scratch/err" ||
    fail "a launcher: $(cat "$scratch/err")"
[ "$(sort "$scratch/launched")" = "at=127.0.0.1
at=localhost" ] || fail "launched: $(cat "$scratch/launched")"
# A node that fails: what the program has on the other continues.
mkfifo "$scratch/say"
job --no-kill -N2 -w gpu1,gpu2 -- vocl run --slurm -- "$top_builddir/tests/session/survivor" < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 9> "$scratch/say"
wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/out" "$scratch/err")"
kill -9 $node2
wait $node2 2> /dev/null
echo >&9
wait $program || fail "a node that fails: $(cat "$scratch/out" "$scratch/err")"
exec 9>&-
wait_until none_left "$mark" || fail "a node that fails: left: $(session_processes "$mark")"
exit 0
