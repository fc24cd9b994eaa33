# A real Slurm. Sourced after lib.sh.
#
#     need_slurm                      skips the test where there can be none
#     write_slurm ADDRESS PORT LINE...
#                                     writes slurm.conf in $scratch: slurmctld of this host is at ADDRESS:PORT, slurmd of
#                                     each node at PORT + 1; LINEs are added to it, or, after "plugstack", to plugstack.conf
#     start_slurm [PREFIX]            starts munged and slurmctld; PREFIX is a command before slurmctld
#     start_node PREFIX...            starts slurmd. It and all others end with end_slurm, which a trap has to call
#     nodes_idle N                    waits until so many nodes are idle, or skips the test
slurm_processes= slurmctld=
need_slurm()
{
    need slurmctld slurmctld
    need slurmd slurmd
    need srun slurm-client
    need munged munge
    [ "$(id -u)" = 0 ] || skip "needs root: slurmd"
    [ "${SANITIZER:-no}" = no ] || skip "Slurm does not bear the sanitizers' libraries"
    chmod 755 "$scratch"
}

end_slurm()
{
    for process in $slurm_processes; do
        kill -9 $process 2> /dev/null
    done
}

write_slurm()
{
    mkdir "$scratch/munge" "$scratch/spool" "$scratch/save"
    chmod 755 "$scratch/munge"
    cat > "$scratch/slurm.conf" <<END
ClusterName=vocl
SlurmctldHost=$(hostname -s)($1)
SlurmctldPort=$2
SlurmdPort=$(($2 + 1))
AuthType=auth/munge
AuthInfo=socket=$scratch/munge/socket
CredType=cred/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
StateSaveLocation=$scratch/save
SlurmdSpoolDir=$scratch/spool/%n
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.%n.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
MpiDefault=none
PlugStackConfig=$scratch/plugstack.conf
END
    : > "$scratch/plugstack.conf"
    shift 2
    for line; do
        case $line in
        "plugstack "*) echo "${line#plugstack }" >> "$scratch/plugstack.conf" ;;
        *)             echo "$line" >> "$scratch/slurm.conf" ;;
        esac
    done
    SLURM_CONF=$scratch/slurm.conf
    export SLURM_CONF
}

start_slurm()
{
    head -c 128 /dev/urandom > "$scratch/munge.key"
    chmod 600 "$scratch/munge.key"
    munged --foreground --force --key-file="$scratch/munge.key" --socket="$scratch/munge/socket" \
        --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed" > /dev/null 2>&1 &
    slurm_processes="$slurm_processes $!"
    wait_until test -S "$scratch/munge/socket" || fail "munged"
    "$@" slurmctld -D > /dev/null 2>&1 &
    slurmctld=$!
    slurm_processes="$slurm_processes $slurmctld"
}
start_node()
{
    "$@" slurmd -D > /dev/null 2>&1 &
    slurm_processes="$slurm_processes $!"
}

# After slurmctld has ended, sinfo would wait for it for a long time.
are_idle()
{
    [ "$(sinfo --noheader --Node --states idle 2> /dev/null | wc -l)" -ge "$1" ]
}
are_idle_or_over()
{
    ! kill -0 $slurm_processes 2> /dev/null || are_idle "$1"
}
nodes_idle()
{
    wait_until are_idle_or_over "$1" && kill -0 $slurm_processes 2> /dev/null && are_idle "$1" ||
        skip "no Slurm here: $(tail -n 2 "$scratch/slurmctld.log" "$scratch/slurmd.log")"
}
