#!/bin/sh
# Drains: each has an owner, and only that owner lifts it; they are stored; clients can wait for the last session; and a
# drain for a window of time begins and ends by itself.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool here
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL
# state STATE [WHY]: the node is in this state
state()
{
    vocl pool nodes | grep -q "^here  *$1 .*$2"
}
refuses()
{
    vocl devices > /dev/null 2>&1 && fail "$1: it lends its devices"
    return 0
}
vocl pool drain --reason "a new fan" here || fail "drain"
state draining "$user: a new fan" || fail "who and why: $(vocl pool nodes)"
vocl pool drain --owner slurm --reason "job 7" here || fail "another drain"
vocl pool resume --owner slurm here || fail "slurm resumes"
state draining "$user: a new fan" || fail "slurm lifted the administrator's: $(vocl pool nodes)"
vocl pool resume --owner slurm here 2> "$scratch/err" && fail "slurm resumes once more"
grep -q "not drained by slurm, but by $user" "$scratch/err" || fail "no word of whose: $(cat "$scratch/err")"
vocl pool --json nodes | python3 -c '
import json, sys
drain, = json.load(sys.stdin)["nodes"][0]["drains"]
assert drain["owner"] == drain["by"] == sys.argv[1] and drain["reason"] == "a new fan" and drain["since"] > 1e9, drain
' "$user" || fail "as JSON: $(vocl pool --json nodes)"

kill -9 $daemon
wait $daemon 2> /dev/null
start_daemon
state draining "$user: a new fan" || fail "forgotten: $(vocl pool nodes)"
refuses "after a restart"
vocl pool resume here || fail "resume"
state up || fail "resumed: $(vocl pool nodes)"
vocl pool resume here || fail "resuming a node that takes sessions"

# Waits for the last session.
vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
await running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
vocl pool drain --wait=0 here 2> "$scratch/err" && fail "it did not wait"
grep -q 'here has 1 sessions still' "$scratch/err" || fail "what is left: $(cat "$scratch/err")"
vocl pool drain --wait=100 here 2> "$scratch/err" &
waiting=$!
sleep 1
kill -0 $waiting 2> /dev/null || fail "it did not wait: $(cat "$scratch/err")"
vocl pool kill "$(vocl pool sessions | awk 'NR == 2 { print $1 }')" || fail "kill"
wait $waiting || fail "waiting for nothing: $(cat "$scratch/err")"
vocl pool wait --timeout=0 sessions=0 || fail "there is a session still"
kill $program 2> /dev/null && wait $program
vocl pool drain --wait=ever here 2> /dev/null
[ $? = 2 ] || fail "a wait that is none"
vocl pool drain --owner '' here && vocl pool drain --owner "$(printf '%050d' 1)" here 2> /dev/null && fail "an owner that is none"

# A window of time: until it begins the node takes sessions, but none that could last into it.
vocl pool resume here && vocl pool drain --reason "a new fan" --at 2h --until 2100-01-31 here || fail "a window"
state up "$user: a new fan from 20..-..-.. ..:.. until 2100-01-31 00:00" || fail "not when: $(vocl pool nodes)"
vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" || fail "before the window: $(cat "$scratch/err")"
setting "$scratch/conf" session-seconds 36000
vocl pool reload || fail "reload: $(cat "$scratch/log")"
state draining "$user: a new fan from" || fail "sessions could last into the window: $(vocl pool nodes)"
refuses "before the window"
setting "$scratch/conf" session-seconds
vocl pool reload || fail "reload: $(cat "$scratch/log")"
state up || fail "the window has begun: $(vocl pool nodes)"
kill -9 $daemon
wait $daemon 2> /dev/null
start_daemon
state up "$user: a new fan from" || fail "the window is forgotten: $(vocl pool nodes)"
# soon: drains for three seconds, in place of the window; fails if the command itself takes longer
soon()
{
    vocl pool drain --until 0.05m here 2> "$scratch/err"
}
wait_until soon || fail "until soon: $(cat "$scratch/err")"
wait_until state up || fail "it does not end: $(vocl pool nodes)"
wait_until grep -q "the time of $user's drain is over" "$scratch/log" || fail "the log: $(cat "$scratch/log")"
vocl pool events | grep -q '"event":"node-resume".*"draining":false' || fail "no event: $(vocl pool events)"
vocl pool --json nodes | grep -q '"drains": \[\]' || fail "it is there still: $(vocl pool --json nodes)"
vocl pool drain --until 2020-01-31 here 2> "$scratch/err" && fail "a window that is over"
grep -q 'the end of the time is before its beginning, or over' "$scratch/err" || fail "$(cat "$scratch/err")"
for wrong in '--at tomorrow' '--until 2x' '--at 2h --wait 5' '--at 2h --move'; do
    vocl pool drain $wrong here 2> "$scratch/err"
    [ $? = 2 ] || fail "$wrong: $(cat "$scratch/err")"
done
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
