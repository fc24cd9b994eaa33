#!/bin/sh
# srun --vocl, of the plugin spank_vocl.so, with a real Slurm of one node: each task has its devices, which are
# accounted to the job, and processes that a job leaves behind lose them when it ends.
. "$(dirname "$0")/slurm-lib.sh"
need python3 python3
plugin=$VOCL_LIBEXECDIR/spank_vocl.so
[ -e "$plugin" ] || skip "VOCL was built without its plugin for Slurm"
make_pool "$host" 'sessions-per-user = 0;' "munge-socket = \"$scratch/munge/socket\";"
# MUNGE authenticates a job's user; the users of this host are those of the pool.
mkdir -m 1777 "$scratch/cache"
setting "$scratch/conf" environment "[ \"POCL_DEVICES=pthread pthread pthread\", \"POCL_CACHE_DIR=$scratch/cache\" ]"
setting "$scratch/conf" auth '"munge"'
setting "$scratch/conf" key-file
printf 'auth munge\nmunge-socket %s\n%s\n' "$scratch/munge/socket" "$(grep '^node' "$scratch/pool")" > "$scratch/pool"
cat > "$scratch/vocl" <<END # slurmstepd has no environment, and this VOCL is not installed
#!/bin/sh
export VOCL_LIBEXECDIR=$VOCL_LIBEXECDIR
exec $VOCL_LIBEXECDIR/vocl "\$@"
END
chmod +x "$scratch/vocl"
start_one "plugstack required $plugin vocl=$scratch/vocl pool=$scratch/pool wait=1"
start_daemon
trap end_all EXIT
unset VOCL_POOL # the plugin sets it
burn=$top_builddir/tests/pool/burn

sessions()
{
    vocl pool --pool "$scratch/pool" --json sessions
}
# jobs [held]: prints the job of each session, or of each hold, and how many devices it has
jobs()
{
    sessions | python3 -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for session in node["sessions"]:
        if (session["state"] == "held") == (len(sys.argv) > 1):
            print(session["job"], len(session["devices"]))' "$@" | sort
}
count()
{
    [ "$(jobs | wc -l)" = "$1" ]
}

# A job without a request is not changed; the tasks of another get what they requested.
srun --help | grep -q -e '--vocl=' || fail "srun knows no --vocl: $(srun --help | tail -n 20)"
srun env > "$scratch/out" 2> "$scratch/err" || fail "a job without devices: $(cat "$scratch/err")"
grep -E '^(VOCL_POOL|LD_PRELOAD)' "$scratch/out" && fail "a job that asks for nothing is changed"
srun --vocl=2 --vocl-mem=16M vocl devices > "$scratch/out" 2> "$scratch/err" || fail "two devices: $(cat "$scratch/err")"
[ "$(grep -c ' CPU ' "$scratch/out")" = 2 ] || fail "not two devices: $(cat "$scratch/out")"
"$top_builddir/tests/parity/vector_add" > "$scratch/native"
srun --vocl=1 "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err" || fail "vector_add: $(cat "$scratch/err")"
cmp "$scratch/native" "$scratch/out" || fail "vector_add computes something else"

# as many devices as a program can get of a pool, and more
srun --vocl=256 vocl devices > "$scratch/out" 2>&1 && fail "256 devices of three: $(cat "$scratch/out")"
grep -q 'the pool: you may have 64 devices' "$scratch/out" || fail "why there are no 256 devices: $(cat "$scratch/out")"
srun --vocl=257 true > "$scratch/out" 2>&1 && fail "257 devices"
grep -q 'vocl=257 makes no sense' "$scratch/out" || fail "why not 257 devices: $(cat "$scratch/out")"

# each task has a session of its own, which is recorded with its job
srun -n 2 --oversubscribe --overcommit --vocl=1 --vocl-exclusive --vocl-share=50 "$burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
job=$!
wait_until count 2 || fail "not a session for each task: $(jobs; cat "$scratch/err" "$scratch/log")"
number=$(squeue --noheader --format %i)
[ "$(jobs)" = "$number.0.0 1
$number.0.1 1" ] || fail "the job is $number; its sessions: $(jobs)"
[ "$(jobs held)" = "$(jobs)" ] || fail "the sessions are $(jobs), and held is $(jobs held)"
sessions | grep -q '"share": 50' || fail "the share: $(sessions)"
scancel "$number"
wait $job
wait_until count 0 || fail "sessions outlive their job: $(jobs)"
[ "$(grep "\"job\":\"$number.0.[01]\"" "$scratch/accounting" | grep -c burn)" = 2 ] || fail "the account: $(cat "$scratch/accounting")"

[ -z "$(jobs held)" ] || fail "devices are held for a job that is over: $(jobs held)"

# Between two programs of a task nobody else gets its devices; when it has ended, everybody can.
cat > "$scratch/two" <<END
#!/bin/sh
vocl devices > $scratch/out.1 2>&1
touch $scratch/between
while [ -e $scratch ] && [ ! -e $scratch/go ]; do sleep 0.1; done
vocl devices > $scratch/out.2 2>&1
END
chmod +x "$scratch/two"
srun --vocl=3 --vocl-exclusive "$scratch/two" 2> "$scratch/err" &
job=$!
wait_until test -e "$scratch/between" || fail "a task with two programs: $(cat "$scratch/err")"
[ "$(jobs held | cut -d ' ' -f 2)" = 3 ] && [ -z "$(jobs)" ] || fail "between programs: held $(jobs held), sessions $(jobs)"
VOCL_POOL=$scratch/pool vocl devices > "$scratch/out" 2>&1 && fail "devices that a task holds: $(cat "$scratch/out")"
touch "$scratch/go"
wait $job || fail "a task with two programs: $(cat "$scratch/err")"
for program in 1 2; do
    [ "$(grep -c ' CPU ' "$scratch/out.$program")" = 3 ] || fail "program $program of a task: $(cat "$scratch/out.$program")"
done
held_nothing()
{
    [ -z "$(jobs held)" ]
}
wait_until held_nothing || fail "held after its task: $(jobs held)"
VOCL_POOL=$scratch/pool vocl devices > "$scratch/out" 2>&1 || fail "after a task: $(cat "$scratch/out")"

# A job of another user: the sessions and the hold are that user's, and root's jobs cannot get the devices meanwhile.
as_nobody()
{
    (cd / && exec setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME=/ "$@")
}
if as_nobody test -x "$VOCL_LIBEXECDIR/vocl-proxy" 2> /dev/null; then
    rm -f "$scratch/go" "$scratch/between"
    cat > "$scratch/others" <<END
#!/bin/sh
$scratch/vocl devices > $scratch/cache/out.1 2>&1
touch $scratch/cache/between
while [ -e $scratch ] && [ ! -e $scratch/go ]; do sleep 0.1; done
$scratch/vocl devices > $scratch/cache/out.2 2>&1
END
    chmod +x "$scratch/others"
    as_nobody srun --vocl=3 --vocl-exclusive "$scratch/others" 2> "$scratch/err" &
    job=$!
    wait_until test -e "$scratch/cache/between" || fail "another user's job: $(cat "$scratch/err"; tail -n 5 "$scratch/log")"
    sessions | grep -q '"user": "nobody"' && ! sessions | grep -q '"user": "root"' || fail "whose it is: $(sessions)"
    srun --overlap --jobid "$(squeue --noheader --format %i)" --vocl=1 "$scratch/vocl" devices > "$scratch/out" 2>&1 &&
        fail "root has what another's job holds: $(cat "$scratch/out")"
    touch "$scratch/go"
    wait $job || fail "another user's job: $(cat "$scratch/err")"
    for program in 1 2; do
        [ "$(grep -c ' CPU ' "$scratch/cache/out.$program")" = 3 ] || fail "another user's program $program: $(cat "$scratch/cache/out.$program")"
    done
    wait_until held_nothing || fail "held after another user's task: $(jobs held)"
    grep -q '"user":"nobody".*"job":"[0-9]*\.0\.0"' "$scratch/accounting" || fail "another user's account: $(tail -n 3 "$scratch/accounting")"
else
    echo "no job of another user: he may not come to $VOCL_LIBEXECDIR"
fi

# More devices are requested than exist: an error after the plugin's waiting time.
srun --vocl=1 --vocl-exclusive "$burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
job=$!
wait_until count 1 || fail "no session: $(cat "$scratch/err")"
srun --overlap --jobid "$(squeue --noheader --format %i)" --vocl=3 --vocl-exclusive vocl devices > "$scratch/out" 2>&1 &&
    fail "devices that another has: $(cat "$scratch/out")"
grep -q 'taken\|free\|in use' "$scratch/out" || fail "why there are none: $(cat "$scratch/out")"
scancel "$(squeue --noheader --format %i)"
wait $job

# A process that a job leaves behind, which Slurm does not see, loses its session with the job.
cat > "$scratch/leave" <<END
#!/bin/sh
setsid $burn 0 $scratch/enough > $scratch/left.out 2>&1 < /dev/null &
echo \$! > $scratch/left
until [ -s $scratch/left.out ]; do sleep 0.1; done # and makes no call from then on, so that it does not notice the loss
END
chmod +x "$scratch/leave"
srun --vocl=1 "$scratch/leave" 2> "$scratch/err" || fail "a job that leaves something: $(cat "$scratch/err")"
kill -0 "$(cat "$scratch/left")" || fail "it is not left: $(cat "$scratch/left.out")"
wait_until count 0 || fail "what a job left has devices still: $(jobs; tail -n 5 "$scratch/slurmd.log")"
kill "$(cat "$scratch/left")"

# a batch job's script, and its steps
cat > "$scratch/batch" <<END
#!/bin/sh
vocl devices
srun vocl devices
END
sbatch --wait --vocl=3 --output="$scratch/out" "$scratch/batch" > /dev/null 2> "$scratch/err" || fail "sbatch: $(cat "$scratch/err" "$scratch/out")"
[ "$(grep -c ' CPU ' "$scratch/out")" = 6 ] || fail "a batch job: $(cat "$scratch/out")"
grep -q '"job":"[0-9]*\.batch\.0"' "$scratch/accounting" || fail "the batch job's account: $(tail -n 2 "$scratch/accounting")"

# Invalid options are refused before a job is created.
# refused MESSAGE OPTION...
refused()
{
    refused_message=$1
    shift
    srun "$@" true 2> "$scratch/err" && fail "accepted: $*"
    grep -q -e "$refused_message" "$scratch/err" || fail "$*: $(cat "$scratch/err")"
}
refused 'vocl=0' --vocl=0
refused 'vocl-mem=8q' --vocl=1 --vocl-mem=8q
refused 'vocl-share=none' --vocl=1 --vocl-share=none
refused 'needs --vocl' --vocl-mem=8G
# An epilog that cannot connect to its pool drains no node.
kill $daemon
srun true || fail "no job without the pool"
srun --vocl=1 vocl devices > "$scratch/out" 2>&1 && fail "devices of no pool"
over()
{
    [ -z "$(squeue --noheader)" ] # which includes the epilogs
}
wait_until over || fail "a job does not end: $(squeue)"
are_idle 1 || fail "the node is lost with the pool: $(sinfo -l)"
exit 0
