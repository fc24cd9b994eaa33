#!/bin/sh
# Sessions over TLS: the same results as natively, on one host and between two, with data from worker to worker; no MPI
# is loaded into the program; the death of a process is noticed, and nothing is left. VOCL_NETWORK decides.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
mark=VOCL_TEST_MARK=$$
parity=$top_builddir/tests/parity
two=$top_srcdir/tests/net/two-hosts

# same HOW PROGRAM: HOW is the command before the program
same()
{
    how=$1
    "$parity/$2" > "$scratch/native" 2> /dev/null || fail "$2 natively"
    env "$mark" VOCL_NETWORK=tls VOCL_LOG=warn timeout -k 10 300 $how -- "$parity/$2" > "$scratch/out" 2> "$scratch/err" ||
        fail "$2, $how: status $?: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$2, $how: something else is printed"
}
none_stays()
{
    wait_until none_left "$mark" || fail "left after $1: $(session_processes "$mark")"
}

for program in vector_add buffer_ops host_access; do
    same "vocl run" $program
done
export VOCL_SHARE=0 # as between hosts
for program in $(few 4 blocking_writes contents events threads images map_unmap many_launches programs); do
    same "vocl run" $program
done
VOCL_ZERO_COPY=0 same "vocl run" contents
for program in many_devices many_copies user_events; do
    same "vocl run --workers 3" $program
done
VOCL_STREAMS=1 same "vocl run --workers 2" many_copies
VOCL_STREAMS=8 same "vocl run --workers 2" many_copies
none_stays "parity programs"

# The program has no MPI, and no port: on one host, members find each other at a UNIX socket.
sleeper=$top_builddir/tests/session/sleeper
start()
{
    rm -f "$scratch/out"
    env "$mark" VOCL_NETWORK=tls vocl run -- "$sleeper" $1 > "$scratch/out" 2> "$scratch/err" &
    pid=$!
    wait_until grep -q ready "$scratch/out" || fail "sleeper: $(cat "$scratch/err")"
}
start sleep
! grep -qE 'libmpi|libucp' "/proc/$pid/maps" || fail "an MPI is in the program"
grep -q 'vocl-tls' "/proc/$pid/maps" || fail "it is not TLS"
kill -KILL $pid
wait $pid 2> /dev/null
none_stays "a killed program"
start finish
for process in $(session_processes "$mark"); do
    [ "$(cat /proc/$process/comm)" != vocl-proxy ] || kill -KILL "$process"
done
wait $pid
[ $? = 3 ] || fail "the program is not told that its worker was killed"
none_stays "a killed worker"

# Values that are refused
VOCL_NETWORK=tcp vocl devices 2> "$scratch/err" && fail "VOCL_NETWORK=tcp"
grep -q 'takes auto, mpi, pairs, tls, plain or ssh, not "tcp"' "$scratch/err" || fail "VOCL_NETWORK=tcp: $(cat "$scratch/err")"
[ "$(status_of vocl run --network tcp true 2> /dev/null)" = 2 ] || fail "--network tcp"

# Between hosts, TLS is the default.
command -v ip > /dev/null || exit 0
[ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ] || exit 0
VOCL_LOG=debug "$two" -- "$parity/vector_add" > "$scratch/out" 2> "$scratch/err" || fail "two hosts: $(cat "$scratch/err")"
grep -q 'connection 1 with 1' "$scratch/err" || fail "two hosts are connected otherwise"
for program in $(few 2 images map_unmap one_place buffer_ops transpose); do
    same "$two" $program
done
for program in many_devices many_copies; do
    same "$two --workers 2" $program
done
same "$two --workers 17" many_copies # so many that two of them meet when they have to
"$two" --workers 2 -- "$top_builddir/tests/session/graph" 5 500 > "$scratch/out" 2> "$scratch/err" ||
    fail "graph: $(cat "$scratch/out" "$scratch/err")"
# A worker that cannot connect to another is connected to by that one: data between them do not pass through the
# program.
migrated=$("$top_builddir/tests/session/migrate") || fail "migrate natively: $migrated"
${CC:-cc} -D_GNU_SOURCE= -shared -fPIC -o "$scratch/unreachable.so" "$top_srcdir/tests/net/unreachable.c" ||
    fail "unreachable.c does not compile"
for workers in 2 17; do
    UNREACHABLE=10.93.0.2 LD_PRELOAD="$scratch/unreachable.so${LD_PRELOAD:+:$LD_PRELOAD}" VOCL_LOG=info \
        "$two" --workers $workers -- "$top_builddir/tests/session/migrate" > "$scratch/out" 2> "$scratch/err" ||
        fail "a worker of $workers that is not reached: $(cat "$scratch/out" "$scratch/err")"
    [ "$(cat "$scratch/out")" = "$migrated" ] ||
        fail "a worker of $workers that is not reached: $(cat "$scratch/out"), not $migrated"
    bytes=$(sed -n 's/.*worker [12]: \([0-9]*\) bytes sent, \([0-9]*\) received.*/\1 + \2 +/p' "$scratch/err")
    [ -n "$bytes" ] && [ $(($(echo $bytes) 0)) -lt 65536 ] || fail "$workers: by way of the program: $bytes bytes"
done
# Members listen during the rendezvous, and no longer.
"$two" -- sh -c "$sleeper"' > '"$scratch/out"' & until grep -q ready '"$scratch/out"'; do sleep 0.1; done; ss -tlnp; kill $!' \
    > "$scratch/listen" 2> "$scratch/err" || fail "sleeper on two hosts: $(cat "$scratch/err")"
! grep 'sleeper' "$scratch/listen" || fail "the program listens"
# MPI can be requested, also where it listens.
VOCL_NETWORK=mpi VOCL_LOG=debug "$two" -- "$parity/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "two hosts, MPI: $(cat "$scratch/err")"
! grep -q 'connection 1 with 1' "$scratch/err" || fail "MPI was asked for"
same "env VOCL_NETWORK=mpi $two" one_place
exit 0
