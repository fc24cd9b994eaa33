#!/bin/sh
# `vocl topo route`: registers, hops, loads, data that arrive, and packets that deadlock.
. "$(dirname "$0")/../lib.sh"
need python3 python3

vocl topo route --ring 4 > "$scratch/out" || fail "registers: $(cat "$scratch/out")"
cat > "$scratch/expected" <<'END'
   1 N     0x6000000000  0x2000000000  0x2000000000
   1 E     0x6000000000  0x4000000000  0x6000000000
   1 W     0x6000000000             0             0
END
grep '^   1 ' "$scratch/out" | diff "$scratch/expected" - || fail "the registers of a ring of four (Figure 5)"
grep -q '^SIMULATED: 1 ring of 4 nodes' "$scratch/out" || fail "not labelled"

vocl topo route --ring 8 '0>1:4,2>6:4@10' > "$scratch/out" || fail "messages: $(cat "$scratch/out")"
cat > "$scratch/expected" <<'END'
  0 > 1            4    1       0.000       0.783        5.1
  2 > 6            4    4      10.000      11.566        2.6
END
grep ' > ' "$scratch/out" | diff "$scratch/expected" - || fail "hops and times"
tail -n 1 "$scratch/out" | grep -q '; 8 bytes compared, 0 different$' || fail "delivery: $(tail -n 1 "$scratch/out")"

for pattern in neighbours opposite all random; do
    for net in "--ring 8" "--ring 8 --rings 2" "--ring 4 --rings 4 --buffers 1" "--ring 3 --channels 1"; do
        vocl topo route $net --size 5000 --json $pattern > "$scratch/out" || fail "$pattern, $net: $(cat "$scratch/out")"
        python3 - "$scratch/out" <<'END' || fail "$pattern, $net"
import json, sys
t = json.load(open(sys.argv[1]))
hops = sum(m["hops"] * m["bytes"] for m in t["messages"])
assert t["simulated"] and t["different"] == 0 and t["end_us"] > 0 and t["messages"]
assert hops == sum(l["bytes"] for l in t["links"] if l["link"] in "EWSU")
assert sum(m["bytes"] for m in t["messages"]) == sum(l["bytes"] for l in t["links"] if l["link"] == "N")
assert t["rings"] > 2 or not [l for l in t["links"] if l["link"] == "U"]
assert all(l["busy_us"] <= t["end_us"] for l in t["links"])
END
    done
done

# one channel and few buffers: the packets deadlock, and a warning comes before
! vocl topo route --ring 8 --channels 1 --buffers 1 --size 100K opposite > "$scratch/out" 2> "$scratch/err" ||
    fail "no deadlock: $(cat "$scratch/out")"
grep -q 'all packets wait for others' "$scratch/err" || fail "deadlock: $(cat "$scratch/err")"
grep -q 'in a circle, as at 0.E 1.E' "$scratch/out" || fail "circle: $(cat "$scratch/out")"
vocl topo route --ring 8 --channels 2 --buffers 1 --size 100K opposite > "$scratch/out" || fail "with 2 channels"
grep -q '^no packets can wait for each other in a circle$' "$scratch/out" || fail "circle with 2 channels"

for bad in "0>8" "0" ">1" "0>1:0" "0>1@x" "0>1,," "all --ring" "--ring 0 all" "--ring 300 all" "--channels 3 all" "all all" \
        "--size 100G all" "--bandwidth 0 all" "nothing"; do
    vocl topo route $bad > /dev/null 2> "$scratch/err"
    status=$?
    [ $status -eq 2 ] || fail "\"$bad\": status $status: $(cat "$scratch/err")"
done
