#!/bin/sh
# A session of a pool is suspended, resumed and moved in quick succession, by one client or by several at once: each
# client gets an answer, and the program its results.
. "$(dirname "$0")/move-lib.sh"
for host in n1 n2; do
    write_config $host 'devices = ( { match = "*"; sessions = 2; } );'
    sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf"
    start_daemon $host
done
await nodes=2 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"

# ask ARGUMENT...: makes this request for the session, which must succeed
ask()
{
    as $alice vocl pool "$@" "$session" > "$scratch/asked" 2>&1 ||
        fail "turn $turn: $*: $(cat "$scratch/asked" "$scratch/err"; root vocl pool sessions; tail -n 5 "$scratch"/n?.log)"
}

# One client makes requests for an idle program, as fast as it can.
mkdir "$scratch/words"
begins $alice env VOCL_LOG=info "$scratch/bin/suspended" 4 "$scratch/words"
ready
session=$(part id)
for turn in $(seq $(rounds 2)); do
    ask suspend
    ask resume
    ask suspend
    ask resume
    ask move --quiet
done
touch "$scratch/words/ask" "$scratch/words/resume" "$scratch/words/again"
wait $program || fail "status $?: $(tail -n 5 "$scratch/out" "$scratch/err")"
grep -qx right "$scratch/out" || fail "$(cat "$scratch/out")"
await sessions=0 || fail "left: $(root vocl pool sessions)"

# Several clients make requests for a program that works, and so resumes by itself: some may be refused, none hangs.
begins $alice env VOCL_LOG=info "$scratch/bin/moved" 4 0 "$scratch/enough"
ready
session=$(part id)
for turn in $(seq $(rounds 2)); do
    askers=
    for what in suspend suspend resume move; do
        as $alice vocl pool $what "$session" > "$scratch/asked-$what" 2>&1 &
        askers="$askers $!"
    done
    for asker in $askers; do
        wait $asker && echo done >> "$scratch/done"
    done
done
# All requests that were granted may have been moves: then suspends it.
has_been_suspended()
{
    grep -q 'resumed:' "$scratch/err" || { as $alice vocl pool suspend "$session" > "$scratch/asked-suspend" 2>&1 && false; }
}
wait_until has_been_suspended || fail "it has not been suspended: $(cat "$scratch/err" "$scratch"/asked-*)"
echo "of $((4 * turn)) that asked $(wc -l < "$scratch/done") were heard, $(grep -c 'resumed:' "$scratch/err")  suspensions"
ends "asked by several"
none_left_on n1 n2
exit 0
