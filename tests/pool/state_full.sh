#!/bin/sh
# The state directory is full: a session that cannot be recorded is not granted, and a device that is granted is not
# granted again after a restart of the daemon.
. "$(dirname "$0")/one-lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root: a file system that fills"
make_pool here
mkdir "$scratch/state"
mount -t tmpfs -o size=64k vocl-state "$scratch/state" 2> /dev/null || skip "no file system can be mounted"
end()
{
    kill -9 $daemon $program 2> /dev/null
    umount -l "$scratch/state"
    rm -rf "$scratch"
}
start_daemon
program=
trap end EXIT
VOCL_POOL=$scratch/pool
export VOCL_POOL

fill()
{
    head -c 1000000 /dev/zero > "$scratch/state/filler" 2> /dev/null
}
fill
for one in 1 2; do # the second time, the node has reported that it cannot record
    vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" && fail "a session that is not recorded"
    grep -q 'cannot record sessions: No space left' "$scratch/err" || fail "why not: $(cat "$scratch/err" "$scratch/log")"
done
await state=here:failing || fail "it cannot be seen: $(vocl pool nodes)"
vocl pool nodes | grep -q 'No space left' || fail "the reason cannot be seen: $(vocl pool nodes)"
rm "$scratch/state/filler"
await state=here:up || fail "with space again: $(vocl pool nodes; cat "$scratch/log")"

# A running session is recorded, and its record stays when the disk is full.
vocl run --exclusive -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
await running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
fill
echo '{"id":"half a' > "$scratch/state/session-0123456789abcdef0123456789abcdef" 2> /dev/null
kill -9 $daemon
wait $daemon 2> /dev/null
start_daemon
trap end EXIT
await running=1 || fail "the session is forgotten: $(cat "$scratch/log")"
vocl devices > /dev/null 2> "$scratch/err" && fail "a device that is another's alone is given out again"
[ -z "$(find "$scratch/state" -name '*.new')" ] || fail "half a file is left"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
