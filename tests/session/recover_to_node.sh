#!/bin/sh
# VOCL_RECOVER_TO=node: two workers of the session hold the contents of snapshots. A lost worker is replaced, and its
# replacement gets the contents from the other one; the program finds its results. If both are lost, that is an error.
. "$(dirname "$0")/../lib.sh"
. "$top_srcdir/tests/session/recover-lib.sh"
graph=$top_builddir/tests/session/graph
moved=$top_builddir/tests/session/moved
at_most 900

kept="are kept by itself and by worker" more=3

are_kept()
{
    [ "$(grep -c "$kept" "$scratch/err")" -gt "$1" ]
}

# harm WHO...: kills the first worker, the last or all, each time contents have been saved anew
harm()
{
    for who in "$@"; do
        before=$(grep -c "$kept" "$scratch/err")
        wait_until are_kept $((before + more)) || return 0
        kill -KILL $(one_of $who)
        [ $who = all ] || wait_until more_replaced || return 0
    done
}
more_replaced()
{
    [ "$(replaced)" -gt "${had:-0}" ] && had=$(replaced)
}

apart="VOCL_RECOVER_TO=node VOCL_SHARE=0 VOCL_RECOVER_LOG=64K"

# is_survived HARM HOW PROGRAM...: the program runs until all of the harm is done and has had its effect
is_survived()
{
    survives "$@" "$scratch/enough"
    [ "$(replaced)" -gt 0 ] || fail "nothing was replaced: $(grep -v debug: "$scratch/err" | tail -n 9)"
}

# Programs whose workers exchange contents all the time
beside is_survived first "$apart vocl run --workers 2" "$graph" 1 1000
beside is_survived last "$apart vocl run --workers 2" "$graph" 2 1000
beside is_survived "last first" "$apart vocl run --workers 3" "$graph" 3 1000
[ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] ||
    beside is_survived "last first" "$apart VOCL_NETWORK=tls vocl run --workers 2" "$graph" 4 1000

# A program whose first worker has all contents, while the second only holds copies: the first is lost; or the second is
# lost, and the first once the replacement holds the copies.
kept_for_one()
{
    "$moved" 4 100 > "$scratch/native"
    more=0
    is_survived "$@"
    same_as_natively "$@"
}
beside kept_for_one first "$apart VOCL_RECOVER_LOG=1K vocl run --workers 2" "$moved" 4 0
beside kept_for_one "last first" "$apart VOCL_RECOVER_LOG=1K vocl run --workers 2" "$moved" 4 0

# Both workers are lost: this is an error, and the log has the reason.
all_lost()
{
    : > "$scratch/err"
    env "$mark" VOCL_RECOVER=replay VOCL_LOG=debug $apart timeout -k 10 600 vocl run --workers 2 -- "$graph" 5 1000 "$scratch/never" \
        > "$scratch/out" 2> "$scratch/err" &
    program=$!
    harm all
    wait $program && fail "all are lost, and the program is well"
    grep -q 'not replaced: both workers that kept its contents are lost' "$scratch/err" ||
        fail "no reason is told: $(grep -v debug: "$scratch/err" | tail -n 9)"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
}
beside all_lost

# There is no other worker: contents are saved at the program's host.
nobody_else()
{
    "$moved" 1 100 > "$scratch/native"
    more=0
    kept="kept at the application's host, for no other worker can keep them"
    is_survived first "$apart VOCL_RECOVER_LOG=1K vocl run" "$moved" 1 0
    same_as_natively nobody_else
    grep -q "$kept" "$scratch/err" || fail "it is not told where contents are kept"
}
beside nobody_else

# Saved contents do not pass over the program's link.
received()
{
    env VOCL_RECOVER=replay VOCL_LOG=info $apart "$@" vocl run --workers 2 -- "$graph" 6 4000 > /dev/null 2> "$scratch/err" ||
        fail "$*: $(tail -n 9 "$scratch/err")"
    sed -n 's/.* bytes sent, \([0-9]*\) received$/\1/p' "$scratch/err" | awk '{ all += $1 } END { print all }'
}
not_by_the_program()
{
    here=$(received VOCL_RECOVER_TO=host) there=$(received)
    echo "the program received $there bytes, and $here with contents kept at its host"
    [ "$there" -lt $((here * 2 / 3)) ] || fail "contents have come to the program: $there bytes of $here"
}
beside not_by_the_program
well_beside
