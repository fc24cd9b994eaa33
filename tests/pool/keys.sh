#!/bin/sh
# A daemon on this host, without root and without MUNGE: authentication by keys. A client without a key is refused; the
# daemon survives whatever else it is sent.
. "$(dirname "$0")/one-lib.sh"
make_pool here 'connection-limit = 200;' 'sessions-per-user = 3;'

# the configuration
"$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf" --check-config > /dev/null || fail "a good configuration is not"
# bad TEXT MESSAGE: a configuration with that line is refused with that message
bad()
{
    { cat "$scratch/conf"; echo "$1"; } > "$scratch/bad"
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/bad" --check-config 2> "$scratch/err"
    [ $? -eq 2 ] && grep -q "$2" "$scratch/err" || fail "$1: $(cat "$scratch/err")"
}
bad 'polcy = "pack";' 'bad:12: polcy: no such setting'
bad 'policy = "quick";' 'bad:12: policy: pack, spread'
bad 'network = "tcp";' 'bad:12: network: mpi or tls'
bad 'queue-limit = -1;' 'bad:12: queue-limit: a whole number'
bad 'allow = "me";' 'bad:12: allow: a list'
bad 'devices = ( { match = "*"; mode = "mine"; } );' 'mode is shared, exclusive or hidden'
bad 'policy = ' 'bad:13: syntax error'
"$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/none" --check-config 2> "$scratch/err" && fail "no configuration"

start_daemon
"$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf" 2> "$scratch/err" && fail "two daemons on one state directory"
grep -q 'another daemon is at work' "$scratch/err" || fail "a second daemon: $(cat "$scratch/err")"

program=$top_builddir/tests/parity/vector_add
"$program" > "$scratch/native" || fail "vector_add natively"
works()
{
    VOCL_POOL="$scratch/pool" vocl run -- "$program" > "$scratch/out" 2> "$scratch/err" || fail "$1: $(cat "$scratch/err")"
    cmp "$scratch/native" "$scratch/out" || fail "$1: vector_add prints something else"
}
# refused POOLFILE MESSAGE: a client with this pool file is refused with that message
refused()
{
    VOCL_POOL=$1 vocl devices > "$scratch/out" 2> "$scratch/err" && fail "let in: $2"
    grep -q "$2" "$scratch/err" || fail "not \"$2\": $(cat "$scratch/err")"
}
works "with a key"
HOME=$scratch VOCL_POOL=127.0.0.1:$port vocl devices > /dev/null 2> "$scratch/err" && fail "without a key file"

printf '%s %s\n' "$user" "$(new_key)" > "$scratch/mine"
refused "$scratch/pool" 'the daemon refuses the key'
printf 'somebody %s\n' "$(new_key)" > "$scratch/mine"
refused "$scratch/pool" "has no key of $user"
grep "^$user " "$scratch/keys" > "$scratch/mine"
chmod 644 "$scratch/mine"
refused "$scratch/pool" 'readable by its owner only'
chmod 600 "$scratch/mine"
echo nonsense > "$scratch/pool2"
refused "$scratch/pool2" 'pool2:1: no line of a pool file'
refused "127.0.0.1:1" 'Connection refused'
refused "$scratch/none" 'No such file'
VOCL_NETWORK=mpi refused "$scratch/pool" "the pool's network is tls, and VOCL_NETWORK says mpi"
works "after those without"

# requests that cannot be satisfied: the error says what exists instead
VOCL_POOL=$scratch/pool vocl devices --gpus 1 2> "$scratch/err" && fail "a GPU"
grep -q 'too few such devices ([1-9][0-9]* cpu in all);' "$scratch/err" || fail "no GPUs: $(cat "$scratch/err")"
VOCL_POOL=$scratch/pool vocl devices --wait 2000000 2> "$scratch/err" && fail "waits for 2000000 seconds"
grep -q 'seconds of waiting: 0 to 1000000, not 2000000' "$scratch/err" || fail "waiting: $(cat "$scratch/err")"

VOCL_POOL=$scratch/pool vocl devices --mem 1e16 > /dev/null 2> "$scratch/err" && fail "1e16 bytes"
grep -q -e '--mem takes' "$scratch/err" || fail "--mem: $(cat "$scratch/err")"
VOCL_POOL_MEMORY=8q refused "$scratch/pool" 'VOCL_POOL_MEMORY is not a size'
VOCL_POOL_MEMORY=4000t refused "$scratch/pool" 'too few such devices'

descriptors()
{
    ls /proc/$daemon/fd | wc -l
}
before=$(descriptors)
"$top_builddir/tests/pool/abuse" "$scratch/pool" "$(rounds 1)" || fail "abuse: $(cat "$scratch/log")"
as_before()
{
    [ "$(descriptors)" -le "$before" ]
}
wait_until as_before || fail "descriptors are left: $(ls -l /proc/$daemon/fd)"
works "after abuse"

# Several sessions share one device by time slices, also if their launches wait for commands that come later.
events=$top_builddir/tests/parity/user_events
"$events" > "$scratch/native" || fail "user_events natively"
running=
for one in 1 2 3; do
    { VOCL_POOL=$scratch/pool vocl run -- "$events" > "$scratch/out$one" 2> "$scratch/err$one" &&
        cmp "$scratch/native" "$scratch/out$one"; } &
    running="$running $!"
done
for process in $running; do
    wait $process || fail "together on one device: $(cat "$scratch"/err?)"
done

# limits on the number of sessions
running()
{
    [ "$(VOCL_POOL=$scratch/pool vocl pool sessions | grep -c running)" = "$1" ]
}
wait_until running 0 || fail "sessions are left: $(VOCL_POOL=$scratch/pool vocl pool sessions)"
holders=
# A session that has just ended may still count.
hold()
{
    : > "$scratch/err$one"
    VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err$one" &
    holder=$!
}
holds()
{
    running "$one" && return
    ! grep -q 'as many sessions as you may' "$scratch/err$one" || hold
    return 1
}
for one in 1 2 3; do
    hold
    wait_until holds || fail "not $one: $(cat "$scratch/err$one")"
    holders="$holders $holder"
done
wait_until running 3 || fail "not three: $(cat "$scratch"/err?)"
refused "$scratch/pool" 'as many sessions as you may: 3'
kill $holders
wait_until running 0 || fail "sessions are left: $(VOCL_POOL=$scratch/pool vocl pool sessions)"

kill -TERM $daemon
wait $daemon || fail "the daemon ends with $?: $(cat "$scratch/log")"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
