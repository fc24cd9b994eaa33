#!/bin/sh
# The report of a large program, with as many launches as a program had whose report took minutes, as threads, kernels'
# names and commands were searched for one by one. It contains all launches, also from a file in another layout, and its
# progress is announced.
. "$(dirname "$0")/../lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
need python3 python3
launches=58884
case $SANITIZER in address | thread) launches=20000 ;; esac

mkdir "$scratch/parts"
"$top_builddir/tests/session/large_trace" "$scratch/parts" $launches || fail "no records"
"$VOCL_LIBEXECDIR/vocl-trace" make "$scratch/parts" "$scratch/trace.json" || fail "no trace"
vocl explain "$scratch/trace.json" "$scratch/report.json" || fail "no report"
python3 - "$scratch/report.json" $launches <<'PY' || fail "the report: $(head -c 2000 "$scratch/report.json")"
import json, sys
r, n = json.load(open(sys.argv[1])), int(sys.argv[2])
assert r["launches"] == 2 * n and r["records_dropped"] == 0, (r["launches"], r["records_dropped"])
assert sum(f["calls"] for f in r["functions"]) == n, r["functions"]
assert {c["name"]: c["count"] for c in r["commands"] if c["kernel"]} == {"even": n, "odd": n}, r["commands"]
PY
# An arrow goes from each call to the command that it sent, and none to commands without a call.
[ "$(grep -c '"ph":"s"' "$scratch/trace.json")" = $launches ] || fail "arrows: $(grep -c '"ph":"s"' "$scratch/trace.json")"

# One event at a time is in memory; a trace in another layout is read, too.
mkdir "$scratch/few"
"$top_builddir/tests/session/large_trace" "$scratch/few" 500 || fail "no few records"
"$VOCL_LIBEXECDIR/vocl-trace" make "$scratch/few" "$scratch/few.json" || fail "no trace of few"
vocl explain "$scratch/few.json" "$scratch/report.json" || fail "no report of few"
for layout in 'indent=1' 'separators=(",", ":")' 'sort_keys=True'; do
    python3 -c "import json, sys; json.dump(json.load(open(sys.argv[1])), open(sys.argv[2], 'w'), $layout)" "$scratch/few.json" "$scratch/other.json"
    vocl explain "$scratch/other.json" "$scratch/again.json" || fail "$layout"
    cmp "$scratch/report.json" "$scratch/again.json" || fail "$layout: another report"
done
# A trace whose end is missing, or with an invalid line, is not accepted as complete.
head -c 100000 "$scratch/few.json" > "$scratch/torn.json"
vocl explain "$scratch/torn.json" > "$scratch/out" 2>&1 && fail "half a trace has a report"
sed '100s/.*/nonsense/' "$scratch/few.json" > "$scratch/torn.json"
vocl explain "$scratch/torn.json" > "$scratch/out" 2>&1 && fail "a trace with nonsense has a report"

# A report that takes long is announced before; this many launches take long.
launches=20000
vocl run --report="$scratch/report.txt" -- sh -c '"$0" "$VOCL_TIMELINE" '$launches "$top_builddir/tests/session/large_trace" 2> "$scratch/err" ||
    fail "vocl run --report: $(cat "$scratch/err")"
grep -q '^vocl: the program has ended; .* MiB of records .*report' "$scratch/err" || fail "not a word: $(cat "$scratch/err")"
grep -q "$((2 * launches)) launches" "$scratch/report.txt" || fail "$(head -n 12 "$scratch/report.txt")"
VOCL_POOL=none vocl run --report="$scratch/report.txt" -- sh -c '"$0" "$VOCL_TIMELINE" 5' "$top_builddir/tests/session/large_trace" 2> "$scratch/err"
[ ! -s "$scratch/err" ] || fail "a word of little: $(cat "$scratch/err")"
exit 0
