#!/bin/sh
# Traces of sessions that do not always run: one that rests, and two that take turns on a device that they share.
here=$(dirname "$0")
. "$here/../pool/one-lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
[ "${SANITIZER:-no}" = no ] || skip "sanitizers take the time"
need python3 python3

# checked TRACE: it is good
checked()
{
    python3 "$top_srcdir/tests/session/trace_check.py" "$1" > "$scratch/checked" || fail "$at: $(cat "$scratch/checked")"
}

at="a session that rests"
VOCL_REST_EVERY=400 VOCL_LOG=info timeout -k 10 200 vocl run --trace "$scratch/rest.json" -- \
    "$top_builddir/tests/session/moved" 4 1500 > "$scratch/out" 2> "$scratch/err" || fail "$at: $?: $(tail -n 5 "$scratch/err")"
checked "$scratch/rest.json"
python3 - "$scratch/rest.json" "$(grep -c 'it goes on' "$scratch/err")" <<'END' || fail "$at"
import json, sys
trace, rests = json.load(open(sys.argv[1])), int(sys.argv[2])
slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
spans = [e for e in slices if e["name"] == "the session rests"]
print(rests, "rests", [e["dur"] for e in spans])
assert rests > 0 and len(spans) == rests, (rests, spans)
# another worker each time, and nothing that the program enqueued runs meanwhile: what is written is given back
assert len(trace["otherData"]["programs"][0]["workers"]) == 1 + rests, trace["otherData"]
worst = max(w["clock_error_us"] for w in trace["otherData"]["programs"][0]["workers"])
for span in spans:
    for run in (e for e in slices if e["cat"] == "run" and e["args"]["number"]):
        assert run["ts"] + run["dur"] <= span["ts"] + worst or run["ts"] >= span["ts"] + span["dur"] - worst, (span, run)
END

at="turns"
make_pool here
start_daemon
export VOCL_POOL="$scratch/pool"
for number in 1 2; do
    timeout -k 10 200 vocl run --share 50 --trace "$scratch/turns$number.json" --report="$scratch/turns$number.report.json" -- \
        "$top_builddir/tests/pool/burn" 3 0 0 > "$scratch/out$number" 2>&1 &
    eval "program$number=$!"
done
wait $program1 || fail "$at: $(cat "$scratch/out1")"
wait $program2 || fail "$at: $(cat "$scratch/out2")"
for number in 1 2; do
    checked "$scratch/turns$number.json"
done
python3 - "$scratch"/turns?.json "$scratch"/turns?.report.json <<'END' || fail "$at"
import json, sys
one, two, *reports = (json.load(open(name)) for name in sys.argv[1:])
def spans(trace, category):
    start = trace["otherData"]["start_ns"] / 1000
    return [(start + e["ts"], start + e["ts"] + e["dur"]) for e in trace["traceEvents"] if e.get("cat") == category]
turns = [spans(trace, "turn") for trace in (one, two)]
print([len(t) for t in turns], [r["waited_turn_us"] for r in reports])
assert turns[0] and turns[1], "nobody waited"
assert all(r["waited_turn_us"] > 0 for r in reports), reports
# who waits for its turn runs nothing then, but what a busy host had not begun when the turn was given back
for trace, waited in ((one, turns[0]), (two, turns[1])):
    both = sum(max(0, min(end, over) - max(begin, ran)) for begin, end in waited for ran, over in spans(trace, "run"))
    all = sum(end - begin for begin, end in waited)
    print(both, "us of", all)
    assert both < all / 2, (both, all)
END
kill $daemon
wait $daemon
exit 0
