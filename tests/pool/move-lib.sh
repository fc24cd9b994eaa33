# A pool whose sessions are moved and suspended: functions for one session at a time, and for requests about it.
. "$(dirname "$0")/pool-lib.sh"
need python3 python3
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
cp "$top_builddir/vocl-pool" "$scratch/libexec/" 2> /dev/null
for program in session/moved session/suspended; do
    "$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/$program" "$scratch/bin/"
done
chmod -R a+rX "$scratch/bin"

# part FIELD: prints that member of the only session's record, or its "node"
part()
{
    root vocl pool --json sessions | python3 -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for s in node["sessions"]:
        print(node["name"] if sys.argv[1] == "node" else s[sys.argv[1]])' "$1"
}
one_part()
{
    await sessions=1 running=1
}
# prints the processes on a host, except for its daemon and the daemon's own
left_on()
{
    ip netns pids $base-"$1" | while read -r pid; do
        [ "$pid" = "$(cat "$scratch/$1.pid")" ] || is_daemons_own "$pid" || tr '\0' ' ' 2> /dev/null < "/proc/$pid/cmdline"
    done
}
# none_left_on HOST...: waits until no processes are left there
none_left_on()
{
    for left_host; do
        wait_until nothing_on "$left_host" || fail "processes left on $left_host: $(left_on "$left_host")"
    done
}
nothing_on()
{
    [ -z "$(left_on "$1")" ]
}
# workers_on HOST: prints the PIDs of its workers
workers_on()
{
    ip netns pids $base-"$1" | while read -r pid; do
        ! tr '\0' ' ' 2> /dev/null < "/proc/$pid/cmdline" | grep -q -- 'vocl-proxy --worker' || echo "$pid"
    done
}
# starts USER COMMAND...: sets $program; output goes to $scratch/out, $scratch/err
starts()
{
    rm -f "$scratch/enough"
    : > "$scratch/out"
    starts_as=$1
    shift
    as "$starts_as" vocl run --policy order -- "$@" > "$scratch/out" 2> "$scratch/err" &
    program=$!
}
# begins USER COMMAND...: the same, and waits until the session runs, on one node
begins()
{
    starts "$@"
    shift
    one_part || fail "$*: no session: $(cat "$scratch/err" "$scratch"/n?.log)"
}
ready()
{
    wait_until grep -q ready "$scratch/out" || fail "no program: $(tail -n 5 "$scratch/err")"
}
# ends WHAT: ends the program, which runs until the file exists, and has to end well
ends()
{
    touch "$scratch/enough"
    wait $program || fail "$1: status $?: $(tail -n 5 "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    await sessions=0 || fail "$1: left: $(root vocl pool sessions)"
}
# move ARGUMENT...: the only session's owner moves it
move()
{
    as $alice timeout -k 5 60 vocl pool move "$@" "$(part id)" > "$scratch/asked" 2>&1
}
# nodes_for_kept SETTING...: three nodes with one device each, all alike, and tests/session/kept for them
nodes_for_kept()
{
    for host in n1 n2 n3; do
        write_config $host 'devices = ( { match = "*"; sessions = 4; } );' 'policy = "spread";' 'cgroup = "none";' "$@"
        sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf" # one device
        start_daemon $host
    done
    await nodes=3 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"
    "$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/session/kept" "$scratch/bin/"
    chmod a+rx "$scratch/bin/kept"
}
