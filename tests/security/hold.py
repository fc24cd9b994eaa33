"""hold.py HOST PORT NUMBER silent|named|drip: holds connections to a daemon without authentication until the daemon has closed
all of them. Prints "held N" when it has them and "closed" at the end. named: sends a daemon's name without its key; drip: sends
a byte a second."""
import os, select, socket, struct, sys, time

host, port, number, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
proof = b"VOCLPOOL" + struct.pack("<II", 1, 32 + 5) + os.urandom(32) + b"@here"
held = []
for _ in range(number):
    try:
        s = socket.create_connection((host, port), timeout=20)
        if how == "named":
            s.recv(60)
            s.sendall(proof)
        held.append(s)
    except OSError:
        pass
print("held", len(held), flush=True)
until = time.time() + 100
sent = 0
while held and time.time() < until:
    readable, _, _ = select.select(held, [], [], 1)
    for s in readable:
        try:
            gone = not s.recv(4096)
        except OSError:
            gone = True
        if gone:
            held.remove(s)
    if how == "drip":
        for s in held:
            try:
                s.sendall(proof[sent % len(proof):sent % len(proof) + 1])
            except OSError:
                pass
        sent += 1
print("closed" if not held else "%d are still open" % len(held), flush=True)
