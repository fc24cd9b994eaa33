# A real Slurm of one node, this host, around the pool of one-lib.sh.
#
#     start_one [LINE...]   $host is its node; LINEs as of write_slurm. It and the pool end with the test. $gres, if set,
#                           names the node's generic resources.
. "$(dirname "$0")/one-lib.sh"
. "$top_srcdir/tests/slurm-lib.sh"
need_slurm
host=$(hostname -s)
end_all()
{
    for process in $daemon $(cat "$scratch/left" 2> /dev/null); do
        kill -9 $process 2> /dev/null
    done
    end_slurm
    rm -rf "$scratch"
}

start_one()
{
    trap end_all EXIT
    write_slurm 127.0.0.1 $((port + 1)) "NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) ${gres:+Gres=$gres} State=UNKNOWN" \
        "PartitionName=all Nodes=$host Default=YES State=UP" "$@"
    VOCL_POOL=$scratch/pool
    export VOCL_POOL
    start_slurm
    start_node
    nodes_idle 1
}
