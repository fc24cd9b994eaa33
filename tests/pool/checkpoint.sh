#!/bin/sh
# A program of a pool is killed, and another one, on whichever node, resumes with the contents of the first one's
# checkpoint, which its user or root requested by its PID or by the ID of its session.
. "$(dirname "$0")/pool-lib.sh"
need python3 python3
"$top_builddir/libtool" --mode=execute cp "$top_builddir/tests/session/saved" "$scratch/bin/"
cp "$top_builddir/vocl-pool" "$scratch/libexec/" 2> /dev/null
chmod -R a+rX "$scratch/bin"
for host in n1 n2; do
    write_config $host 'devices = ( { match = "*"; sessions = 4; } );'
    start_daemon $host
done
await nodes=2 || fail "the daemons do not find each other: $(cat "$scratch"/n?.log)"
mkdir "$scratch/hers" && chown $alice "$scratch/hers"
wanted=$("$top_builddir/tests/session/saved" 6 0 . 1024 2> /dev/null | grep result)

session_of()
{
    root vocl pool --json sessions | python3 -c '
import json, sys
for node in json.load(sys.stdin)["nodes"]:
    for s in node["sessions"]:
        print(s["id"])' | sort -u
}
for count in 1 2; do
    rm -rf "$scratch/hers/folder" "$scratch/hers/go"
    : > "$scratch/out"
    as $alice vocl run --count $count -- "$scratch/bin/saved" 6 3 "$scratch/hers" 1024 > "$scratch/out" 2> "$scratch/err" &
    wait_until grep -q 'at 3' "$scratch/out" || fail "no program: $(cat "$scratch/out" "$scratch/err" "$scratch"/n?.log)"
    session=$(session_of)
    as $bob vocl checkpoint "$session" "$scratch/his" > "$scratch/asked" 2>&1 && fail "another user has it: $(cat "$scratch/asked")"
    as $alice vocl checkpoint "$session" "$scratch/hers/folder" || fail "of the session $session: $(cat "$scratch/err")"
    pid=$(as $alice vocl sessions | awk '$2 == "saved" { print $1 }')
    as $alice vocl checkpoint "$pid" "$scratch/hers/folder" > "$scratch/asked" || fail "of the process $pid"
    grep -q ' 0 of them written' "$scratch/asked" || fail "twice the same: $(cat "$scratch/asked")"
    root vocl checkpoint "$pid" "$scratch/roots" > "$scratch/asked" || fail "root's: $(cat "$scratch/asked")"
    kill -KILL "$pid"
    await sessions=0 || fail "left: $(root vocl pool sessions)"
    as $alice vocl run --count $count --restore "$scratch/hers/folder" -- "$scratch/bin/saved" 6 0 . 1024 > "$scratch/out" 2> "$scratch/err" ||
        fail "restored: $(cat "$scratch/out" "$scratch/err")"
    grep -qx 'from 3' "$scratch/out" && grep -qx "$wanted" "$scratch/out" || fail "restored: $(cat "$scratch/out"), natively $wanted"
    echo "$count: right"
done
