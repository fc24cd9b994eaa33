#!/bin/sh
# However the program ends, and whichever side is killed, no process and no file of the session is left a moment later,
# and the program gets an error for a lost worker instead of hanging.
. "$(dirname "$0")/../lib.sh"
at_most 900
with_own_memory tmp

files() { ls /dev/shm /tmp | grep -iE 'vocl|ucx|mpi|hydra|pmi|sm_segment'; }
before=$(files)

# The processes of sessions that this test started are found by its own mark in their environment.
mark=VOCL_TEST_MARK=$$
gone()
{
    wait_until none_left "$mark" && return 0
    echo "left after $1:"
    for pid in $(session_processes "$mark"); do ps -o pid,args -p "$pid"; done
    return 1
}

# begin [HOW]: starts the sleeper, and returns when it is ready; $pid is its PID
begin()
{
    rm -f "$scratch/out" # or "ready" may be the last one's
    env "$mark" vocl run -- "$top_builddir/tests/session/sleeper" "$@" > "$scratch/out" 2> "$scratch/err" &
    pid=$!
    wait_until grep -qs ready "$scratch/out" || fail "the program does not start: $(cat "$scratch/err")"
}

status=0
for round in $(seq "$(rounds 1)"); do
    for signal in KILL SEGV INT; do
        begin
        kill -$signal $pid
        wait $pid 2> /dev/null
        gone "SIG$signal, round $round" || status=1
    done
    # The worker is killed instead.
    begin finish
    for process in $(session_processes "$mark"); do
        if [ "$(cat /proc/$process/comm)" = vocl-proxy ]; then kill -KILL "$process"; fi
    done
    wait $pid
    [ $? = 3 ] || { echo "round $round: the program did not get an error: $(cat "$scratch/out")"; status=1; }
    gone "a killed worker, round $round" || status=1
done
for how in return exit _exit abort; do
    env "$mark" vocl run -- "$top_builddir/tests/session/sleeper" $how > /dev/null 2>&1
    gone "$how" || status=1
done
after=$(files)
[ "$before" = "$after" ] || { echo "files are left:"; echo "$before" > "$scratch/before"; echo "$after" | diff "$scratch/before" -; status=1; }
exit $status
