#!/bin/sh
# A worker's account of what it used can be forged by its kernels, which can write to its control connection: no more of
# it counts than is possible. Here another process writes there in their place.
. "$(dirname "$0")/../pool/one-lib.sh"
need python3 python3
make_pool here 'devices = ( { match = "*"; sessions = 8; } );'
export VOCL_POOL="$scratch/pool"
start_daemon

# forge PID: sends messages repeatedly in the name of that worker
cat > "$scratch/forge.py" << 'END'
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
worker = int(sys.argv[1])
process = libc.syscall(434, worker, 0)  # pidfd_open
sent = 0
for name in os.listdir(f"/proc/{worker}/fd"):
    if not os.readlink(f"/proc/{worker}/fd/{name}").startswith("socket:"):
        continue
    copy = libc.syscall(438, process, int(name), 0)  # pidfd_getfd
    if copy < 0:
        print("no descriptors of others here:", os.strerror(ctypes.get_errno()))
        sys.exit(77)
    one = socket.socket(fileno=copy)
    if one.type & 15 != socket.SOCK_SEQPACKET:
        continue
    for used in ([1 << 40] * 4 + [10**15, 0], [1 << 62] * 4 + [1 << 63, 0], [2**64 - 1] * 6, [1 << 40] * 4 + [10**15, 0],
                 [5, 5, 5, 1 << 62, 0, 0]):
        one.send(struct.pack("<II6Q", 3, 0, *used))
        sent += 1
assert sent
END
mkfifo "$scratch/wait"
vocl run --mem 64M -- "$top_builddir/tests/pool/burn" 0 0 0 wait < "$scratch/wait" > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 5> "$scratch/wait"
await running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
worker=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch"/state/session-*)
wait_until test -d "/proc/$worker/fd"
forge()
{
    python3 "$scratch/forge.py" "$worker" > "$scratch/forged" 2>&1
}
wait_until forge || { grep -q '^no desc' "$scratch/forged" && skip "$(cat "$scratch/forged")"; fail "$(cat "$scratch/forged")"; }
believed()
{
    vocl pool --json status > "$scratch/status" && python3 - "$scratch/status" << 'END'
import json, sys
node = json.load(open(sys.argv[1]))["nodes"][0]
session, device = node["sessions"][0], node["devices"][0]
print(session, device)
assert session["memory"] <= 64 << 20, session["memory"]
assert device["free"] == device["memory"] - (64 << 20), device
assert session["launches"] < 10**11 and session["bytes_in"] < 10**14 and session["bytes_out"] < 10**14
assert 0 <= session["device_seconds"] < 10000 and 0 <= device["busy"] < 10000, device
END
}
sleep 1 # until the daemon has read everything
believed > "$scratch/believed" 2>&1 || fail "it is believed: $(cat "$scratch/believed")"
vocl run --wait 60 -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err2" || fail "another: $(cat "$scratch/err2")"
exec 5>&-
wait $program
await sessions=0 || fail "the session stays"
python3 - "$scratch/accounting" << 'END' || fail "the account: $(cat "$scratch/accounting")"
import json, sys
for line in open(sys.argv[1]):
    record = json.loads(line)
    assert 0 <= record["launches"] < 10**11 and 0 <= record["bytes_in"] < 10**14 and 0 <= record["device_seconds"] < 10000
END
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
