#!/bin/sh
# A pool whose processes are stopped or killed, and whose network fails: programs end with an error or right results,
# devices are free again, and unreachable daemons delay nothing.
. "$(dirname "$0")/pool-lib.sh"
about_silence
echo "lost after $VOCL_PEER_TIMEOUT s of silence"
mark=VOCL_TEST_MARK=$$

write_config n1
idle_limit=$((VOCL_PEER_TIMEOUT + 1)) # a stopped process is lost before that
write_config n2 "idle-limit = $idle_limit;"
write_config n3
for host in n1 n2 n3; do
    start_daemon $host
done
await nodes=3 || fail "not all nodes find each other: $(root vocl pool nodes; cat "$scratch"/n?.log)"

# begin PHASE [OPTION...]: starts alice's program, which stays in its phase until it is told that it is enough; on n1
# unless options say otherwise
begin()
{
    phase=$1
    shift
    rm -f "$scratch/out" "$scratch/enough"
    as $alice env "$mark" VOCL_LOG=warn vocl run --policy order "$@" -- "$scratch/bin/phases" \
        "$phase" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
    running=$!
    wait_until there || fail "$phase: no program: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    program=$(process_named phases)
}
there()
{
    grep -q ready "$scratch/out" 2> /dev/null || ! kill -0 $running 2> /dev/null
}
process_named()
{
    grep -slx "$1" $(grep -slzxF "$mark" /proc/[0-9]*/environ | sed 's,environ$,comm,') | cut -d / -f 3 | head -n 1
}
# worker HOST: prints its PID
worker()
{
    sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch/state-$1"/session-* | head -n 1
}
fault()
{
    since=$(cut -d ' ' -f 1 /proc/uptime)
    [ -n "$2" ] || fail "nobody there to get SIG$1"
    kill -"$1" "$2"
}
over()
{
    ! kill -0 $running 2> /dev/null
}
# enough: tells the program; times are counted from then on
enough()
{
    since=$(cut -d ' ' -f 1 /proc/uptime)
    touch "$scratch/enough"
}
# ended_with STATUS WHAT: the program ends so, and its devices are free again
ended_with()
{
    wait_until over || fail "$phase, $2: the program hangs: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    wait $running
    got=$?
    echo "$phase, $2: $(awk -v since="$since" 'NR > 1 { printf "%s %s %s %s, after %.1f s", $2, $3, $4, $5, $1 - since }' \
        "$scratch/out")"
    [ $got = "$1" ] || fail "$phase, $2: status $got: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    await sessions=0 || fail "$phase, $2: devices stay taken: $(root vocl pool sessions; cat "$scratch"/n?.log)"
    echo "    free again after $(awk -v since="$since" '{ printf "%.1f", $1 - since }' /proc/uptime) s"
    wait_until nothing_left || fail "$phase, $2: left: $(ps -u $alice -o pid=,stat=,args=)"
}
# Processes that are dead and not reaped wait for this machine's init.
nothing_left()
{
    ! ps -u $alice -o stat=,args= | grep -q '^[^Z].*vocl-'
}

for phase in launches read; do
    begin $phase
    fault STOP "$(worker n1)"
    ended_with 3 "a stopped worker"
done
begin nodes --count 2 --policy spread
fault STOP "$(worker n2)"
ended_with 3 "one of two workers stopped"

begin launches
fault STOP "$(worker n1)"
kill -KILL "$program"
ended_with 137 "a killed program with a stopped worker"

begin launches
fault STOP "$(cat "$scratch/n1.pid")"
await nodes=2 || fail "a stopped daemon is not lost: $(root vocl pool nodes)"
kill -CONT "$(cat "$scratch/n1.pid")"
await running@n1=1 || fail "the session of a stopped daemon is lost: $(root vocl pool sessions)"
enough
ended_with 0 "its daemon stopped for some time"

begin launches
fault KILL "$(cat "$scratch/n1.pid")"
start_daemon n1
await running@n1=1 || fail "the session of a killed daemon is lost: $(root vocl pool sessions)"
enough
ended_with 0 "another daemon in its place"
await nodes=3 || fail "n1 does not come back"

begin launches
fault KILL "$(process_named vocl-join)"
ended_with 3 "vocl-join killed"
begin read
victim=$(process_named vocl-join)
fault STOP "$victim"
wait_until over || fail "vocl-join stopped: the program hangs"
kill -CONT "$victim"
ended_with 3 "vocl-join stopped"

begin write
fault STOP "$program"
sleep $((VOCL_PEER_TIMEOUT + 3)) # nothing may happen in this time
kill -CONT "$program"
enough
ended_with 0 "Ctrl-Z"

# An idle session keeps devices from others only as long as the pool allows.
root vocl pool drain n1 n3
begin idle
since=$(cut -d ' ' -f 1 /proc/uptime)
await sessions=0 || fail "a session that does nothing stays"
kill -KILL "$program"
ended_with 137 "idle-limit"
grep -q "it has done nothing for $idle_limit seconds" "$scratch/accounting-n2" || fail "idle-limit: $(cat "$scratch/accounting-n2")"
begin launches
sleep $((idle_limit + 2)) # nothing may happen in this time
enough
ended_with 0 "busy for longer than idle-limit"
root vocl pool resume n1 n3

# a node is cut off from the network
begin launches
since=$(cut -d ' ' -f 1 /proc/uptime)
ip -n $base-n1 link set eth0 down
await nodes=2 || fail "a node that is cut off is not lost: $(root vocl pool nodes)"
wait_until over || fail "a node is cut off: the program hangs"
ip -n $base-n1 link set eth0 up
ended_with 3 "its node cut off"
await nodes=3 || fail "n1 does not come back"

# Daemons at addresses that answer nothing come first in the pool file, and another one is stopped.
for number in 77 78 79; do
    ip -n $base-near neighbour add 10.94.0.$number lladdr 02:00:00:00:00:$number dev eth0 nud permanent
done
sed 's,^node n1 .*,node d1 10.94.0.77:7801\nnode d2 10.94.0.78:7801\nnode d3 10.94.0.79:7801\n&,' "$scratch/pool" > "$scratch/pool.dead"
kill -STOP "$(cat "$scratch/n1.pid")"
for tool in "pool nodes" "pool status" "devices" "run -- $scratch/bin/vector_add"; do
    since=$(cut -d ' ' -f 1 /proc/uptime)
    as $alice VOCL_POOL="$scratch/pool.dead" timeout 300 vocl $tool > "$scratch/out" 2> "$scratch/err" ||
        fail "vocl $tool with daemons that are not there: $(cat "$scratch/err")"
    echo "vocl ${tool%% --*} with four of six daemons dead or stopped: $(awk -v since="$since" '{ printf "%.2f", $1 - since }' /proc/uptime) s"
done
kill -CONT "$(cat "$scratch/n1.pid")"
await nodes=3 || fail "n1 does not come back"
for host in n1 n2 n3; do
    kill -TERM "$(cat "$scratch/$host.pid")"
done
grep -h ' error: \|AddressSanitizer\|runtime error' "$scratch"/n?.log && fail "errors in the logs"
exit 0
