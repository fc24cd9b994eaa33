#!/bin/sh
# A node whose clock is wrong: MUNGE refuses its daemon, and the other nodes consider it lost, with that reason in the
# list of nodes, in the log, in the error of a program that gets no devices, and in the metrics.
. "$(dirname "$0")/pool-lib.sh"
need curl curl
for host in n1 n2 n3; do
    write_config $host "http = \"127.0.0.1:7880\";"
done
# start_munged OFFSET: starts n3's own munged, whose clock is wrong by so many seconds
start_munged()
{
    mkdir -p "$scratch/munge3" && chmod 755 "$scratch/munge3"
    env LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$top_builddir/tests/pool/.libs/clock_off.so" CLOCK_OFF="$1" munged --foreground --force \
        --key-file="$scratch/munge.key" --socket="$scratch/munge3/socket" --pid-file="$scratch/munge3/pid" \
        --log-file="$scratch/munge3/log" --seed-file="$scratch/munge3/seed" > "$scratch/munged3.out" 2>&1 &
    echo $! > "$scratch/munged3.pid"
    wait_until test -S "$scratch/munge3/socket" || fail "munged: $(cat "$scratch/munged3.out")"
}
end_munged()
{
    kill "$(cat "$scratch/munged3.pid")"
    wait "$(cat "$scratch/munged3.pid")"
    rm -f "$scratch/munge3/socket"
}
setting "$scratch/n3.conf" munge-socket "\"$scratch/munge3/socket\""

# lost HOST REASON: that daemon and its clients consider n3 lost, for that reason
lost()
{
    lost_host=$1 lost_reason=$2
    wait_until is_lost || fail "$2: $(nodes "$1"; cat "$scratch/$1.log")"
    grep -q "$2" "$scratch/$1.log" || fail "$1 does not say \"$2\": $(cat "$scratch/$1.log")"
}
# nodes HOST: prints what its daemon knows
nodes()
{
    grep -v '^node' "$scratch/pool" > "$scratch/pool.$1"
    grep "^node $1 " "$scratch/pool" >> "$scratch/pool.$1"
    root env VOCL_POOL="$scratch/pool.$1" vocl pool nodes
}
is_lost()
{
    nodes "$lost_host" | grep -q "^n3 *lost .*$lost_reason"
}
# metrics HOST: prints its daemon's metrics; curl does not work with the address sanitizer
metrics()
{
    ip netns exec $base-"$1" env -u LD_PRELOAD curl -s http://127.0.0.1:7880/metrics
}
# figure HOST PATTERN: the host's metrics match
figure()
{
    figure_host=$1 figure_pattern=$2
    wait_until is_there || fail "$2: $(metrics "$1")"
}
is_there()
{
    metrics "$figure_host" | grep -q "^$figure_pattern"
}
start_daemon n1
start_daemon n2
await nodes=2 || fail "no pool of two: $(cat "$scratch"/n?.log)"
lost n1 'refused connection at'
grep -q 'node n3 is lost: refused connection at' "$scratch/n1.log" || fail "the log: $(cat "$scratch/n1.log")"
figure n1 'vocl_node_lost{node="n3",reason="unreachable"} 1$'

start_munged 3600
start_daemon n3
for host in n1 n2; do
    lost $host "munge: .* credential: the clock of n3 is 3[56][0-9][0-9] seconds ahead"
    grep -q 'node n3 is lost: .* refuses this daemon: munge: .*the clock of n3' "$scratch/$host.log" || fail "$(cat "$scratch/$host.log")"
    figure $host 'vocl_node_lost{node="n3",reason="clock"} 1$'
done
as $alice vocl devices --count 5 > /dev/null 2> "$scratch/err" && fail "five devices of four"
grep -q 'n3: lost (.*the clock of n3 is 3[56][0-9][0-9] seconds ahead' "$scratch/err" || fail "no word of n3: $(cat "$scratch/err")"
metrics n1 | grep 'vocl_node_lost{node="n2"' && fail "n2 is lost"
# n3 considers the other nodes lost
grep -q "node n1 is lost: .*the clock of n1 is 3[56][0-9][0-9] seconds behind" "$scratch/n3.log" || fail "n3: $(cat "$scratch/n3.log")"

# The same with a clock that is behind; once the clock is right, the node is back.
end_munged
start_munged -3600
lost n1 "the clock of n3 is 3[56][0-9][0-9] seconds behind"
end_munged
start_munged 0
await nodes=3 || fail "n3 is not back: $(nodes n1; cat "$scratch"/n?.log)"
metrics n1 | grep '^vocl_node_lost' && fail "a node is lost"
nodes n1 | grep clock && fail "the reason stays: $(nodes n1)"
grep Sanitizer "$scratch"/n?.log && fail "the sanitizer found something"
exit 0
