#!/bin/sh
# The daemon of the node to which a session is to move is stopped while the move requests a place from it, and continues
# later: the session continues where it is, and no place is held for it. Then the policy moves sessions (vocl pool
# rebalance --do).
. "$(dirname "$0")/move-lib.sh"
about_silence
[ "$VOCL_PEER_TIMEOUT" -ge 10 ] || VOCL_PEER_TIMEOUT=10 # a node has 5 s to answer a request before it is lost
for host in n1 n2; do
    write_config $host 'devices = ( { match = "*"; sessions = 4; } );'
    sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf"
    start_daemon $host
done
await nodes=2 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"

nothing_held()
{
    root vocl pool --json devices | python3 -c '
import json, sys
pool = json.load(sys.stdin)
sys.exit(any(n["state"] not in ("up", "lost") for n in pool["nodes"]) or
         sum(d["sessions"] for n in pool["nodes"] for d in n["devices"]) != 1)' && [ "$(part state)" = running ] && [ "$(root vocl pool nodes | grep -c ' up ')" = 2 ]
}
balanced()
{
    root vocl pool rebalance > "$scratch/asked" 2>&1 && grep -q 'every session is where pack would place it' "$scratch/asked"
}

begins $alice "$scratch/bin/moved" 4 0 "$scratch/enough"
ready
here=$(part node) other=n1
[ "$here" != n1 ] || other=n2
# The daemon continues when the client has got an error, or when the other daemon considers it lost.
for how in refused continued; do
    kill -STOP "$(cat "$scratch/$other.pid")"
    as $alice timeout -k 5 60 vocl pool move --to $other "$(part id)" > "$scratch/asked" 2>&1 &
    asking=$!
    if [ $how = refused ]; then
        wait $asking && fail "$how: it has moved: $(cat "$scratch/asked")"
    else
        await nodes=1 || fail "$other is not lost: $(root vocl pool nodes)"
    fi
    kill -CONT "$(cat "$scratch/$other.pid")"
    [ $how = refused ] || wait $asking
    echo "$how: $(tail -n 1 "$scratch/asked")"
    grep -qE "$other does not answer|^moved" "$scratch/asked" || fail "$how: why: $(cat "$scratch/asked")"
    wait_until nothing_held ||
        fail "$how: held: $(root vocl pool status) $(cat "$scratch"/n?.log)"
    wait_until balanced || fail "$how: rebalance: $(cat "$scratch/asked")"
    if [ "$(part node)" = "$here" ]; then
        move --to $other || fail "$how: then: $(cat "$scratch/asked" "$scratch"/n?.log)"
    fi
    one_part || fail "$how: left: $(root vocl pool sessions)"
    here=$(part node) other=n1
    [ "$here" != n1 ] || other=n2
done
grep -h 'expires' "$scratch"/n?.log && fail "it is held against the user"
ends "silent"

# Two sessions are on two nodes, and the policy is to pack: one really moves to the other's node.
rm -f "$scratch/enough"
for number in 1 2; do
    as $alice vocl run --policy spread -- "$scratch/bin/moved" 4 0 "$scratch/enough" > "$scratch/out$number" 2> "$scratch/err$number" &
    programs="$programs $!"
    wait_until grep -q ready "$scratch/out$number" || fail "no program $number: $(cat "$scratch/err$number" "$scratch"/n?.log)"
done
[ "$(part node | sort | tr '\n' ' ')" = "n1 n2 " ] || fail "not spread: $(root vocl pool sessions)"
root vocl pool rebalance > "$scratch/asked" || fail "rebalance: $(cat "$scratch/asked")"
grep -q 'nothing was done' "$scratch/asked" && [ "$(grep -c 'n2 > n1' "$scratch/asked")" = 1 ] || fail "plan: $(cat "$scratch/asked")"
[ "$(part node | sort | tr '\n' ' ')" = "n1 n2 " ] || fail "a plan was carried out: $(root vocl pool sessions)"
root vocl pool rebalance --do > "$scratch/asked" 2>&1 || fail "rebalance --do: $(cat "$scratch/asked" "$scratch"/n?.log)"
cat "$scratch/asked"
packed()
{
    [ "$(part node | sort | tr '\n' ' ')" = "n1 n1 " ] && [ "$(part state | sort -u)" = running ]
}
wait_until packed || fail "not packed: $(root vocl pool sessions)"
wait_until balanced || fail "rebalanced: $(cat "$scratch/asked")"
touch "$scratch/enough"
for program in $programs; do
    wait "$program" || fail "rebalanced: status $?: $(tail -n 5 "$scratch"/out? "$scratch"/err?)"
done
await sessions=0 || fail "rebalanced: left: $(root vocl pool sessions)"
