#!/bin/sh
# vocl pool wait: scripts wait for conditions, also for a daemon that has not started, and get the actual state if a
# condition is not met in time.
. "$(dirname "$0")/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 1; } );'
VOCL_POOL=$scratch/pool
export VOCL_POOL
waits()
{
    timeout -k 5 120 vocl pool wait --timeout=100 "$@" || fail "wait $*: $(vocl pool status)"
}
# is_not SAID CONDITION...: the time-out expires, with this message
is_not()
{
    said=$1
    shift
    vocl pool wait --timeout=0 "$@" > "$scratch/said" 2>&1
    [ $? = 1 ] && grep -qF "$said" "$scratch/said" || fail "wait $*: not \"$said\": $(cat "$scratch/said")"
}

is_not 'Connection refused' sessions=0
vocl pool wait nodes=1 sessions=0 queue=0 state=here:up &
waiting=$!
start_daemon
wait $waiting || fail "for a daemon that starts"

is_not 'not nodes>=2, but 1; not running=1, but 0' 'nodes>=2' running=1 'running<=1'
is_not 'not drained=here: here is up, with 0 sessions' drained=here
is_not 'not state=there:lost: there is unknown' state=there:lost
vocl run -- "$top_builddir/tests/pool/burn" 0 600 > /dev/null 2> "$scratch/err" &
program=$!
waits running=1 'sessions>=1' 'sessions<=1' running@here=1 sessions@there=0 suspended=0 queue=0
timeout -k 5 120 vocl pool wait --user="$user" --timeout=100 sessions=1 || fail "of this user"
timeout -k 5 120 vocl pool wait --user=nobody --timeout=100 sessions=0 || fail "of another user"
vocl run --wait 600 -- "$top_builddir/tests/pool/burn" 0 600 > /dev/null 2> "$scratch/err" &
waiter=$!
waits 'queue>=1'
kill $waiter
wait $waiter
waits queue=0

# It ends when the condition is met, and not before.
vocl pool drain here
vocl pool wait --timeout=100 drained=here &
waiting=$!
is_not 'not drained=here: here is draining, with 1 sessions' drained=here state=here:draining
kill -0 $waiting 2> /dev/null || fail "it did not wait"
kill $program
wait $waiting || fail "for a node to be empty"
wait $program
waits sessions=0 state=here:draining

for wrong in '' sessions 'sessions=' 'sessions=x' 'sessions>1' 'running=>1' 'queue@here=0' 'nobody=0' 'state=here' 'state=here:ill' 'drained='; do
    vocl pool wait --timeout=0 "$wrong" 2> "$scratch/said"
    [ $? = 2 ] && grep -q 'there are sessions, running, suspended, nodes and queue' "$scratch/said" || fail "\"$wrong\": $(cat "$scratch/said")"
done
vocl pool wait 2> /dev/null
[ $? = 2 ] || fail "no condition"
vocl pool wait --timeout=ever sessions=0 2> /dev/null
[ $? = 2 ] || fail "a time that is none"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
