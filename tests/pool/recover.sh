#!/bin/sh
# Sessions of a pool of three nodes lose workers, nodes and daemons: with VOCL_RECOVER programs print the same as
# natively, on another node if necessary, and nothing is left behind.
. "$(dirname "$0")/move-lib.sh"
patient=$VOCL_PEER_TIMEOUT
about_silence # a node that is cut off is lost by a time-out; one that is killed is lost at once
for host in n1 n2 n3; do
    write_config $host 'devices = ( { match = "*"; sessions = 4; } );' 'network = "tls";' 'sessions-per-user = 1;' \
        'cgroup = "none";' # all nodes are of one kernel here, and a session's group would be that of each
    sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf" # one device, and all nodes have the same
    start_daemon $host
done
await nodes=3 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"
"$scratch/bin/moved" 4 100 > "$scratch/native" 2> /dev/null || fail "natively"

# survives_here SETTING...: starts a program that runs until it is told to end
survives_here()
{
    rm -f "$scratch/enough"
    : > "$scratch/out"
    as $alice VOCL_RECOVER=replay VOCL_LOG=debug VOCL_PEER_TIMEOUT="$patient" "$@" vocl run --policy order -- \
        "$scratch/bin/moved" 4 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    one_part || fail "no session: $(root vocl pool sessions; grep -v debug: "$scratch/err" | tail -n 20; cat "$scratch"/n?.log)"
    ready
}
replaced()
{
    grep -c 'is worker [0-9]* now' "$scratch/err"
}
# replaced_again: once more than before
replaced_again()
{
    [ "$(replaced)" -gt "$before" ] || ! kill -0 $program
}
# mended WHAT: the program has another worker, and continues
mended()
{
    wait_until replaced_again && kill -0 $program || fail "$1: $(grep -v debug: "$scratch/err" | tail -n 20; cat "$scratch"/n?.log)"
    one_part || fail "$1: $(root vocl pool sessions; cat "$scratch"/n?.log)"
    echo "$1: $(grep 'is worker [0-9]* now' "$scratch/err" | tail -n 1 | sed 's/^.*warn: //'), on $(part node)"
}
# ends_right WHAT: the program ends with the right output
ends_right()
{
    ends "$1"
    diff "$scratch/native" "$scratch/out" || fail "$1: it prints something else"
}

# A worker is killed, again and again.
survives_here
session=$(part id)
for time in $(seq $(rounds 2)); do
    before=$(replaced)
    workers_on "$(part node)" | xargs kill -9
    mended "worker killed"
done
[ "$(part id)" = "$session" ] || fail "it is another session: $(part id)"

# A node vanishes, with its daemon and all its workers.
here=$(part node) before=$(replaced)
kill -9 "$(cat "$scratch/$here.pid")" $(workers_on "$here")
wait "$(cat "$scratch/$here.pid")" 2> /dev/null
mended "node gone"
[ "$(part node)" != "$here" ] || fail "it is on a node that is gone"
ends_right "killed"
start_daemon "$here"
await nodes=3 || fail "$here is not back: $(cat "$scratch/$here.log")"

# Only the daemon is killed: nothing is lost, and the next daemon takes over its sessions.
survives_here VOCL_PEER_TIMEOUT="$VOCL_PEER_TIMEOUT"
here=$(part node) before=$(replaced)
kill -9 "$(cat "$scratch/$here.pid")"
wait "$(cat "$scratch/$here.pid")" 2> /dev/null
await nodes=2 || fail "$here is not lost: $(root vocl pool nodes)"
start_daemon "$here"
await nodes=3 && one_part || fail "daemon killed: $(root vocl pool sessions; cat "$scratch/$here.log")"
[ "$(replaced)" = "$before" ] || fail "a worker was lost with its daemon"
workers_on "$here" | xargs kill -9
mended "worker killed after its daemon"

# A node is cut off from the network.
here=$(part node) before=$(replaced)
ip -n $base-switch link set "$here" down
mended "node cut off"
[ "$(part node)" != "$here" ] || fail "it is on a node that is cut off"
ip -n $base-switch link set "$here" up
ends_right "cut off"
await nodes=3 || fail "$here is not back: $(cat "$scratch/$here.log")"
# Reservations that were requested while the node was cut off, and that it receives only now, expire.
await sessions=0 || fail "$here has kept: $(root vocl pool sessions)"

# Two nodes share a context: the worker that is not lost also gets another place, or the same one again.
"$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/session/graph" "$scratch/bin/"
chmod a+rx "$scratch/bin/graph"
with_others()
{
    grep -q 'it depended on that worker' "$scratch/err" || ! kill -0 $program 2> /dev/null
}
have_met()
{
    [ "$(grep -c 'has met worker' "$scratch/err")" -gt "$met" ] || ! kill -0 $program 2> /dev/null
}
for which in head tail; do
    : > "$scratch/err"
    rm -f "$scratch/enough"
    as $alice VOCL_RECOVER=replay VOCL_LOG=debug VOCL_PEER_TIMEOUT="$patient" vocl run --count 2 --policy spread -- \
        "$scratch/bin/graph" 5 3000 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q 'all devices are known;' "$scratch/err" || fail "no session over two nodes: $(cat "$scratch/err")"
    met=0
    until with_others; do # a snapshot just before the kill may begin the journal anew
        wait_until have_met || fail "over two nodes: the workers do not depend on each other: $(grep -v debug: "$scratch/err")"
        met=$(grep -c 'has met worker' "$scratch/err") before=$(replaced)
        for host in n1 n2 n3; do
            workers_on $host
        done | $which -n 1 | xargs -r kill -9
        wait_until replaced_again || fail "over two nodes: not replaced: $(grep -v debug: "$scratch/err" | tail -n 20)"
    done
    touch "$scratch/enough"
    wait $program || fail "over two nodes: status $?: $(cat "$scratch/out"; grep -v debug: "$scratch/err" | tail -n 20; cat "$scratch"/n?.log)"
    grep -q 'it depended on that worker' "$scratch/err" || fail "over two nodes: $(grep -v debug: "$scratch/err")"
    grep 'of commands and data again' "$scratch/err" | sed 's/^.*warn: //'
    await sessions=0 || fail "over two nodes: left: $(root vocl pool sessions)"
done

# vocl-join is killed: whatever happens to the session, the program ends, and nothing is left.
survives_here
ip netns pids $base-near | while read -r pid; do
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" != vocl-join ] || kill -9 "$pid"
done
touch "$scratch/enough"
wait $program
echo "vocl-join killed: status $?"
await sessions=0 || fail "vocl-join killed: left: $(root vocl pool sessions)"
none_left_on n1 n2 n3
grep Sanitizer "$scratch"/n?.log && fail "the sanitizer found something"
exit 0
