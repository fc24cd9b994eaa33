#!/bin/sh
# The scripts of etc/slurm with a real Slurm of one node, which has a fictitious GPU: a job that requests the GPU drains
# the pool's node.
. "$(dirname "$0")/slurm-lib.sh"
make_pool "$host"
start_daemon
echo "NodeName=$host Name=gpu File=/dev/null" > "$scratch/gres.conf"
for script in prolog epilog; do # Slurm gives them no environment, and this VOCL is not installed
    cat > "$scratch/$script" <<END
#!/bin/sh
export PATH=$VOCL_LIBEXECDIR:/usr/bin:/bin VOCL_LIBEXECDIR=$VOCL_LIBEXECDIR VOCL_POOL=$scratch/pool
export SLURM_CONF=$scratch/slurm.conf
exec sh $top_builddir/etc/slurm/$script.sh >> $scratch/$script.out 2>&1
END
    chmod +x "$scratch/$script"
done
gres=gpu:1
start_one GresTypes=gpu PrologFlags=Alloc "Prolog=$scratch/prolog" "Epilog=$scratch/epilog"

# state STATE
state()
{
    vocl pool nodes | grep -q "^$host  *$1 "
}
# enough JOB: ends it
until_enough="until [ -e $scratch/enough ]; do sleep 0.1; done"
enough()
{
    touch "$scratch/enough"
    wait "$1" || fail "a job ends with $?"
    rm "$scratch/enough"
}
await "state=$host:up" || fail "the pool: $(cat "$scratch/log")"
srun sh -c "$until_enough" &
wait_until sh -c 'squeue --noheader --states running | grep -q .' || fail "a job without GPU does not run"
state up || fail "a job that asks for nothing drains the node"
enough $!
srun --gres=gpu:1 sh -c "$until_enough" &
await "state=$host:draining" || fail "a job with a GPU: $(vocl pool nodes; cat "$scratch"/*.out)"
vocl devices > /dev/null 2>&1 && fail "the pool lends what Slurm has lent"
enough $!
await "state=$host:up" || fail "after the job: $(vocl pool nodes; cat "$scratch"/*.out)"
vocl devices > /dev/null || fail "the node is not back"

# If an administrator has drained the node meanwhile, it stays drained.
srun --gres=gpu:1 sh -c "$until_enough" &
await "state=$host:draining" || fail "another job with a GPU: $(vocl pool nodes; cat "$scratch"/*.out)"
vocl pool nodes | grep -q 'slurm: job [0-9]' || fail "who drained it: $(vocl pool nodes)"
vocl pool drain --reason repair "$host" || fail "drain"
enough $!
only_ours()
{
    ! vocl pool nodes | grep -q 'slurm: job'
}
wait_until only_ours || fail "Slurm does not lift its own: $(vocl pool nodes; cat "$scratch"/*.out)"
state draining || fail "Slurm lifted the administrator's: $(vocl pool nodes)"
vocl pool resume "$host" && state up || fail "the administrator's: $(vocl pool nodes)"

# The scripts ignore nodes that are in no pool, and wait for a daemon that is restarted.
scripts()
{
    for script in prolog epilog; do
        SLURM_JOB_ID=1 SLURM_JOB_GRES=gpu:1 VOCL_POOL=$1 sh "$top_builddir/etc/slurm/$script.sh" 2> "$scratch/err" ||
            fail "$script with the pool $1: $(cat "$scratch/err")"
    done
}
scripts "$scratch/no-such-file"
[ "$(status_of vocl pool drain nobody 2> /dev/null)" = 3 ] || fail "a node that there is not"
(PATH=/usr/bin:/bin scripts "$scratch/pool") || exit 1 # without vocl
kill "$daemon"
wait "$daemon"
scripts "$scratch/pool" &
scripts=$!
start_daemon
trap end_all EXIT
wait $scripts || fail "a daemon that starts again"
await "state=$host:up" || fail "after the scripts: $(vocl pool nodes)"
exit 0
