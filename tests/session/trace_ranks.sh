#!/bin/sh
# Traces of MPI programs with two ranks, in one file for both: their sessions, and XTQ's puts, tasks and waits.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
need python3 python3
trace=$scratch/out.json

cat > "$scratch/messages.py" <<'END'
import json, sys
from collections import Counter
trace = json.load(open(sys.argv[1]))
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
ranks = {p["xtq_rank"]: p["pid"] for p in trace["otherData"]["programs"] if "xtq_rank" in p}
assert set(ranks) == {0, 1}, trace["otherData"]
puts = Counter((e["args"]["initiator"], e["args"]["target"], e["args"]["function"]) for e in events if e["cat"] == "put")
tasks = Counter((e["args"]["initiator"], e["args"]["target"], e["args"]["function"]) for e in events if e["cat"] == "task")
assert puts == tasks, (puts, tasks)
assert sum(n for (_, _, f), n in puts.items() if f == 1) == 2046, puts # of a tree of 1,024 leaves all but the root
for e in events:
    if e["cat"] in ("put", "task"):
        assert e["pid"] == ranks[e["args"]["initiator" if e["cat"] == "put" else "target"]], e
flows = {}
for e in trace["traceEvents"]:
    if e.get("cat") == "xtq flow":
        flows.setdefault(e["id"], []).append(e)
assert len(flows) == sum(puts.values()), len(flows)
assert any(f[0]["pid"] != f[1]["pid"] for f in flows.values())
assert any(e["name"] == "wait for a signal" for e in events)
END

on_two()
{
    case ${mpis%% *} in
    mpich) set -- $MPIEXEC_MPICH -n 2 "$@" ;;
    *)     set -- $MPIEXEC_OPENMPI --oversubscribe -n 2 "$@" ;;
    esac
    timeout -k 10 300 vocl run --trace "$trace" -- "$@" > "$scratch/out" 2>&1 < /dev/null ||
        fail "$*: $(cat "$scratch/out")"
}

checked()
{
    python3 "$top_srcdir/tests/session/trace_check.py" "$trace" "$@" || fail "$*"
    [ ! -e "$trace.parts" ] || fail "left: $(ls "$trace.parts")"
}

[ -n "${mpis# }" ] || skip "no MPI"
on_two "$top_builddir/examples/xtq_graph"
grep -q 'sum of the leaves: 1572352' "$scratch/out" || fail "$(cat "$scratch/out")"
checked programs=2
python3 "$scratch/messages.py" "$trace" || fail "messages: $(head -c 500 "$scratch/out")"
status=$(status_of vocl explain "$trace" 2> /dev/null)
[ "$status" -le 1 ] || fail "vocl explain: status $status"

export VOCL_SHARE=0
on_two "$top_builddir/examples/xtq_graph" # as if each rank had a host of its own
checked programs=2
python3 "$scratch/messages.py" "$trace" || fail "messages, apart: $(head -c 500 "$scratch/out")"

# Clocks that are 1,000 s apart, with messages both ways
if unshare --time --monotonic 1000 --boottime 1000 true 2> /dev/null; then
    cat > "$scratch/elsewhere" <<'END'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] || exec "$@"
exec unshare --time --monotonic 1000 --boottime 1000 --fork "$@"
END
    chmod +x "$scratch/elsewhere"
    on_two "$scratch/elsewhere" "$top_builddir/examples/xtq_graph"
    checked programs=2
    python3 "$scratch/messages.py" "$trace" || fail "messages, clocks apart: $(head -c 500 "$scratch/out")"
    python3 - "$trace" <<'END' || fail "clocks apart"
import json, sys
trace = json.load(open(sys.argv[1]))
shifted = [p for p in trace["otherData"]["programs"] if "clock_offset_us" in p]
print([(p["xtq_rank"], p["clock_offset_us"], p["clock_error_us"]) for p in shifted])
assert [p["xtq_rank"] for p in shifted] == [0], shifted # its host has been up less long
assert abs(shifted[0]["clock_offset_us"] + 1e9) <= shifted[0]["clock_error_us"] + 1, shifted
END
else
    echo "no time namespaces here"
fi

on_two "$top_builddir/tests/session/traced" 10
checked 10 programs=2 workers=1
exit 0
