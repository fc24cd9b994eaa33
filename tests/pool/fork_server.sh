#!/bin/sh
# Workers begin as copies of a process that has loaded the drivers (fork server). They are like workers that load the
# drivers themselves, which are used if the fork server is killed, cannot fork, or is disabled.
. "$(dirname "$0")/one-lib.sh"
make_pool here
start_daemon
program=$top_builddir/tests/session/phases
vector=$top_builddir/tests/parity/vector_add
"$vector" > "$scratch/native" || fail "vector_add natively"
works()
{
    VOCL_POOL="$scratch/pool" vocl run -- "$vector" > "$scratch/out" 2> "$scratch/err" || fail "$1: $(cat "$scratch/err" "$scratch/log")"
    cmp "$scratch/native" "$scratch/out" || fail "$1: vector_add prints something else"
}
fork_server()
{
    fork_server=$(children "$daemon" vocl-forkserver)
    [ -n "$fork_server" ]
}
wait_until fork_server || fail "there is no fork server"
works "with a fork server"

# properties of a worker
VOCL_POOL=$scratch/pool vocl run -- "$program" idle 30 > "$scratch/out" 2> "$scratch/err" &
running=$!
worker()
{
    supervisor=$(children "$daemon" vocl-supervisor) && [ -n "$supervisor" ] && worker=$(children "$supervisor" vocl-proxy) && [ -n "$worker" ]
}
wait_until worker || fail "no worker that is its supervisor's child, and that the daemon's: $(cat "$scratch/err" "$scratch/log")"
tr '\0' ' ' < "/proc/$worker/cmdline" | grep -q 'vocl-proxy --worker' || fail "it is called $(tr '\0' ' ' < "/proc/$worker/cmdline")"
[ "$(stat -c %u "/proc/$worker/mem")" = "$(id -u)" ] || fail "it is not its user's own"
for descriptor in 0 1; do
    [ -e "/proc/$worker/fd/$descriptor" ] || fail "it has no descriptor $descriptor"
done
ls -l "/proc/$worker/fd" | grep -q "$scratch/\(log\|keys\|state/lock\)" && fail "it has a descriptor of the daemon's: $(ls -l "/proc/$worker/fd")"
grep -q '^NoNewPrivs:.*1' "/proc/$worker/status" || fail "it may gain privileges"
kill -9 "$supervisor"
gone()
{
    [ ! -e "/proc/$worker" ] || grep -q '^State:.*Z' "/proc/$worker/status" 2> /dev/null
}
wait_until gone || fail "the worker outlives its supervisor"
kill -9 $running 2> /dev/null
wait $running 2> /dev/null

kill -9 "$fork_server"
works "after the fork server was killed"
grep -q 'the fork server does not answer' "$scratch/log" || fail "nothing is said of it: $(cat "$scratch/log")"
kill -9 $daemon
wait $daemon 2> /dev/null
sed -i 's/^name = .*/&\nprefork = 0;/' "$scratch/conf"
start_daemon
works "without a fork server"
fork_server && fail "there is one all the same"
kill -9 $daemon
wait $daemon 2> /dev/null
sed -i 's/^prefork = .*/prefork = 1;/' "$scratch/conf"
start_daemon
wait_until fork_server || fail "there is no fork server again"
kill -9 $daemon
wait $daemon 2> /dev/null
orphan()
{
    [ ! -e "/proc/$fork_server" ] || grep -q '^State:.*Z' "/proc/$fork_server/status" 2> /dev/null
}
wait_until orphan || fail "the fork server outlives its daemon"
