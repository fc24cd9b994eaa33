#!/bin/sh
# A worker is stopped for a while: a program that has filled the worker's window looks for room in shared memory, and
# does not make a system call in each OpenCL call.
. "$(dirname "$0")/../lib.sh"
objects=110000 # of 43 bytes: more than 64 frames of 48 KiB, and less than 4 MiB more
mark=VOCL_TEST_MARK=$$

mkfifo "$scratch/say"
env "$mark" VOCL_PEER_TIMEOUT=0 vocl run --workers 1 -- "$top_builddir/tests/session/full_window" $objects \
    < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 9> "$scratch/say"
lines()
{
    [ "$(wc -l < "$scratch/out")" -ge "$1" ] || ! kill -0 $program 2> /dev/null
}
wait_until lines 1
for candidate in $(session_processes "$mark"); do
    case $(cat "/proc/$candidate/comm") in
    vocl-proxy) worker=$candidate ;;
    esac
done
[ -n "$worker" ] || fail "no worker: $(cat "$scratch/out" "$scratch/err")"
kill -STOP "$worker"
echo >&9
wait_until lines 2
kill -CONT "$worker"
echo >&9
exec 9>&-
wait $program || fail "status $?: $(cat "$scratch/out" "$scratch/err")"
asked=$(sed -n 2p "$scratch/out")
echo "$asked questions for $objects objects"
[ "$asked" -lt 1000 ] || fail "the system was asked $asked times"
