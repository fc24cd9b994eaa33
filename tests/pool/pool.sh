#!/bin/sh
# A pool of three hosts, seen from outside: which devices users get, and which not, what ends a session, and what
# survives.
. "$(dirname "$0")/pool-lib.sh"

# a control group (v2), where they exist
group=
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -w $root/cgroup.procs ] && [ -e $root/cgroup.controllers ] && group=$root/$base
done
write_config n1 ${group:+"cgroup = \"$group\";"} 'devices = ( { match = "*"; sessions = 2; memory = "64M" } );' 'sessions-per-user = 6;'
write_config n2 "deny = [ \"$bob\" ];"
write_config n3
for host in n1 n2 n3; do
    SECRET_OF_THE_DAEMON=1 start_daemon $host
done
await nodes=3 || fail "not all nodes find each other: $(root vocl pool nodes; cat "$scratch"/n?.log)"

# wait_to_end PROGRAM: ends a burn, and returns its status
wait_to_end()
{
    touch "$scratch/enough"
    wait "$1"
    ended_with=$?
    rm "$scratch/enough"
    return $ended_with
}

# the same results as natively, from a worker that runs as the user
"$scratch/bin/vector_add" > "$scratch/native" || fail "vector_add natively"
as $alice vocl run -- "$scratch/bin/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "vector_add: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
cmp "$scratch/native" "$scratch/out" || fail "vector_add prints something else"
await sessions=0 || fail "a session is left: $(root vocl pool sessions)"
grep -q '"user":"'$alice'"' "$scratch"/accounting-n1 || fail "no account of it"

# the worker: it runs as alice, and has nothing of the daemon's
as $alice vocl run --policy order -- "$scratch/bin/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
started()
{
    grep -q '"started":true' "$scratch"/state-n1/session-* 2> /dev/null
}
wait_until started || fail "no session: $(cat "$scratch/err")"
worker=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch"/state-n1/session-*)
[ "$(stat -c %U "/proc/$worker")" = $alice ] || fail "the worker is $(stat -c %U "/proc/$worker")'s"
tr '\0' '\n' < "/proc/$worker/environ" | grep -q "^SECRET" && fail "the worker has the daemon's environment"
grep -q '^NoNewPrivs:.*1$' "/proc/$worker/status" || fail "the worker could get new privileges"
grep -q '^Groups:.*0' "/proc/$worker/status" && grep '^Groups:' "/proc/$worker/status" | grep -qw 0 && fail "root's groups"
[ -z "$group" ] || grep -q "$base/vocl-" "/proc/$worker/cgroup" || fail "its group: $(cat "/proc/$worker/cgroup")"
[ "$(ps -o sid= "$worker" | tr -d ' ')" = "$worker" ] || fail "it is in another's session"
root vocl pool kill "$(root vocl pool sessions | sed 1d | awk 'NR == 1 { print $1 }')" || fail "kill"
await sessions=0 || fail "a killed session stays"
wait_to_end $program
[ -z "$group" ] || [ -z "$(ls -d "$group"/vocl-* 2> /dev/null)" ] || fail "a control group is left"

# placement: the nodes of a session's parts, as one daemon hears of them from the others
# placed NODES OPTION...: a session of alice's is on these nodes
placed()
{
    placed_on=$1
    shift
    : > "$scratch/out"
    as $alice vocl run "$@" -- "$scratch/bin/burn" 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until test -s "$scratch/out" || fail "no session with $*: $(cat "$scratch/err")"
    wait_until is_placed || fail "$* is on $(nodes_of_all), not on $placed_on"
    root vocl pool kill "$(root vocl pool sessions | sed 1d | awk 'NR == 1 { print $1 }')" || fail "kill"
    await sessions=0 || fail "a killed session stays"
    wait_to_end $program
}
nodes_of_all()
{
    root vocl pool sessions | sed 1d | awk '{ print $4 }' | sort | uniq | tr '\n' ' '
}
is_placed()
{
    [ "$(nodes_of_all)" = "$placed_on " ]
}
placed "n1" --count 2 --policy pack
placed "n1 n2 n3" --count 3 --policy spread
placed "n1 n2 n3" --count 5 --policy order
as $alice vocl run --count 7 -- true 2> "$scratch/err" || fail "a program without OpenCL needs devices: $(cat "$scratch/err")"
as $alice vocl devices --count 7 2> "$scratch/err" && fail "seven devices of six"
grep -q "too few such devices" "$scratch/err" || fail "seven devices of six: $(cat "$scratch/err")"
[ "$(as $alice vocl devices --count 6 | sed 1d | wc -l)" = 6 ] || fail "six devices of six"
await sessions=0 || fail "sessions stay"

# sessions over several nodes, at the same time on the same devices
for name in many_devices many_copies; do
    "$scratch/bin/$name" > "$scratch/native.$name" 2> /dev/null || fail "$name natively"
done
running=
for name in many_devices many_copies many_devices; do
    number=$((number + 1))
    { as $alice vocl run --count 3 --mem 256M --policy spread -- "$scratch/bin/$name" > "$scratch/out.$number" \
        2> "$scratch/err.$number" && diff "$scratch/native.$name" "$scratch/out.$number"; } &
    running="$running $!"
done
for process in $running; do
    wait $process || fail "several nodes, several sessions: $(cat "$scratch"/err.*)"
done
await sessions=0 || fail "sessions stay"

# memory: n1 allows 64 MiB
as $alice vocl run --policy order -- "$scratch/bin/limits" 40000000 > "$scratch/out" 2> "$scratch/err"
printf '67108864 67108864\n0 -4\n0\n1 0\n' | cmp -s - "$scratch/out" || fail "memory: $(cat "$scratch/out")"
as $alice vocl run --policy order --mem 32M -- "$scratch/bin/limits" 20000000 > "$scratch/out" 2> "$scratch/err"
printf '33554432 33554432\n0 -4\n0\n1 0\n' | cmp -s - "$scratch/out" || fail "memory asked for: $(cat "$scratch/out")"

# bob may not use n2
[ "$(as $bob vocl devices --count 4 | sed 1d | wc -l)" = 4 ] || fail "bob's four devices"
as $bob vocl devices --count 5 2> "$scratch/err" && fail "bob has a device of n2"
grep -q 'may not use' "$scratch/err" || fail "bob on n2: $(cat "$scratch/err")"

# exclusive devices, and waiting for them
await sessions=0 || fail "sessions stay"
as $alice vocl run --count 6 --exclusive -- "$scratch/bin/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/first" &
first=$!
await 'sessions>=1' || fail "no exclusive session: $(cat "$scratch/first")"
as $bob vocl devices 2> "$scratch/err" && fail "a device that is alice's alone"
grep -qE 'are taken|[0-9] cpu taken; .* may not use' "$scratch/err" || fail "taken devices: $(cat "$scratch/err")"
as $bob vocl run --wait 30 -- "$scratch/bin/vector_add" > "$scratch/out" 2> "$scratch/err" &
second=$!
wait_until grep -q 'position 1' "$scratch/err" || fail "no position in the queue: $(cat "$scratch/err")"
root vocl pool queue | grep -q $bob || fail "bob is not in the queue"
session=$(root vocl pool sessions | awk 'NR == 2 { print $1 }')
as $bob vocl pool kill "$session" 2> /dev/null && fail "bob ended alice's session"
as $alice vocl pool kill "$session" || fail "alice cannot end her session"
wait $second || fail "bob waited for nothing: $(cat "$scratch/err")"
cmp "$scratch/native" "$scratch/out" || fail "after waiting vector_add prints something else"
wait_to_end $first

# time limits: n3 allows 3 seconds from now on; the others are drained
write_config n3 'session-seconds = 3;'
reload n3 'read .* again' || fail "n3 does not read its configuration again"
as $bob vocl pool drain n1 2> /dev/null && fail "bob drained n1"
root vocl pool drain n1 n2 || fail "drain"
as $alice vocl run -- "$scratch/bin/burn" "$scratch/enough" > "$scratch/out" 2>&1 && fail "it goes on where there are 3 seconds"
wait_until grep -q '"why":"its time is up"' "$scratch/accounting-n3" || fail "time: $(cat "$scratch/out" "$scratch/n3.log")"
write_config n3 # without the time limit
reload n3 'read .* again' || fail "n3 does not read its configuration once more"
root vocl pool resume n1 n2
await nodes=3 || fail "resume"

# a killed program leaves nothing
: > "$scratch/out"
as $alice vocl run --count 3 --policy spread -- "$scratch/bin/burn" 0 "$scratch/enough" > "$scratch/out" 2>&1 &
killed=$!
wait_until test -s "$scratch/out" || fail "no session"
pkill -9 -x -u $alice burn
await sessions=0 || fail "the session of a killed program stays: $(root vocl pool sessions)"
wait $killed

runs_on_n1()
{
    root vocl pool sessions | grep -q ' n1 .*running'
}
# the loss of a daemon: its session continues, the others serve, and the next daemon takes the session over
as $alice vocl run --policy order -- "$scratch/bin/burn" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
burning=$!
await running@n1=1 || fail "no session: $(cat "$scratch/err")"
kill -9 "$(cat "$scratch/n1.pid")"
await nodes=2 || fail "n1 is not lost: $(root vocl pool nodes)"
refused()
{
    root vocl pool nodes | grep -q '^n1  *lost .*refused connection at 10.94.0.2:7801$'
}
wait_until refused || fail "why is n1 lost: $(root vocl pool nodes)"
as $bob vocl run -- "$scratch/bin/vector_add" > "$scratch/out2" 2> "$scratch/err2" || fail "without n1: $(cat "$scratch/err2")"
start_daemon n1
await nodes=3 || fail "n1 does not come back"
runs_on_n1 || fail "n1 does not know its session: $(root vocl pool sessions)"
wait_to_end $burning || fail "the session did not survive its daemon: $(cat "$scratch/err" "$scratch/n1.log")"
await sessions=0 || fail "the session that was taken over stays"
[ "$(grep -c '"program":"burn"' "$scratch/accounting-n1")" -ge 1 ] || fail "no account of the session that was taken over"

# reloading
echo 'nonsense = 1;' >> "$scratch/n2.conf"
reload n2 'stays as it was: .*no such setting' || fail "a bad configuration is taken"
write_config n2 "allow = [ \"$bob\" ];"
reload n2 'read .* again' || fail "the configuration is not read again"
await nodes=3 || fail "after reloading"
root vocl pool drain n1 n3
as $alice vocl devices 2> "$scratch/err" && fail "alice on n2"
as $bob vocl devices > /dev/null 2> "$scratch/err" || fail "bob on n2: $(cat "$scratch/err")"

# the end; a session that still ran would be left to the next daemon
await sessions=0 || fail "bob's session stays"
none_recorded()
{
    [ -z "$(ls "$scratch"/state-*/session-* 2> /dev/null)" ]
}
wait_until none_recorded || fail "state is left: $(ls "$scratch"/state-*)"
for host in n1 n2 n3; do
    kill -TERM "$(cat "$scratch/$host.pid")"
done
gone()
{
    ! kill -0 "$(cat "$scratch/n1.pid")" 2> /dev/null && ! kill -0 "$(cat "$scratch/n2.pid")" 2> /dev/null &&
        ! kill -0 "$(cat "$scratch/n3.pid")" 2> /dev/null
}
wait_until gone || fail "a daemon does not end"
# Processes that are dead and not reaped wait for this machine's init.
ps -u $alice -o stat=,pid=,args= | grep -v '^Z' && fail "processes of alice are left"
grep -h ' error: \|AddressSanitizer' "$scratch"/n?.log | grep -v 'stays as it was' && fail "errors in the logs"
exit 0
