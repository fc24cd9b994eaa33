#!/bin/sh
# Sessions of a pool are suspended: their devices go back to the pool, and when they need devices again they wait for a
# place, perhaps on another node.
. "$(dirname "$0")/move-lib.sh"
"$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/parity/images" "$scratch/bin/" && chmod -R a+rX "$scratch/bin"
for host in n1 n2; do
    write_config $host 'devices = ( { match = "*"; sessions = 1; } );' 'http = "127.0.0.1:7880";'
    sed -i 's/pthread pthread/pthread/' "$scratch/$host.conf"
    start_daemon $host
done
await nodes=2 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"

# suspended FIELD: prints that field of the suspended sessions
suspended()
{
    root vocl pool --json sessions | python3 -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for s in node.get("suspended", []):
        print(s[sys.argv[1]])' "$1"
}
one_is_suspended()
{
    await suspended=1 sessions=1 && wait_until is_suspended
}
is_suspended()
{
    [ "$(suspended state)" = "suspended" ] && [ -z "$(part node)" ]
}
# idle: starts a program that waits for files; sets $session
idle()
{
    rm -rf "$scratch/words"
    mkdir "$scratch/words"
    begins $alice ${1:+env} $1 "$scratch/bin/suspended" 4 "$scratch/words"
    ready
    session=$(part id)
}
finish()
{
    touch "$scratch/words/ask" "$scratch/words/resume" "$scratch/words/again"
    wait $program || fail "$1: status $?: $(tail -n 5 "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    grep -qx right "$scratch/out" || fail "$1: $(cat "$scratch/out")"
    await sessions=0 || fail "$1: left: $(root vocl pool sessions)"
    echo "$1: right"
}
suspend()
{
    as $alice vocl pool suspend "$session" > "$scratch/asked" 2>&1 ||
        fail "not suspended: $(cat "$scratch/asked" "$scratch/err" "$scratch"/n?.log)"
    one_is_suspended || fail "it is not suspended: $(root vocl pool sessions)"
}
# Another session gets its place, and when it resumes it gets the other node's.
idle
here=$(part node) other=n1
[ "$here" != n1 ] || other=n2
# While it is suspended, the phases and what they have copied are shown.
copied='^(ahead|take): 8\.0 MiB(, |$)'
phases()
{
    [ "$(grep -v : "$scratch/asked" | tr '\n' ' ')" = "ahead list take go " ] && grep -qE "$copied" "$scratch/asked"
}
as $bob vocl pool suspend "$session" 2> "$scratch/asked" && fail "another user suspends it"
grep -q 'no such session here that you may suspend' "$scratch/asked" || fail "another user: $(cat "$scratch/asked")"
suspend
phases || fail "what is shown: $(cat "$scratch/asked")"
[ -z "$(workers_on n1; workers_on n2)" ] || fail "there is a worker: $(ps -fp $(workers_on n1; workers_on n2))"
root vocl pool sessions | grep -q "^$(echo "$session" | cut -c 1-12) .* suspended" || fail "not seen: $(root vocl pool sessions)"
[ "$(root vocl pool --json devices | grep -c '"sessions": 1')" = 0 ] || fail "a device is held: $(root vocl pool devices)"
grep -q '"why":"suspended"' "$scratch/accounting-$here" || fail "accounting: $(cat "$scratch"/accounting-n?)"
as $alice vocl pool suspend "$session" 2> "$scratch/asked" && fail "suspended twice"
grep -q 'there is no session .* that runs' "$scratch/asked" || fail "twice: $(cat "$scratch/asked")"
touch "$scratch/words/ask"
wait_until grep -q asked "$scratch/out" || fail "not answered: $(tail -n 5 "$scratch/out" "$scratch/err")"
is_suspended || fail "a question has resumed it: $(root vocl pool sessions)"
as $bob vocl run --policy order -- "$scratch/bin/moved" 1 0 "$scratch/enough" > "$scratch/out2" 2> "$scratch/err2" &
second=$!
wait_until grep -q ready "$scratch/out2" || fail "no second program: $(cat "$scratch/err2" "$scratch"/n?.log)"
taken=$(part node)
as $bob vocl pool resume "$session" 2> "$scratch/asked" && fail "another user wakes it"
as $alice vocl pool resume "$session" > "$scratch/asked" 2>&1 || fail "not resumed: $(cat "$scratch/asked" "$scratch/err" "$scratch"/n?.log)"
[ "$(part node | sort | tr '\n' ' ')" = "n1 n2 " ] || fail "it goes on: $(root vocl pool sessions)"
[ -z "$(suspended id)" ] || fail "it is told as suspended still: $(root vocl pool sessions)"
root vocl pool --json sessions | grep -q "\"id\": \"$session\"" || fail "it has another name: $(root vocl pool sessions)"

# Both places are taken: it waits in the queue, as long as that takes.
as $alice vocl pool suspend --quiet "$session" > "$scratch/asked" 2>&1 || fail "not suspended again: $(cat "$scratch/asked" "$scratch"/n?.log)"
[ ! -s "$scratch/asked" ] || fail "quiet: $(cat "$scratch/asked")"
await suspended=1 sessions=2 && [ "$(part node)" = "$taken" ] || fail "its place is taken: $(root vocl pool sessions)"
as $bob vocl run -- "$scratch/bin/moved" 1 0 "$scratch/enough3" > "$scratch/out3" 2> "$scratch/err3" &
third=$!
wait_until grep -q ready "$scratch/out3" || fail "no third program: $(cat "$scratch/err3" "$scratch"/n?.log)"
touch "$scratch/words/resume"
root vocl pool wait --user=$alice --timeout=300 queue=1 || fail "it does not wait: $(root vocl pool status)"
sleep 1 # that the session goes on waiting has no event to wait for
grep -q . "$scratch/out" && ! grep -qE 'right|error' "$scratch/out" || fail "it did not wait: $(cat "$scratch/out")"
touch "$scratch/enough3"
wait $third || fail "third: status $?: $(tail -n 3 "$scratch/err3")"
finish_second()
{
    touch "$scratch/enough"
    wait $second || fail "second: status $?: $(tail -n 3 "$scratch/err2")"
}
wait $program || fail "resumed: status $?: $(tail -n 5 "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
grep -qx right "$scratch/out" || fail "resumed: $(cat "$scratch/out")"
finish_second
await sessions=0 || fail "left: $(root vocl pool sessions)"
echo "resumed: right"

# What is left in the program: no MPI, no shared memory, and no sockets except for those to vocl-join and to itself.
idle
suspend
process=$(pgrep -u $alice -x suspended)
[ "$(ls -l /proc/$process/fd | grep -c socket:)" -le 3 ] || fail "sockets: $(ls -l /proc/$process/fd)"
grep ' [r-][w-][x-]s .*\(memfd\|shm\|SYSV\)' /proc/$process/maps && fail "it shares memory"
grep 'libmpi' /proc/$process/maps && fail "it has MPI"
finish "little is left"

# Contents are saved in files, again and again, and the session resumes wherever there is a place.
mkdir -m 1777 "$scratch/store"
has_been_suspended()
{
    [ "$(cat "$scratch"/accounting-n? | grep -c 'suspended')" -ge 3 ]
}
for command in moved images; do
    arguments=
    [ $command != moved ] || arguments="4 0 $scratch/enough"
    touch "$scratch/enough"
    "$scratch/bin/$command" $arguments > "$scratch/native" 2> /dev/null || fail "$command natively"
    rm "$scratch/enough"
    : > "$scratch/accounting-n1"
    : > "$scratch/accounting-n2"
    as $alice env VOCL_SUSPEND_EVERY=100 VOCL_SUSPEND_DIR="$scratch/store" vocl run -- "$scratch/bin/$command" $arguments \
        > "$scratch/out" 2> "$scratch/err" &
    program=$!
    [ $command != moved ] || wait_until has_been_suspended || fail "it is not suspended: $(cat "$scratch/err" "$scratch"/n?.log)"
    touch "$scratch/enough"
    wait $program || fail "$command: status $?: $(tail -n 5 "$scratch/err" "$scratch"/n?.log)"
    diff "$scratch/native" "$scratch/out" || fail "$command prints something else"
    await sessions=0 || fail "$command: left: $(root vocl pool sessions)"
    echo "$command: $(cat "$scratch"/accounting-n? | grep -c 'suspended') suspensions"
done
grep -q 'suspended' "$scratch"/accounting-n? || fail "it was not suspended"

# By its PID; and the daemons that know of it are lost while it is suspended.
idle
process=$(pgrep -u $alice -x suspended)
as $alice vocl suspend "$process" > "$scratch/asked" 2>&1 || fail "vocl suspend: $(cat "$scratch/asked" "$scratch/err")"
one_is_suspended || fail "it is not suspended: $(root vocl pool sessions)"
for host in n1 n2; do
    kill -9 "$(cat "$scratch/$host.pid")"
    wait "$(cat "$scratch/$host.pid")" 2> /dev/null
    start_daemon $host
done
await nodes=2 || fail "the daemons are lost: $(cat "$scratch"/n?.log)"
one_is_suspended || fail "nobody knows that it is suspended: $(root vocl pool sessions) $(cat "$scratch/err")"
finish "vocl suspend"

# It is killed while it is suspended, and does not continue.
killed()
{
    suspend
    as $alice vocl pool kill "$@" || fail "kill $*"
    touch "$scratch/words/ask" "$scratch/words/resume" "$scratch/words/again"
    wait $program && fail "kill $*: it goes on: $(cat "$scratch/out")"
    grep -q "error" "$scratch/out" || fail "kill $*: $(cat "$scratch/out")"
    await sessions=0 || fail "kill $*: left: $(root vocl pool sessions)"
}
idle
killed "$session"
idle VOCL_POOL_JOB=17.0
killed --job 17

# The program ends while it is suspended.
idle
suspend
kill -9 "$(pgrep -u $alice -x suspended)"
wait $program
await sessions=0 || fail "ended: left: $(root vocl pool sessions)"
grep Sanitizer "$scratch"/n?.log && fail "the sanitizer found something"
none_left_on n1 n2
exit 0
