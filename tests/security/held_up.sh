#!/bin/sh
# A worker whose start hangs, because its user stops it or the fork server does not answer, delays only its own session.
. "$(dirname "$0")/../pool/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 8; } );'
export VOCL_POOL="$scratch/pool"
say="$top_builddir/tests/security/say"
secret=$(new_key)
start="{\"do\":\"start\",\"session\":\"\$ID\",\"endpoint\":\"tcp:127.0.0.1:9\",\"secret\":\"$secret\",\"rank\":1,\"size\":2}"
mkfifo "$scratch/fifo"

is_stopped()
{
    worker= supervisor=$(children "$daemon" vocl-p.*)
    for one in $supervisor; do
        worker="$worker $(children "$one" vocl-p.*)"
    done
    for one in $worker; do
        grep -q '^State:.*T' "/proc/$one/status" 2> /dev/null && return
    done
    return 1
}
# starting: starts a worker in the background, with the answer in $scratch/started
starting()
{
    "$say" "$scratch/pool" '{"do":"request"}' @ "$start" stay < "$scratch/fifo" > "$scratch/started" 2>&1 &
    exec 5> "$scratch/fifo"
}
# others WHAT: other clients get answers while it starts
others()
{
    for other in 1 2 3; do
        "$say" "$scratch/pool" '{"do":"status"}' > "$scratch/out" || fail "$1: no answer: $(cat "$scratch/out" "$scratch/log")"
        [ "$(wc -l < "$scratch/started")" -gt 1 ] || return 0
    done
    fail "$1: others are answered when that is over: $(cat "$scratch/started")"
}
nothing_left()
{
    await sessions=0 || fail "$1: the session stays"
    for one in $worker; do
        wait_until test ! -e "/proc/$one" || fail "$1: $one is left: $(cat "/proc/$one/status")"
    done
    [ -z "$(children "$daemon" vocl-supervisor)" ] || fail "$1: a supervisor is left"
}

# the worker's user stops it
echo 'prefork = 0;' >> "$scratch/conf"
export HALT="$scratch/halt"
start_at="env LD_PRELOAD=$(realpath "$top_builddir/tests/security/.libs/halt.so")"
start_daemon
touch "$HALT"
starting
wait_until is_stopped || fail "no worker stops: $(cat "$scratch/log")"
others "a stopped worker"
wait_until grep -q 'the worker does not start' "$scratch/started" || fail "a stopped worker: $(cat "$scratch/started")"
nothing_left "a stopped worker"
exec 5>&-

# and its session is ended meanwhile, or its program leaves
starting
wait_until is_stopped || fail "no worker stops again: $(cat "$scratch/log")"
vocl pool kill "$(vocl pool sessions --json | sed -n 's/.*"id": *"\([0-9a-f]*\)".*/\1/p' | head -n 1)" > /dev/null ||
    fail "it cannot be ended: $(cat "$scratch/log")"
nothing_left "ended while it starts"
exec 5>&-
starting
wait_until is_stopped || fail "no worker stops once more: $(cat "$scratch/log")"
exec 5>&-
nothing_left "its program goes while it starts"
starting
wait_until is_stopped || fail "no worker stops the last time: $(cat "$scratch/log")"
kill -TERM $daemon
wait $daemon
for one in $worker; do
    wait_until test ! -e "/proc/$one" || fail "it outlives the daemon"
done
exec 5>&-

# the fork server does not answer
rm "$HALT"
sed -i '/^prefork/d' "$scratch/conf"
start_at=
start_daemon
fork_server()
{
    fork_server=$(children "$daemon" vocl-forkserver)
    [ -n "$fork_server" ]
}
if [ "${SANITIZER:-no}" = no ]; then
    wait_until fork_server || fail "there is no fork server"
    kill -STOP "$fork_server"
    starting
    others "a fork server that is stopped"
    wait_until grep -q '"started"' "$scratch/started" || fail "without the fork server: $(cat "$scratch/started" "$scratch/log")"
    grep -q 'the fork server does not answer' "$scratch/log" || fail "nothing is said of the fork server: $(cat "$scratch/log")"
    exec 5>&-
fi
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
