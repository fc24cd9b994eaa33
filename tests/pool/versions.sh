#!/bin/sh
# Daemons of two versions of the pool's protocol meet: each says so, with both versions, the node is listed as one of
# another version, and everything else goes on; when it has the same version again, it is back.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool one
add_daemon two
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL
vocl run -- "$top_builddir/tests/pool/burn" "$scratch/enough" > /dev/null 2> "$scratch/burn.err" &
program=$!
trap 'kill -9 $program $played 2> /dev/null; end_daemons' EXIT
await running=1 || fail "no session: $(cat "$scratch/burn.err")"

# A daemon of version 77 in the place of two. It prints what others prove to it, and what one answers to its proof.
cat > "$scratch/played.py" << 'END_OF_PROGRAM'
import socket, struct, sys
def read(c, length):
    text = b""
    while len(text) < length:
        more = c.recv(length - len(text))
        if not more:
            return text
        text += more
    return text
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
assert read(c, 60)[:8] == b"VOCLPOOL"
c.sendall(b"VOCLPOOL" + struct.pack("=II", 77, 0))
accepted, why = struct.unpack("=I124s", read(c, 128))
print("answer", accepted, why.split(b"\0")[0].decode(), flush=True)
while True:
    c = server.accept()[0]
    c.sendall(b"VOCLPOOL" + struct.pack("=I", 77) + bytes(32) + b"key" + bytes(13))
    proof = read(c, 16)
    if len(proof) == 16:
        print("proof", *struct.unpack("=8sII", proof), flush=True)
END_OF_PROGRAM
python3 "$scratch/played.py" $port $((port + 3)) > "$scratch/played" 2> "$scratch/played.err" &
played=$!
wait_until grep -qs '^answer 0 it speaks version 77 .* and the daemon 1' "$scratch/played" || fail "what the other is told: $(cat "$scratch/played"*)"
grep -q "refused 127.0.0.1:.*speaks version 77 of the pool's protocol, and the daemon 1" "$scratch/log" || fail "the log: $(cat "$scratch/log")"
await state=two:other-version || fail "two is not of another version: $(vocl pool nodes)"
wait_until grep -q "^proof b'VOCLPOOL' 1 0" "$scratch/played" || fail "two is not told: $(cat "$scratch/played"*)"
vocl pool nodes | grep -q "^two  *other-version .*127.0.0.1:$((port + 3)): its daemon speaks version 77 of the pool's protocol, and this one 1" ||
    fail "not why: $(vocl pool nodes)"
[ "$(grep -c 'node two is other-version: .*version 77' "$scratch/log")" = 1 ] || fail "the log: $(cat "$scratch/log")"
vocl pool --json nodes | python3 -c '
import json, sys
one, two = json.load(sys.stdin)["nodes"]
assert one["version"] and two["lost by"] == "version", (one, two)' || fail "the JSON"
vocl pool events 2> /dev/null | grep -q '"event":"node-other-version","node":"two"' || fail "no event"

# The session goes on, and others begin; commands for two, and requests that need it, say why not.
vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" || fail "a session on one: $(cat "$scratch/err")"
vocl devices --count 2 > /dev/null 2> "$scratch/err" && fail "devices of another version"
grep -q 'two: other-version (.*version 77' "$scratch/err" || fail "not why: $(cat "$scratch/err")"
vocl pool drain two 2> "$scratch/err" && fail "a drain of another version"
grep -q 'two: it has another version: .*version 77' "$scratch/err" || fail "the drain: $(cat "$scratch/err")"
vocl pool --pool "127.0.0.1:$((port + 3))" nodes > /dev/null 2> "$scratch/err" && fail "a daemon of another version answers"
grep -q "its daemon speaks version 77 of the pool's protocol, and this program 1" "$scratch/err" || fail "the client: $(cat "$scratch/err")"
await running=1 || fail "the session did not go on"

kill $played
wait $played 2> /dev/null
start_other two
trap 'kill -9 $program 2> /dev/null; end_daemons' EXIT
await nodes=2 || fail "two does not come back: $(vocl pool nodes)"
touch "$scratch/enough"
wait $program || fail "the session: $(cat "$scratch/burn.err")"
grep Sanitizer "$scratch"/log* && fail "the sanitizer found something"
exit 0
