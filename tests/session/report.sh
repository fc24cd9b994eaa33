#!/bin/sh
# Compares reports with a program whose calls, round trips and bytes were counted by hand: for reads, writes, maps,
# copies, images, and between nodes; and with what is done to data on their way. A program that does nothing gets no
# advice.
. "$(dirname "$0")/../lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
need python3 python3
export VOCL_SHARE=0 # each way a message

# report OPTION... -- PROGRAM...: writes $scratch/report.json and a trace, and checks the trace
report()
{
    timeout -k 10 300 vocl run --trace "$scratch/out.json" --report="$scratch/report.json" "$@" > "$scratch/out" 2>&1 ||
        fail "$at: $?: $(cat "$scratch/out")"
    python3 "$top_srcdir/tests/session/trace_check.py" "$scratch/out.json" > "$scratch/out" || fail "$at: $(cat "$scratch/out")"
}

cat > "$scratch/counted.py" <<'END'
import json, sys
r, n, nodes = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
far = n * (nodes > 1)
large = 9 << 20
expected = { # calls, round trips, bytes out, bytes in
    "clEnqueueWriteBuffer": (3 * n, n, n * (8192 + 16 + large), 0),
    "clEnqueueReadBuffer": (3 * n + far, 2 * n + far, 0, n * (1000 + 4000 + large) + 4 * far),
    "clEnqueueWriteBufferRect": (n, 0, 100 * n, 0),
    "clEnqueueReadBufferRect": (n, n, 0, 100 * n),
    "clEnqueueMapBuffer": (2 * n, n, 0, 512 * n),
    "clEnqueueUnmapMemObject": (2 * n, 0, 256 * n, 0),
    "clEnqueueCopyBuffer": (n, 0, 0, 0),
    "clEnqueueFillBuffer": (n + 2 * far, 0, 0, 0),
    "clEnqueueWriteImage": (n, 0, 1024 * n, 0),
    "clEnqueueReadImage": (n, n, 0, 256 * n),
}
for of in "functions", "sites":
    sums = {}
    for f in r[of]:
        one = f["calls"], f["round_trips"], f["bytes_out"], f["bytes_in"]
        sums[f["name"]] = tuple(a + b for a, b in zip(sums.get(f["name"], (0, 0, 0, 0)), one))
    for name, counts in expected.items():
        assert sums[name] == counts, f"{of}: {name}: {sums[name]}, not {counts}"
    for name, count in ("clWaitForEvents", n), ("clFinish", n + far): # what is over already is not waited for
        calls, trips, *data = sums[name]
        assert calls == count and trips <= count and data == [0, 0], (name, sums[name])
assert len(r["workers"]) == nodes, r["workers"]
for way, column in ("bytes_out", 2), ("bytes_in", 3):
    total = sum(counts[column] for counts in expected.values())
    assert sum(w[way] for w in r["workers"]) == total, (way, total, r["workers"])
    # the other node's: what the program read there; what nodes give each other does not come by
    assert sum(w[way] for w in r["workers"] if w["worker"] == 2) == 4 * far * (way == "bytes_in"), r["workers"]
commands = {c["name"]: c["count"] for c in r["commands"]}
assert commands["copy_buffer"] == n and commands["fill_buffer"] == n + 2 * far, commands
assert r["launches"] == 0 and r["records_dropped"] == 0, r
END
for nodes in 1 2; do
    at="$nodes nodes"
    report --workers $nodes -- "$top_builddir/tests/session/counted" 3
    python3 "$scratch/counted.py" "$scratch/report.json" 3 $nodes || fail "$at"
done

cat > "$scratch/way.py" <<'END'
import json, sys
from collections import Counter
report, trace = (json.load(open(name)) for name in sys.argv[1:3])
words = sys.argv[3:]
sums = Counter()
for e in trace["traceEvents"]:
    if e.get("cat") in ("cipher", "pack", "staged", "link"):
        sums[e["name"]] += e["args"]["bytes"]
(worker,) = report["workers"]
print(dict(sums), worker)
for word in "cipher", "pack", "staged":
    assert (worker[word + "_us"] > 0) == (word in words), worker
if "staged" in words:
    assert sums["copy to the device"] == sums["copy from the device"] == sums["bulk"] // 2 > 0
if "cipher" in words and "pack" not in words: # and headers
    assert sums["encrypt"] >= worker["link_out"] > 0 and sums["decrypt"] >= worker["link_in"] > 0
if "pack" in words:
    assert 0 < sums["pack"] + sums["unpack"] and sums["encrypt"] < worker["link_out"]
END

# way WORD... -- PROGRAM...: these operations, and no others, are performed on data on their way
way()
{
    words=
    while [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    report "$@"
    python3 "$scratch/way.py" "$scratch/report.json" "$scratch/out.json" $words > "$scratch/out" 2>&1 ||
        fail "$at:$words: $(cat "$scratch/out")"
}
at="on the way"
way -- "$top_builddir/tests/session/traced" 3
VOCL_ZERO_COPY=0 way staged -- "$top_builddir/tests/session/counted" 2
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ]; then
    export VOCL_NETWORK=tls VOCL_ZERO_COPY=0
    VOCL_COMPRESS=off way cipher staged -- "$top_builddir/tests/session/counted" 2
    vocl explain "$scratch/out.json" | grep -q '^  on the way to and from workers ' || fail "$at: not in the text"
    [ ! -e "$VOCL_LIBEXECDIR/vocl-pack.so" ] ||
        VOCL_LINK_RATE=10M way cipher pack staged -- "$top_builddir/tests/session/uploads" zero 16 1
    unset VOCL_NETWORK VOCL_ZERO_COPY
fi

# Program and worker share memory: data that are written and read travel no other way, also with recovery.
for recovers in "" --recover; do
    at="shared memory${recovers:+, $recovers}"
    VOCL_SHARE=1 report $recovers -- "$top_builddir/tests/session/traced" 3
    python3 - "$scratch/report.json" <<'END' || fail "$at"
import json, sys
(worker,) = json.load(open(sys.argv[1]))["workers"]
moved = [worker[way] for way in ("shared_out", "shared_in", "bytes_out", "bytes_in")]
assert moved == [6 * 4096, 6 * 4, 0, 0], worker
END
done

at="a program that does nothing"
for program in true "$top_builddir/tests/session/platform"; do
    vocl run --report="$scratch/report.json" -- "$program" > /dev/null 2>&1
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["hints"] == [] and r["launches"] == 0, r' \
        "$scratch/report.json" || fail "$at: $program"
    vocl run --report -- "$program" > /dev/null 2> "$scratch/text"
    grep -q ' 0 launches' "$scratch/text" && ! grep -q 'What could be done' "$scratch/text" || fail "$at: $(cat "$scratch/text")"
done
exit 0
