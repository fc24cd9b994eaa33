#!/bin/sh
# Traces of sessions that do not run all the time: one that is suspended, and two that share a device by time slices.
here=$(dirname "$0")
. "$here/../pool/one-lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
[ "${SANITIZER:-no}" = no ] || skip "sanitizers take the time"
need python3 python3

# checked TRACE: the trace is valid
checked()
{
    python3 "$top_srcdir/tests/session/trace_check.py" "$1" > "$scratch/checked" || fail "$at: $(cat "$scratch/checked")"
}

at="a suspended session"
rested_twice()
{
    [ "$(grep -c 'resumed:' "$scratch/err")" -ge 2 ]
}
: > "$scratch/err"
VOCL_SUSPEND_EVERY=200 VOCL_LOG=info timeout -k 10 300 vocl run --trace "$scratch/suspended.json" -- \
    "$top_builddir/tests/session/moved" 4 0 "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until rested_twice || fail "$at: it is not suspended: $(tail -n 5 "$scratch/err")"
touch "$scratch/enough"
wait $program || fail "$at: $?: $(tail -n 5 "$scratch/err")"
checked "$scratch/suspended.json"
python3 - "$scratch/suspended.json" "$(grep -c 'resumed:' "$scratch/err")" <<'END' || fail "$at"
import json, sys
trace, count = json.load(open(sys.argv[1])), int(sys.argv[2])
slices = [e for e in trace["traceEvents"] if e["ph"] == "X"]
spans = [e for e in slices if e["name"] == "the session is suspended"]
print(count, "suspended", [e["dur"] for e in spans])
assert count > 0 and len(spans) == count, (count, spans)
# another worker each time, and nothing that the program enqueued runs meanwhile: what is written is given back
assert len(trace["otherData"]["programs"][0]["workers"]) == 1 + count, trace["otherData"]
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
    timeout -k 10 300 vocl run --share 50 --trace "$scratch/turns$number.json" --report="$scratch/turns$number.report.json" -- \
        "$top_builddir/tests/pool/burn" "$scratch/burnt" 0 0 > "$scratch/out$number" 2>&1 &
    eval "program$number=$!"
done
# launched: writes how many launches of each session the daemon knows; true if both have launched kernels
launched()
{
    vocl pool sessions --json | grep -o '"launches": *[1-9][0-9]*' | tr -dc '0-9\n' > "$scratch/launched" &&
        [ "$(wc -l < "$scratch/launched")" = 2 ]
}
# Both sessions make progress: each has launched more since both were first seen at work.
launched_more()
{
    launched && paste "$scratch/since" "$scratch/launched" | awk '$2 <= $1 { same = 1 } END { exit same }'
}
wait_until launched || fail "$at: they do not run: $(cat "$scratch/out1" "$scratch/out2")"
cp "$scratch/launched" "$scratch/since"
wait_until launched_more || fail "$at: one of them has no turn: $(vocl pool sessions --json)"
touch "$scratch/burnt"
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
# While a session waits for its turn its worker launches nothing: what runs then was launched before, and a busy host had
# not begun it when the turn was given back. Native OpenCL's clock is known within a millisecond.
def launched(trace):
    start = trace["otherData"]["start_ns"] / 1000
    runs = (e for e in trace["traceEvents"] if e.get("cat") == "run" and "kernel" in e["args"] and e["args"]["native_times"])
    return [start + e["ts"] - e["args"]["submitted_us"] - e["args"]["queued_us"] for e in runs]
for trace, waited in ((one, turns[0]), (two, turns[1])):
    at = launched(trace)
    meanwhile = [(begin, time, end) for begin, end in waited for time in at if begin + 1000 < time < end - 1000]
    print(len(at), "launches,", len(meanwhile), "of them in", sum(end - begin for begin, end in waited), "us of waiting")
    assert at and not meanwhile, meanwhile
END
kill $daemon
wait $daemon
exit 0
