#!/bin/sh
# Strangers try every endpoint of a session, of its pool's daemon and of its vocl-join, as soon as it exists and while
# the session runs: as another user of the program's host, and from another host. They send bytes of no protocol, half a
# message, and nothing; none is let in, and the session starts, works, and ends with its normal result. The endpoints
# are taken from the kernel, so that unintended ones are found as well.
. "$(dirname "$0")/../pool/one-lib.sh"
at_most 900
need ip iproute2
need setpriv util-linux
need python3 python3
need openssl openssl
. "$(dirname "$0")/spaces-lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"

near= far= mark=VOCL_TEST_MARK=every$$
carried=$top_builddir/tests/security/carried
strangers=
end_daemons()
{
    kill -9 $strangers $daemon 2> /dev/null
    remove_spaces
    rm -rf "$scratch"
}
trap end_daemons EXIT
make_spaces every 10.96.0
# not `ip netns exec`, which hides the control groups, since it replaces /sys
at_near="nsenter --net=/run/netns/$near" at_far="nsenter --net=/run/netns/$far"
another="setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs"
chmod 711 "$scratch" # what is in it can be reached, where that lets others in
cp "$top_srcdir/tests/security/knock" "$scratch/knock" && chmod 755 "$scratch/knock"
$another "$scratch/knock" - < /dev/null || skip "no other user"

# strangers_come: starts strangers, which get the endpoints as these are found; they are no VOCL programs, so no
# sanitizer checks them
strangers_come()
{
    rm -f "$scratch/end" "$scratch/looked" "$scratch"/at.*
    mkfifo "$scratch/end"
    : > "$scratch/endpoints"
    env -u LD_PRELOAD "$top_srcdir/tests/security/listeners" "$mark" < "$scratch/end" > "$scratch/endpoints" &
    listeners=$! strangers=$!
    exec 6> "$scratch/end"
    for host in near far; do
        eval "at=\$at_$host"
        env -u LD_PRELOAD tail -n +1 -f --pid=$listeners "$scratch/endpoints" 6>&- | env -u LD_PRELOAD $at $another "$scratch/knock" - > "$scratch/at.$host" 2> "$scratch/err.$host" 6>&- &
        strangers="$strangers $!"
    done
}
# look_again: waits until all endpoints that exist now have been found
look_again()
{
    echo "$scratch/looked" >&6
    wait_until test -e "$scratch/looked"
}
all_tried()
{
    for host in near far; do
        [ "$(grep -c '^ready' "$scratch/at.$host")" -ge "$(wc -l < "$scratch/endpoints")" ] || return 1
    done
}
# strangers_go: ends the strangers, and checks their results
strangers_go()
{
    exec 6>&-
    wait $strangers
    strangers=
    cat "$scratch"/err.* >&2
    [ ! -s "$scratch/err.near" ] && [ ! -s "$scratch/err.far" ] || fail "$1: a stranger's own fault"
    grep 'let in' "$scratch"/at.* && fail "$1: a stranger was let in"
    echo "$1: $(wc -l < "$scratch/endpoints") endpoints, $(cat "$scratch"/at.* | grep -c '^at ') of them opened to strangers"
    sed 's/^/    /' "$scratch/endpoints"
}

# tried WHAT COMMAND...: runs a session that works before and after the strangers have tried all its endpoints
tried()
{
    what=$1
    shift
    rm -f "$scratch/out" "$scratch/wait"
    mkfifo "$scratch/wait"
    strangers_come
    timeout -k 5 400 $at_near env "$mark" VOCL_LOG=error "$@" < "$scratch/wait" > "$scratch/out" 2> "$scratch/err" 6>&- &
    program=$!
    exec 5> "$scratch/wait"
    wait_until grep -q ready "$scratch/out" || fail "$what: no session: $(cat "$scratch/out" "$scratch/err" "$scratch/log")"
    look_again || fail "$what: nothing looks for endpoints"
    wait_until all_tried || fail "$what: strangers: $(tail -n 3 "$scratch"/at.* "$scratch"/err.*)"
    exec 5>&-
    wait $program
    status=$?
    [ "$status $(tail -n 1 "$scratch/out")" = "0 right" ] || fail "$what: status $status: $(cat "$scratch/out" "$scratch/err")"
    strangers_go "$what"
    if grep -E 'Sanitizer|runtime error|Segmentation' "$scratch/err" "$scratch/log"; then
        fail "$what: $(cat "$scratch/err")"
    fi
    wait_until none_left_but_daemon || fail "$what: left: $(session_processes "$mark")"
}
none_left_but_daemon()
{
    for left in $(session_processes "$mark" | grep -vx "$daemon"); do
        is_daemons_own "$left" || return 1
    done
}

: > "$scratch/log"
tried "one host" vocl run -- "$carried" wait
[ ! -s "$scratch/endpoints" ] || fail "there is an endpoint: $(cat "$scratch/endpoints")"

# Workers come after the strangers have tried the program's endpoint.
cat > "$scratch/late" <<END
for try in \$(seq 2400); do
    grep -qs '^at .*10.96.0.1' "$scratch"/at.near && grep -qs '^at .*10.96.0.1' "$scratch"/at.far && break
    sleep 0.05
done
END
cat > "$scratch/rsh" <<END
#!/bin/sh
. "$scratch/late"
while [ "\${1#-}" != "\$1" ]; do shift; done
shift
exec $at_far sh -c "\$*"
END
chmod 755 "$scratch/rsh"
tried "hosts" env VOCL_RSH="$scratch/rsh" VOCL_NETWORK=tls vocl run --hosts 10.96.0.2,10.96.0.3 -- "$carried" wait
grep -q '^tcp 10.96.0.1 [0-9]* carried' "$scratch/endpoints" || fail "hosts: the program's endpoint was not found"

# A pool: the daemon is on the far host, with its state page public. (Workers start as programs, so that they can be
# delayed.)
make_pool here 'prefork = 0;' "http = \"10.96.0.2:$((port + 1))\";" 'network = "tls";' "environment = [ \"POCL_CACHE_DIR=$POCL_CACHE_DIR\", \"$mark\" ];"
sed -i -e '0,/^environment/{/^environment/d}' -e "s,127.0.0.1,10.96.0.2," "$scratch/conf" "$scratch/pool"
link_libexec "$scratch/libexec" '[ "$1" != --worker ] || . '"'$scratch/late'"
start_at="$at_far env $mark VOCL_LIBEXECDIR=$scratch/libexec"
start_daemon
tried "a pool" env VOCL_POOL="$scratch/pool" vocl run -- "$carried" wait
grep -q '^tcp 10.96.0.1 [0-9]* carried' "$scratch/endpoints" || fail "the program's endpoint was not found"
for endpoint in "tcp 10.96.0.2 $port vocl-poold" "tcp 10.96.0.2 $((port + 1)) vocl-poold" "unix packets $scratch/state/control vocl-poold"; do
    grep -q "^$endpoint" "$scratch/endpoints" || fail "the daemon's endpoint was not found: $endpoint"
done
kill -0 "$daemon" || fail "the daemon has ended: $(cat "$scratch/log")"
$at_near env VOCL_POOL="$scratch/pool" vocl pool nodes | grep -q 'here .* up' || fail "the daemon afterwards: $(cat "$scratch/log")"
[ "$(wc -l < "$scratch/log")" -lt 300 ] || fail "the daemon's log: $(wc -l < "$scratch/log") lines"
exit 0
