#!/bin/sh
# A pool whose processes are stopped or killed, and whose network is gone: programs end with an error or right results,
# devices are free again, and daemons that cannot be reached cost nobody anything.
. "$(dirname "$0")/pool-lib.sh"
VOCL_PEER_TIMEOUT=2
export VOCL_PEER_TIMEOUT
mark=VOCL_TEST_MARK=$$

write_config n1
write_config n2 'idle-limit = 3;'
write_config n3
for host in n1 n2 n3; do
    start_daemon $host
done
wait_until nodes_up 3 || fail "not all nodes find each other: $(root vocl pool nodes; cat "$scratch"/n?.log)"

# begin PHASE SECONDS [OPTION...]: alice's program, in its phase; on n1 unless said otherwise
begin()
{
    phase=$1 seconds=$2
    shift 2
    rm -f "$scratch/out"
    as $alice env "$mark" VOCL_LOG=warn VOCL_PEER_TIMEOUT=2 vocl run --policy order "$@" -- "$scratch/bin/phases" \
        "$phase" "$seconds" > "$scratch/out" 2> "$scratch/err" &
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
    grep -slx "$1" $(grep -slzx "$mark" /proc/[0-9]*/environ | sed 's,environ$,comm,') | cut -d / -f 3 | head -n 1
}
# worker HOST: its number
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
# ended_with STATUS WHAT
ended_with()
{
    wait_until over || fail "$phase, $2: the program hangs: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    wait $running
    got=$?
    echo "$phase, $2: $(awk -v since="$since" 'NR > 1 { printf "%s %s %s %s, after %.1f s", $2, $3, $4, $5, $1 - since }' \
        "$scratch/out")"
    [ $got = "$1" ] || fail "$phase, $2: status $got: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    wait_until no_sessions || fail "$phase, $2: devices stay taken: $(root vocl pool sessions; cat "$scratch"/n?.log)"
    echo "    free again after $(awk -v since="$since" '{ printf "%.1f", $1 - since }' /proc/uptime) s"
    wait_until nothing_left || fail "$phase, $2: left: $(ps -u $alice -o pid=,stat=,args=)"
}
# what is dead but not reaped waits for this machine's init
nothing_left()
{
    ! ps -u $alice -o stat=,args= | grep -q '^[^Z].*vocl-'
}

for phase in launches read; do
    begin $phase 30
    fault STOP "$(worker n1)"
    ended_with 3 "a stopped worker"
done
begin nodes 30 --count 2 --policy spread
fault STOP "$(worker n2)"
ended_with 3 "one of two workers stopped"

begin launches 30
fault STOP "$(worker n1)"
kill -KILL "$program"
ended_with 137 "a killed program with a stopped worker"

begin launches 12
fault STOP "$(cat "$scratch/n1.pid")"
sleep 5
kill -CONT "$(cat "$scratch/n1.pid")"
listed()
{
    root vocl pool sessions | grep -q ' n1 .*running'
}
wait_until listed || fail "the session of a stopped daemon is lost: $(root vocl pool sessions)"
ended_with 0 "its daemon stopped for some time"

begin launches 14
fault KILL "$(cat "$scratch/n1.pid")"
start_daemon n1
ended_with 0 "another daemon in its place"
wait_until nodes_up 3 || fail "n1 does not come back"

begin launches 30
fault KILL "$(process_named vocl-join)"
ended_with 3 "vocl-join killed"
begin read 30
victim=$(process_named vocl-join)
fault STOP "$victim"
wait_until over || fail "vocl-join stopped: the program hangs"
kill -CONT "$victim"
ended_with 3 "vocl-join stopped"

begin write 3
fault STOP "$program"
sleep 5
kill -CONT "$program"
ended_with 0 "Ctrl-Z"

# who does nothing keeps devices from others only as long as the pool wants
root vocl pool drain n1 n3
begin idle 30
since=$(cut -d ' ' -f 1 /proc/uptime)
wait_until no_sessions || fail "a session that does nothing stays"
kill -KILL "$program"
ended_with 137 "idle-limit"
grep -q 'it has done nothing for 3 seconds' "$scratch/accounting-n2" || fail "idle-limit: $(cat "$scratch/accounting-n2")"
begin launches 5
since=$(cut -d ' ' -f 1 /proc/uptime)
ended_with 0 "busy for longer than idle-limit"
root vocl pool resume n1 n3

# a node is cut off
begin launches 30
since=$(cut -d ' ' -f 1 /proc/uptime)
ip -n $base-n1 link set eth0 down
lost()
{
    nodes_up 2
}
wait_until lost || fail "a node that is cut off is not lost: $(root vocl pool nodes)"
wait_until over || fail "a node is cut off: the program hangs"
ip -n $base-n1 link set eth0 up
ended_with 3 "its node cut off"
wait_until nodes_up 3 || fail "n1 does not come back"

# daemons that swallow what is sent to them stand first in the pool file, and one that is stopped
for number in 77 78 79; do
    ip -n $base-near neighbour add 10.94.0.$number lladdr 02:00:00:00:00:$number dev eth0 nud permanent
done
sed 's,^node n1 .*,node d1 10.94.0.77:7801\nnode d2 10.94.0.78:7801\nnode d3 10.94.0.79:7801\n&,' "$scratch/pool" > "$scratch/pool.dead"
kill -STOP "$(cat "$scratch/n1.pid")"
for tool in "pool nodes" "pool status" "devices" "run -- $scratch/bin/vector_add"; do
    since=$(cut -d ' ' -f 1 /proc/uptime)
    as $alice VOCL_POOL="$scratch/pool.dead" VOCL_PEER_TIMEOUT=2 timeout 60 vocl $tool > "$scratch/out" 2> "$scratch/err" ||
        fail "vocl $tool with daemons that are not there: $(cat "$scratch/err")"
    echo "vocl ${tool%% --*} with four of six daemons dead or stopped: $(awk -v since="$since" '{ printf "%.2f", $1 - since }' /proc/uptime) s"
done
kill -CONT "$(cat "$scratch/n1.pid")"
wait_until nodes_up 3 || fail "n1 does not come back"
for host in n1 n2 n3; do
    kill -TERM "$(cat "$scratch/$host.pid")"
done
grep -h ' error: \|AddressSanitizer\|runtime error' "$scratch"/n?.log && fail "errors in the logs"
exit 0
