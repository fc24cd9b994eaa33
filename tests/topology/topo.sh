#!/bin/sh
# `vocl topo`: the paper's example, halo exchanges, drawings, and input that is no tree.
. "$(dirname "$0")/../lib.sh"
need python3 python3

vocl topo predict --topology T2 --tau 0.2 --bandwidth 11.6 --size 300M '0>2,1>4,3>2,6>4' > "$scratch/out" ||
    fail "predict: $(cat "$scratch/out")"
grep -v '^[ABwc].* [a-z]* [a-z]* [a-z]* ' "$scratch/out" > "$scratch/tables"
cat > "$scratch/expected" <<'END'
transfer        A        B        C    D (8)    D (9)
 0 > 2     1.0000   0.5000   0.5000   0.3000   0.3000
 1 > 4     1.0000   0.5000   0.3000   0.3000   0.3000
 3 > 2     1.0000   1.0000   0.5000   0.5000   0.7000
 6 > 4     1.0000   1.0000   0.7000   0.7000   0.7000

step 1
transfer   factor         sent         left    elapsed
 0 > 2     0.3000     128.6 MB     171.4 MB    36.1 ms
 1 > 4     0.3000     128.6 MB     171.4 MB    36.1 ms
 3 > 2     0.7000     300.0 MB       0.0 MB    36.1 ms
 6 > 4     0.7000     300.0 MB       0.0 MB    36.1 ms

step 2
transfer   factor         sent         left    elapsed
 0 > 2     0.5000     300.0 MB       0.0 MB    64.9 ms
 1 > 4     0.5000     300.0 MB       0.0 MB    64.9 ms

transfer      start        end
 0 > 2       0.0 ms    64.9 ms
 1 > 4       0.0 ms    64.9 ms
 3 > 2       0.0 ms    36.1 ms
 6 > 4       0.0 ms    36.1 ms
END
diff "$scratch/expected" "$scratch/tables" || fail "the paper's Tables I and II"
grep -q '^A, B, C, D: what each step' "$scratch/out" || fail "columns that nobody explains"

# a transfer that begins later does not slow others before that; and the same as JSON
vocl topo predict --topology T2 '0>2,1>4@10' > "$scratch/out" || fail "starts: $(cat "$scratch/out")"
tail -n 3 "$scratch/out" | diff - /dev/fd/3 3<<'END' || fail "starts"
transfer      start        end
 0 > 2       0.0 ms    40.5 ms
 1 > 4      10.0 ms    53.0 ms
END
json()
{
    python3 -c "import json, sys; t = json.load(sys.stdin); assert $1, t" || fail "JSON: $1"
}
vocl topo predict --topology T2 --json '0>2:200M,host>4:100M@60' | json 't["topology"] == "T2" and [x["source"] for x in
    t["transfers"]] == [0, "host"] and t["transfers"][1]["start_ms"] == 60 and t["transfers"][1]["end_ms"] > 60' || exit 1
vocl topo order --topology T2 --json '0>4,0>1' | json 't["transfers"][0]["target"] in (1, 4) and t["as_given"]["last_ms"] > 0' || exit 1
vocl topo halo --topology T2 --json --dims 2 | json 'len(t["neighbours"]) == 8 and t["fastest"] < t["slowest"]' || exit 1
vocl topo show --topology T2 --json | json '[x["device"] for x in t["nodes"] if x["kind"] == "device"] == list(range(8))' || exit 1
# JSON is UTF-8, whatever bytes a name has.
printf 'switch A\ndevice B\377 A\ndevice C A\n' > "$scratch/bytes"
vocl topo show --topology "$scratch/bytes" --json | python3 -c '
import json, sys
names = [n["name"] for n in json.loads(sys.stdin.buffer.read().decode("utf-8"))["nodes"]]
assert names == ["A", "B\ufffd", "C"], names' || fail "a name that is not UTF-8"
vocl topo predict --topology T2 --svg '0>2,1>4,host>5' > "$scratch/out" && grep -q '^</svg>$' "$scratch/out" &&
    [ "$(grep -c marker-end "$scratch/out")" = 3 ] && grep -q '>host &gt; 5: ' "$scratch/out" ||
    fail "transfers in the picture: $(cat "$scratch/out")"
[ "$(vocl topo --topology T2)" = "$(vocl topo show --topology T2)" ] || fail "bare vocl topo"

[ "$(vocl topo halo --topology T2 --dims 2 | tail -n 1)" = "slowest/fastest 1.937 slowest/median 1.296" ] ||
    fail "halo, 2 dimensions: $(vocl topo halo --topology T2 --dims 2)"
[ "$(vocl topo halo --topology T2 --dims 3 | tail -n 1)" = "slowest/fastest 2.575 slowest/median 1.446" ] ||
    fail "halo, 3 dimensions: $(vocl topo halo --topology T2 --dims 3)"

# an order, with the time that the given order would have taken
vocl topo order --topology T2 --tau 0.2 '0>4,0>1,1>5:200M,1>0' > "$scratch/out" || fail "order: $(cat "$scratch/out")"
cat > "$scratch/expected" <<'END'
 0 > 1
 0 > 4
 1 > 5
 1 > 0
as given: 77.9 ms, 60.0 ms on average; in this order: 56.8 ms, 37.4 ms
END
sed 's/ *$//' "$scratch/out" | diff "$scratch/expected" - || fail "order"

printf 'root R\nswitch A R\ndevice gpu0 A # one\ndevice gpu<1> A\n' > "$scratch/tree"
printf 'R (root complex)\n`- A (switch)\n   |- 0: gpu0\n   `- 1: gpu<1>\n' > "$scratch/expected"
vocl topo show --topology "$scratch/tree" > "$scratch/out" && diff "$scratch/expected" "$scratch/out" || fail "show"
vocl topo show --topology "$scratch/tree" --svg > "$scratch/out" && grep -q '^</svg>$' "$scratch/out" &&
    grep -q 'gpu&lt;1>' "$scratch/out" || fail "svg: $(cat "$scratch/out")"

# hwloc's XML: branches without devices are left out, and a disk is no device
cat > "$scratch/expected" <<'END'
host0000:00 (root complex), NUMA node 0
|- 0000:00:01.0 (switch)
|  `- 0000:01:00.0 (switch)
|     |- 0: 0000:03:00.0, 5 links from 0000:06:00.0
|     `- 1: 0000:04:00.0, 5 links from 0000:06:00.0
|- 0000:00:02.0 (switch)
|  `- 2: 0000:05:00.0, 4 links from 0000:06:00.0
`- 0000:00:03.0 (switch)
   `- 0000:06:00.0 (interface)
END
node=$(dirname "$0")/node.xml
VOCL_TOPOLOGY=$node vocl topo show > "$scratch/out" && diff "$scratch/expected" "$scratch/out" || fail "XML"
vocl topo predict --topology "$node" '0>1,2>1' | grep -q ' 2 > 1     1.0000   1.0000   0.3000' || fail "predict by XML"

# a management controller's display is no device, though it has a GPU's class
sed 's/0302 \[10de:102d\] \[10de:106c\] a1" pci_link_speed="15.753846"\/>/0300 [1a03:2000] [1a03:2000] 41"\/>/' "$node" > "$scratch/tree"
[ "$(vocl topo show --topology "$scratch/tree" | grep -c ': 0000')" -eq 1 ] || fail "screens: $(vocl topo show --topology "$scratch/tree")"

# two sockets: NUMA nodes and their distances
cat > "$scratch/expected" <<'END'
machine (root complex)
|- host0000:00 (switch), NUMA node 0
|  `- 0000:00:01.0 (switch)
|     `- 0: 0000:01:00.0, 6 links from 0000:82:00.0
`- host0000:80 (switch), NUMA node 1
   |- 0000:80:01.0 (switch)
   |  `- 1: 0000:81:00.0, 4 links from 0000:82:00.0
   `- 0000:80:02.0 (switch)
      `- 0000:82:00.0 (interface)
END
two=$(dirname "$0")/two_sockets.xml
vocl topo show --topology "$two" > "$scratch/out" && diff "$scratch/expected" "$scratch/out" || fail "two sockets"
vocl topo import --topology "$two" | grep -q '^numa-distance 0 1 21$' || fail "NUMA distances"

# measured, here with devices that are only assumed to be in T2; the output is a tree with the measured parameters
vocl topo calibrate --topology "$node" --size 4M > "$scratch/out" 2> "$scratch/err" ||
    fail "one device: $(cat "$scratch/err")"
grep -q '^# one link, 0 > the host: ' "$scratch/out" || fail "one device: $(cat "$scratch/out")"
POCL_DEVICES="pthread pthread pthread pthread pthread" vocl topo calibrate --topology T2 --size 4M > "$scratch/measured" ||
    fail "calibrate"
grep -q '^# one link, 0 > 1: ' "$scratch/measured" && grep -q '^# across the root complex, 0 > 4: ' "$scratch/measured" ||
    fail "calibrate: $(cat "$scratch/measured")"
vocl topo halo --topology "$scratch/measured" --dims 2 > "$scratch/out" || fail "not a tree: $(cat "$scratch/measured")"
{ echo here; cat "$scratch/measured"; } > "$scratch/tree"
vocl topo calibrate --topology "$scratch/tree" > "$scratch/out" 2> "$scratch/err" && fail "calibrate without devices"
grep -q "none of the tree's devices" "$scratch/err" || fail "calibrate without devices: $(cat "$scratch/err")"

# refused WHAT COMMAND...: the command fails with an error that names WHAT
refused()
{
    what=$1
    shift
    [ "$(status_of vocl topo "$@" 2> "$scratch/err")" -eq 2 ] || fail "$* was not refused"
    grep -q "$what" "$scratch/err" || fail "$*: $(cat "$scratch/err")"
}
refused 'No such file' show --topology "$scratch/none"
printf 'switch A\nswitch B C\n' > "$scratch/tree"
refused 'line 2: its parent' show --topology "$scratch/tree"
head -c 10000 /dev/urandom > "$scratch/tree"
refused 'line' show --topology "$scratch/tree"
for bytes in 0 1 50 300 1000 2000 3000; do
    head -c $bytes "$node" > "$scratch/tree"
    refused "$scratch/tree" show --topology "$scratch/tree"
done
# hwloc itself crashes on this file
sed 's/ complete_nodeset="0x00000001" gp_index="3"/ gp_index="3"/' "$node" > "$scratch/tree"
refused 'hwloc' show --topology "$scratch/tree"
"$top_builddir/tests/topology/fuzz_xml" "$node" "$scratch/tree" 200 || fail "XML with mistakes"
sed 's/0302/0106/; s/opencl/sd/; s/osdev_type="5"/osdev_type="0"/; s/0302/0106/; /0302/d' "$node" > "$scratch/tree"
refused 'no PCI device that computes' show --topology "$scratch/tree"
refused 'devices 0 to 7' predict --topology T2 '0>8'
refused 'goes nowhere' predict --topology T2 '3>3'
refused 'goes nowhere' predict --topology T2 'host>host'
refused 'does not begin' predict --topology T2 '0>1;2>3'
refused 'is no size' order --topology T2 '0>1:2X'
refused 'no bandwidth' predict --topology T2 --bandwidth 0 '0>1'
refused 'does not begin' predict --topology T2 'x>3'
refused 'no transfers' predict
refused 'tau is to be' predict --topology T2 --tau 1 '0>1'
refused 'is no size' predict --topology T2 --size many '0>1'
refused '2 or 3 dimensions' halo --topology T2 --dims 4
refused 'unknown command' draw
refused ': Is a directory' show --topology "$scratch"
refused 'is no number of milliseconds' predict --topology T2 '0>1@soon'
refused 'without @MS' order --topology T2 '0>1@5'
refused 'draws nothing' halo --topology T2 --svg --dims 2
refused 'exclude each other' show --topology T2 --svg --json
