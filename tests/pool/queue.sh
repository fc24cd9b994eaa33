#!/bin/sh
# Programs of different users send requests to two daemons: the one that has waited longest is served first, whichever
# daemon it has asked, and the loss of a daemon costs none of them its position.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool one
add_daemon two 'devices = ( { match = "*"; mode = "hidden"; } );'
start_daemon
start_other two
meet_other
hold()
{
    # A session that has ended may still be listed, and the next request would be served before the holder's.
    VOCL_POOL=$scratch/pool await sessions=0 || fail "a session is left: $(VOCL_POOL=$scratch/pool vocl pool sessions)"
    VOCL_POOL=$scratch/pool vocl run --exclusive -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
    holder=$!
    VOCL_POOL=$scratch/pool await running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
}
# wait_at POOL NAME: sends a request, and adds NAME to $scratch/order when it is served
wait_at()
{
    { VOCL_POOL=$scratch/$1 vocl run --exclusive --wait 100 -- \
        sh -c "$top_builddir/tests/parity/vector_add > /dev/null && echo $2 >> $scratch/order" 2> "$scratch/err.$2"; } &
    waiting="$waiting $!"
    queued=$2
    is_queued()
    {
        grep -q position "$scratch/err.$queued"
    }
    wait_until is_queued || fail "$2 does not wait: $(cat "$scratch/err.$2")"
}
# queue: prints the queue as a daemon reports it
queue()
{
    VOCL_POOL=$scratch/$1 vocl pool --json queue |
        python3 -c 'import json, sys; print(*[entry["broker"] for entry in json.load(sys.stdin)["queue"]])'
}
release()
{
    VOCL_POOL=$scratch/pool vocl pool kill "$(VOCL_POOL=$scratch/pool vocl pool sessions | awk 'NR == 2 { print $1 }')" ||
        fail "kill"
    kill $holder 2> /dev/null && wait $holder
    for process in $waiting; do
        wait $process || fail "not served: $(cat "$scratch"/err.*)"
    done
}
hold
waiting=
wait_at pool.two first
wait_at pool second
wait_at pool.two third
wait_until grep -q 'position 3' "$scratch/err.third" || fail "the place in the whole queue: $(cat "$scratch/err.third")"
grep -q 'position 2' "$scratch/err.second" || fail "the place in the whole queue: $(cat "$scratch/err.second")"
same()
{
    [ "$(queue pool)" = "two one two" ] && [ "$(queue pool.two)" = "two one two" ]
}
wait_until same || fail "not one queue: $(queue pool), $(queue pool.two)"
release
[ "$(tr '\n' ' ' < "$scratch/order")" = "first second third " ] || fail "served as $(cat "$scratch/order" "$scratch"/log*)"

# the broker of the first request is lost: the request keeps its position with the other daemon
rm "$scratch/order" "$scratch"/err.*
hold
waiting=
wait_at pool.two first
wait_at pool second
wait_until grep -q 'position 2' "$scratch/err.second" || fail "second is not second: $(cat "$scratch/err.second")"
kill -9 $other
moved()
{
    [ "$(queue pool)" = "one one" ]
}
wait_until moved || fail "after the loss: $(queue pool; cat "$scratch"/err.*)"
release
[ "$(tr '\n' ' ' < "$scratch/order")" = "first second " ] || fail "served as $(cat "$scratch/order" "$scratch"/log*)"
grep 'Sanitizer' "$scratch"/log* && fail "the sanitizer found something"
exit 0
