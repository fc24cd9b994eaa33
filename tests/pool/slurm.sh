#!/bin/sh
# The scripts of etc/slurm with a real Slurm of one node, whose GPU is a made-up one: a job that asks for it drains the node of the pool.
. "$(dirname "$0")/one-lib.sh"
need slurmctld slurmctld
need slurmd slurmd
need srun slurm-client
need munged munge
[ "$(id -u)" = 0 ] || skip "needs root: slurmd"
[ "$SANITIZER" = no ] || skip "Slurm does not bear the sanitizers' libraries"
host=$(hostname -s)
chmod 755 "$scratch"
make_pool "$host"
start_daemon
head -c 128 /dev/urandom > "$scratch/munge.key"
chmod 600 "$scratch/munge.key"
end()
{
    for process in $daemon $slurmd $slurmctld $munged; do
        kill -9 $process 2> /dev/null
    done
    rm -rf "$scratch"
}
trap end EXIT
mkdir "$scratch/munge" "$scratch/spool" "$scratch/save"
chmod 755 "$scratch/munge"
munged --foreground --force --key-file="$scratch/munge.key" --socket="$scratch/munge/socket" \
    --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" > /dev/null 2>&1 &
munged=$!
cat > "$scratch/slurm.conf" <<END
ClusterName=vocl
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$((port + 1))
SlurmdPort=$((port + 2))
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
CredType=cred/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
GresTypes=gpu
StateSaveLocation=$scratch/save
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
MpiDefault=none
PrologFlags=Alloc
Prolog=$scratch/prolog
Epilog=$scratch/epilog
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
echo "NodeName=$host Name=gpu File=/dev/null" > "$scratch/gres.conf"
for script in prolog epilog; do # they find no environment, and this VOCL is not installed
    cat > "$scratch/$script" <<END
#!/bin/sh
export PATH=$VOCL_LIBEXECDIR:/usr/bin:/bin VOCL_LIBEXECDIR=$VOCL_LIBEXECDIR VOCL_POOL=$scratch/pool
export SLURM_CONF=$scratch/slurm.conf
exec sh $top_builddir/etc/slurm/$script.sh >> $scratch/$script.out 2>&1
END
    chmod +x "$scratch/$script"
done
SLURM_CONF=$scratch/slurm.conf VOCL_POOL=$scratch/pool
export SLURM_CONF VOCL_POOL
wait_until 5 test -S "$scratch/munge/socket" || fail "munged"
slurmctld -D > /dev/null 2>&1 &
slurmctld=$!
slurmd -D > /dev/null 2>&1 &
slurmd=$!
idle()
{
    sinfo --noheader 2> /dev/null | grep -q idle
}
wait_until 40 idle || skip "no Slurm here: $(tail -n 2 "$scratch/slurmctld.log" "$scratch/slurmd.log")"

# state STATE
state()
{
    vocl pool nodes | grep -q "^$host  *$1 "
}
wait_until 20 state up || fail "the pool: $(cat "$scratch/log")"
srun sleep 3 &
wait_until 10 sh -c 'squeue --noheader --states running | grep -q .' || fail "a job without GPU does not run"
state up || fail "a job that asks for nothing drains the node"
wait $!
srun --gres=gpu:1 sleep 4 &
wait_until 15 state draining || fail "a job with a GPU: $(vocl pool nodes; cat "$scratch"/*.out)"
vocl devices > /dev/null 2>&1 && fail "the pool lends what Slurm has lent"
wait $!
wait_until 20 state up || fail "after the job: $(vocl pool nodes; cat "$scratch"/*.out)"
vocl devices > /dev/null || fail "the node is not back"

# what an administrator has drained meanwhile stays so
srun --gres=gpu:1 sleep 4 &
wait_until 15 state draining || fail "another job with a GPU: $(vocl pool nodes; cat "$scratch"/*.out)"
vocl pool nodes | grep -q 'slurm: job [0-9]' || fail "who drained it: $(vocl pool nodes)"
vocl pool drain --reason repair "$host" || fail "drain"
wait $!
only_ours()
{
    ! vocl pool nodes | grep -q 'slurm: job'
}
wait_until 20 only_ours || fail "Slurm does not lift its own: $(vocl pool nodes; cat "$scratch"/*.out)"
state draining || fail "Slurm lifted the administrator's: $(vocl pool nodes)"
vocl pool resume "$host" && state up || fail "the administrator's: $(vocl pool nodes)"
exit 0
