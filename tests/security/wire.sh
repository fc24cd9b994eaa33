#!/bin/sh
# A session over TLS between two hosts with a man in the middle, who reads, changes, drops, repeats and reorders the
# data: he cannot read them, and the program gets right results or an error. And a stranger at the session's port is not
# let in, and delays nobody. VOCL_WIRE_ROUNDS: positions for each kind.
. "$(dirname "$0")/../lib.sh"
need ip iproute2
need python3 python3
need openssl openssl
need nsenter util-linux
need_foreign_programs
two=$top_srcdir/tests/net/two-hosts
carried=$top_builddir/tests/security/carried
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
"$carried" > "$scratch/native" || fail "carried natively"
[ "$(cat "$scratch/native")" = right ] || fail "carried natively: $(cat "$scratch/native")"

# The far host's worker, which connects through the man in the middle, or when it is told to.
link_libexec "$scratch/libexec"
rm "$scratch/libexec/vocl-proxy"
cat > "$scratch/where" <<END
#!/bin/sh
# where the worker is to go, when the session is at \$1
if [ "\$WIRE_MODE" = late ]; then
    echo "\$\$" > "$scratch/far"
    echo "\${1#tcp:}" > "$scratch/endpoint.new"
    mv "$scratch/endpoint.new" "$scratch/endpoint"
    until [ -e "$scratch/go" ]; do sleep 0.05; done
    echo "\$1"
else
    "$top_srcdir/tests/security/middle" "\${1#tcp:}" "$scratch/port" "$scratch/record" \$WIRE_MODE > /dev/null &
    until [ -s "$scratch/port" ]; do sleep 0.02; done
    echo "tcp:127.0.0.1:\$(cat "$scratch/port")"
fi
END
cat > "$scratch/libexec/vocl-proxy" <<END
#!/bin/sh
exec "$top_srcdir/tests/security/reroute" "$scratch/where" "$VOCL_LIBEXECDIR/vocl-proxy" "\$@"
END
chmod +x "$scratch/where"
chmod +x "$scratch/libexec/vocl-proxy"
# Files that two-hosts needs of the build tree.
mkdir "$scratch/tests" && ln -s "$top_builddir/tests/net" "$scratch/tests/net"

# through MODE: runs the program, and sets $status to its status
through()
{
    rm -f "$scratch/port" "$scratch/port.done" "$scratch/record"
    WIRE_MODE=$1 VOCL_LIBEXECDIR="$scratch/libexec" VOCL_NETWORK=tls VOCL_LOG=warn \
        timeout -k 10 400 "$two" -- "$carried" > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -ne 77 ] || skip "$(cat "$scratch/err")"
    [ $status -ne 124 ] && [ $status -ne 137 ] || fail "$1: it hangs: $(cat "$scratch/err")"
    [ $status -ne 9 ] || fail "$1: a wrong result: $(cat "$scratch/out")"
    [ $status -ne 0 ] || [ "$(cat "$scratch/out")" = right ] || fail "$1: $(cat "$scratch/out")"
    if grep -E 'Sanitizer|runtime error|Segmentation' "$scratch/err"; then
        fail "$1: $(cat "$scratch/err")"
    fi
}

through pass
[ $status = 0 ] || fail "by way of somebody who does nothing: status $status: $(cat "$scratch/err")"
size=$(stat -c %s "$scratch/record")
[ "$size" -gt 10000000 ] || fail "he saw $size bytes only"
for text in 'SAID IN THE CLEAR' 'kernel void add' 'get_global_id'; do
    ! grep -qaF "$text" "$scratch/record" || fail "\"$text\" could be read"
done

# Each kind in the handshake, at the start, and in between. Dropped data are noticed as silence.
about_silence
VOCL_START_TIMEOUT=$((5 * VOCL_PEER_TIMEOUT))
export VOCL_START_TIMEOUT
for kind in flip drop repeat reorder cut; do
    for at in 2 9 ${VOCL_WIRE_ROUNDS:-40 333}; do
        # Which connection was hit is random, and one may no longer have been needed.
        for later in 0 5 11 18; do
            through "$kind $((at + later))"
            [ -e "$scratch/port.done" ] || fail "$kind $((at + later)): nothing was done to it"
            [ $status = 0 ] || break
        done
        [ $status != 0 ] || fail "$kind $at: nobody has noticed"
    done
done

# A stranger, while the program waits for its worker.
VOCL_PEER_TIMEOUT=120 VOCL_START_TIMEOUT=120
rm -f "$scratch/go" "$scratch/endpoint" "$scratch/far"
WIRE_MODE=late VOCL_LIBEXECDIR="$scratch/libexec" VOCL_NETWORK=tls VOCL_LOG=warn \
    timeout -k 10 400 "$two" -- "$carried" > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until test -s "$scratch/endpoint" || fail "no worker is started: $(cat "$scratch/err")"
mkfifo "$scratch/hold"
nsenter --net="/proc/$(cat "$scratch/far")/ns/net" "$top_srcdir/tests/security/knock" "$(cat "$scratch/endpoint")" < "$scratch/hold" > "$scratch/stranger" &
stranger=$!
exec 5> "$scratch/hold"
wait_until grep -q ready "$scratch/stranger" || fail "the stranger: $(cat "$scratch/stranger")"
! grep 'let in' "$scratch/stranger" || fail "a stranger was let in"
touch "$scratch/go"
wait $program || fail "after a stranger: status $?: $(cat "$scratch/out" "$scratch/err")"
[ "$(cat "$scratch/out")" = right ] || fail "after a stranger: $(cat "$scratch/out")"
grep -q "does not belong to this session" "$scratch/err" || fail "it is not told of strangers: $(cat "$scratch/err")"
exec 5>&-
wait $stranger
exit 0
