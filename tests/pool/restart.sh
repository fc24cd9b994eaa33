#!/bin/sh
# A daemon that is stopped hands over its state: sessions continue, and the next daemon knows them, the sessions that
# were about to be ended, and the requests that wait.
. "$(dirname "$0")/one-lib.sh"
make_pool here
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL
# stop: the daemon ends in time, whatever runs
stop()
{
    kill -TERM $daemon
    gone()
    {
        ! kill -0 $daemon 2> /dev/null
    }
    wait_until gone || fail "the daemon waits: $(cat "$scratch/log")"
    wait $daemon || fail "the daemon ends with $?: $(cat "$scratch/log")"
}

vocl run --exclusive -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
await running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
vocl run --wait 60 -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err2" &
second=$!
wait_until grep -q 'position 1' "$scratch/err2" || fail "no queue: $(cat "$scratch/err2")"
worker=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch"/state/session-*)
stop
kill -0 "$worker" || fail "the worker went with its daemon"
kill -0 $program || fail "the program went with the daemon"
# A child that a killed daemon had just forked may hold its lock for a moment.
flock "$scratch/state/lock" sleep 1 &
locked()
{
    ! flock -n "$scratch/state/lock" true
}
wait_until locked || fail "no lock"
start_daemon
await running=1 || fail "the session is not known: $(vocl pool sessions; cat "$scratch/log")"
waits()
{
    vocl pool queue | grep -q "all such devices"
}
wait_until waits || fail "nobody waits any more: $(cat "$scratch/err2")"

# a session that is being ended, and does not end by itself
kill -STOP "$worker"
vocl pool kill "$(vocl pool sessions | awk 'NR == 2 { print $1 }')" || fail "kill"
stop
start_daemon
over()
{
    ! grep -q State /proc/"$worker"/status 2> /dev/null || grep -q '^State:.*Z' /proc/"$worker"/status
}
wait_until over || fail "the daemon before wanted to end it: $(vocl pool sessions; cat "$scratch/log")"
grep -q "\"why\":\"ended by $user\"" "$scratch/accounting" || fail "no account of why: $(cat "$scratch/accounting")"
kill $program 2> /dev/null && wait $program
wait $second || fail "who waited has got nothing: $(cat "$scratch/err2" "$scratch/log")"
await sessions=0 || fail "a session is left: $(vocl pool sessions)"

# A session that ends well after the restart, and one that ends while there is no daemon: both are recorded so, with
# everything that they used.
seconds()
{
    sed 's/.*"device.seconds": *\([0-9.]*\).*/\1/'
}
used()
{
    vocl pool --json sessions | tr '\n' ' ' | seconds | awk '{ exit !($1 > 0.3) }'
}
# on_record: more than a second of device time is in the session's file
on_record()
{
    grep -q '"device_ns":[1-9][0-9]\{9,\}' "$scratch"/state/session-*
}
for when in after meanwhile killed; do
    rm -f "$scratch/enough"
    vocl run -- "$top_builddir/tests/pool/burn" 1 "$scratch/enough" > /dev/null 2> "$scratch/err" &
    program=$!
    await running=1 && wait_until used || fail "$when: no session: $(vocl pool sessions; cat "$scratch/err" "$scratch/log")"
    worker=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch"/state/session-*)
    if [ $when = killed ]; then # its use is recorded but for the last few seconds
        wait_until on_record || fail "nothing is on record: $(cat "$scratch"/state/session-*)"
        kill -9 $daemon
        wait $daemon
    else
        stop
    fi
    if [ $when != after ]; then
        touch "$scratch/enough"
        wait $program || fail "$when: status $?: $(cat "$scratch/err")"
        wait_until over || fail "its worker does not end"
    fi
    start_daemon
    if [ $when = after ]; then
        await running=1 || fail "$when: the session is not known: $(vocl pool sessions; cat "$scratch/log")"
        touch "$scratch/enough"
        wait $program || fail "$when: status $?: $(cat "$scratch/err")"
    fi
    await sessions=0 || fail "$when: a session is left: $(vocl pool sessions)"
    tail -n 1 "$scratch/accounting" | grep -q '"end":"completed"' || fail "$when: on record is $(tail -n 1 "$scratch/accounting")"
    tail -n 1 "$scratch/accounting" | seconds | awk '{ exit !($1 > 0.3) }' || fail "$when: used: $(tail -n 1 "$scratch/accounting")"
done
[ -z "$(ls "$scratch"/state/session-* "$scratch"/state/status-* 2> /dev/null)" ] || fail "state is left"

grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
