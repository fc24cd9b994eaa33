#!/bin/sh
# Slow visitors, which send a byte at a time, keep nobody from /metrics, and are disconnected.
. "$(dirname "$0")/../pool/one-lib.sh"
need python3 python3
need curl curl
curl() { env -u LD_PRELOAD curl "$@"; }
make_pool here "http = \"127.0.0.1:$((port + 1))\";"
start_daemon
python3 - $((port + 1)) > "$scratch/slow" 2>&1 << 'END' &
import select, socket, sys, time
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(200)]
print("held", flush=True)
until = time.time() + 600
while held and time.time() < until:
    for s in list(held):
        try:
            s.send(b"G" if s not in select.select([s], [], [], 0)[0] or s.recv(100) else b"")
        except OSError:
            held.remove(s)
            continue
        if select.select([s], [], [], 0)[0]:
            try:
                if not s.recv(100):
                    held.remove(s)
            except OSError:
                held.remove(s)
    time.sleep(0.2)
print("left", len(held), flush=True)
END
slow=$!
wait_until grep -q held "$scratch/slow" || fail "nobody is slow: $(cat "$scratch/slow")"
for one in 1 2 3 4 5; do
    curl -s --max-time 200 "http://127.0.0.1:$((port + 1))/metrics" > "$scratch/metrics" || fail "no metrics beside the slow"
    grep -q '^vocl_node_up' "$scratch/metrics" || fail "no metrics: $(cat "$scratch/metrics")"
done
wait $slow
grep -q '^left 0$' "$scratch/slow" || fail "not cut off: $(cat "$scratch/slow")"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
