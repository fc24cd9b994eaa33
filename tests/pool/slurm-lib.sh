# A real Slurm of one node, this host, around the pool of one-lib.sh.
#
#     start_slurm [LINE...]   $host is its node; LINEs are added to slurm.conf, or, after "plugstack", to plugstack.conf. It and
#                             the pool end with the test. $gres, if set, names the node's generic resources.
. "$(dirname "$0")/one-lib.sh"
need slurmctld slurmctld
need slurmd slurmd
need srun slurm-client
need munged munge
[ "$(id -u)" = 0 ] || skip "needs root: slurmd"
[ "${SANITIZER:-no}" = no ] || skip "Slurm does not bear the sanitizers' libraries"
host=$(hostname -s)
chmod 755 "$scratch"
slurmd= slurmctld= munged=
end_slurm()
{
    for process in $daemon $slurmd $slurmctld $munged $(cat "$scratch/left" 2> /dev/null); do
        kill -9 $process 2> /dev/null
    done
    rm -rf "$scratch"
}
idle()
{
    sinfo --noheader 2> /dev/null | grep -q idle
}
# After slurmctld has ended, sinfo would wait for it for a long time.
idle_or_over()
{
    ! kill -0 $slurmctld 2> /dev/null || ! kill -0 $slurmd 2> /dev/null || idle
}

start_slurm()
{
    trap end_slurm EXIT
    head -c 128 /dev/urandom > "$scratch/munge.key"
    chmod 600 "$scratch/munge.key"
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
StateSaveLocation=$scratch/save
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
MpiDefault=none
PlugStackConfig=$scratch/plugstack.conf
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) ${gres:+Gres=$gres} State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
    : > "$scratch/plugstack.conf"
    for line; do
        case $line in
        "plugstack "*) echo "${line#plugstack }" >> "$scratch/plugstack.conf" ;;
        *)             echo "$line" >> "$scratch/slurm.conf" ;;
        esac
    done
    SLURM_CONF=$scratch/slurm.conf VOCL_POOL=$scratch/pool
    export SLURM_CONF VOCL_POOL
    wait_until test -S "$scratch/munge/socket" || fail "munged"
    slurmctld -D > /dev/null 2>&1 &
    slurmctld=$!
    slurmd -D > /dev/null 2>&1 &
    slurmd=$!
    wait_until idle_or_over && kill -0 $slurmctld $slurmd 2> /dev/null && idle || skip "no Slurm here: $(tail -n 2 "$scratch/slurmctld.log" "$scratch/slurmd.log")"
}
