#!/bin/sh
# Traces and reports: the file has what a program that was counted by hand did, its calls, round trips and bytes, in the
# form of doc/user/tracing.md; also for a program that is killed, for two workers, clocks that differ, and a move.
. "$(dirname "$0")/../lib.sh"
[ -x "$VOCL_LIBEXECDIR/vocl-trace" ] || skip "built without traces"
need python3 python3
traced=$top_builddir/tests/session/traced
trace=$scratch/out.json
export VOCL_SHARE=0 # each way a message

# checked WORD...: the file is valid, and has that
checked()
{
    python3 "$top_srcdir/tests/session/trace_check.py" "$trace" "$@" || fail "$at"
    [ ! -e "$trace.parts" ] || fail "$at: left: $(ls "$trace.parts")"
}

# Every OpenCL function is traced.
rows=$(grep -c -e '^EXPORTED' -e '^BY_NAME' "$top_srcdir/base/opencl.def")
hooks=$(cd "$top_srcdir" && cat libvocl/*.c | grep -o '^    TIMELINE([A-Za-z0-9]*' | sort -u | wc -l)
own=$(sed -n 's/^BY_NAME(\([A-Za-z0-9]*\),.*, \([A-Za-z_0-9]*\))$/\2/p' "$top_srcdir/base/opencl.def" | sort -u)
same=$(sed -n 's/^BY_NAME(\([A-Za-z0-9]*\),.*, \([A-Za-z_0-9]*\))$/\2/p' "$top_srcdir/base/opencl.def" | wc -l)
shared=$((same - $(echo "$own" | wc -l)))
shared=$((shared + $(sed -n 's/^EXPORTED[A-Z_]*(\([A-Za-z0-9]*\),.*/\1/p' "$top_srcdir/base/opencl.def" | sort > "$scratch/rows"
    echo "$own" | comm -12 - "$scratch/rows" | wc -l)))
[ "$hooks" -eq $((rows - shared)) ] || fail "$rows functions, $shared of them other names, and $hooks begin with TIMELINE()"

at="a worker"
timeout -k 10 300 vocl run --trace "$trace" --report="$scratch/report.json" -- "$traced" 20 || fail "$at: $?"
checked 20 workers=1

at="its report"
cat > "$scratch/report.py" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
f = {x["name"]: x for x in r["functions"]}
c = {x["name"]: x for x in r["commands"]}
assert f["clEnqueueReadBuffer"]["calls"] == f["clEnqueueReadBuffer"]["round_trips"] == 40, f
assert f["clEnqueueWriteBuffer"]["calls"] == 40 and f["clEnqueueWriteBuffer"]["round_trips"] == 0, f
assert f["clFinish"]["round_trips"] == 2, f
assert f["clEnqueueReadBuffer"]["bytes_in"] == 160 and f["clEnqueueWriteBuffer"]["bytes_out"] == 40 * 4096, f
assert r["workers"][0]["bytes_out"] == 40 * 4096 and r["workers"][0]["bytes_in"] == 160, r["workers"]
assert r["launches"] == 40 and c["twice"]["count"] == c["thrice"]["count"] == 20 and c["twice"]["running_us"] > 0, c
waited = sum(r["waited_%s_us" % what] for what in ("network", "device", "turn", "compiler"))
assert 0 < waited + r["session_start_us"] <= r["wall_us"] * 1.001 and 0 < r["native_estimate_us"] <= r["wall_us"], r
END
python3 "$scratch/report.py" "$scratch/report.json" || fail "$at: $(cat "$scratch/report.json")"
vocl explain "$trace" > "$scratch/text" || fail "$at: vocl explain: $?"
grep -q '^ *clEnqueueReadBuffer  *40 ' "$scratch/text" || fail "$at: $(cat "$scratch/text")"
vocl explain "$trace" "$scratch/again.json" && cmp "$scratch/again.json" "$scratch/report.json" || fail "$at: not the same"
vocl run --report -- "$traced" 20 2> "$scratch/text" || fail "$at: $?"
grep -q 'round trips, 40 launches' "$scratch/text" || fail "$at: $(cat "$scratch/text")"

at="a hint"
vocl run --report -- "$traced" 2000 2> "$scratch/text" || fail "$at: $?"
grep -q 'the program reads 4 bytes after every kernel: 4000 round trips by clEnqueueReadBuffer' "$scratch/text" ||
    fail "$at: $(cat "$scratch/text")"

at="memory of both"
VOCL_SHARE=1 vocl run --trace "$trace" -- "$traced" 5 || fail "$at: $?"
checked workers=1

at="two workers"
timeout -k 10 300 vocl run --workers 2 --trace "$trace" -- "$traced" 20 || fail "$at: $?"
checked workers=2

at="the program's status"
[ "$(status_of vocl run --trace "$trace" -- sh -c 'exit 3')" = 3 ] || fail "$at"
[ "$(status_of vocl run --trace "$trace" -- /nowhere/program)" = 127 ] || fail "$at: no such program"
[ "$(status_of vocl run --trace /nowhere/out.json -- true)" = 2 ] || fail "$at: no such folder"

# Workers send their records once a second, if nothing prevents them.
at="a program that is killed"
killed_after()
{
    [ "$(status_of timeout -k 10 300 vocl run --trace "$trace" -- "$traced" 20 kill $1)" = 137 ] || fail "$at: not as it ended"
    (checked 20 workers=1)
}
killed_after 2 || killed_after 20 || exit 1

at="two programs"
timeout -k 10 300 vocl run --trace "$trace" -- sh -c '"$1" 10 & "$1" 10; wait' sh "$traced" || fail "$at: $?"
checked 10 programs=2

# going_on: the program has completed two more rounds
going_on()
{
    gone_round=$(grep -c again "$scratch/rounds")
    wait_until gone_on || fail "$at: it does not go on"
}
gone_on()
{
    [ "$(grep -c again "$scratch/rounds")" -ge $((gone_round + 2)) ]
}

at="a move"
: > "$scratch/rounds"
VOCL_MOVE_EVERY= vocl run --spare 1 --trace "$trace" -- "$traced" 20 until "$scratch/enough" > "$scratch/rounds" &
runs=$!
program=
find_program()
{
    program=$(pgrep -P $runs -x traced)
}
going_on
find_program || fail "$at: no session"
vocl move "$program" --to spare --quiet || fail "$at: vocl move: $?"
going_on
touch "$scratch/enough"
wait $runs || fail "$at: not as it ended: $?"
checked moves=1 workers=2
rm "$scratch/enough"

at="start and stop"
: > "$scratch/rounds"
vocl run -- "$traced" 20 until "$scratch/enough" > "$scratch/rounds" &
program=$!
going_on
rm -f "$trace"
for round in 1 2; do
    vocl trace $program start "$trace" || fail "$at: start"
    ! vocl trace $program start "$scratch/other.json" 2> "$scratch/err" || fail "$at: twice"
    grep -q 'already running' "$scratch/err" || fail "$at: $(cat "$scratch/err")"
    going_on
    [ ! -e "$scratch/other.json" ] || fail "$at: a file of a trace that was refused"
    vocl trace $program stop || fail "$at: stop: $?"
    checked workers=1
    grep -q clEnqueueNDRangeKernel "$trace" || fail "$at: no launches"
done
kill $program
wait $program

# A worker runs in a time namespace with another clock.
at="another clock"
if unshare --time --monotonic 1000 --boottime 1000 true 2> /dev/null; then
    cat > "$scratch/rsh" <<'END'
#!/bin/sh
shift
exec unshare --time --monotonic 1000 --boottime 1000 --fork sh -c "$*"
END
    chmod +x "$scratch/rsh"
    VOCL_RSH=$scratch/rsh VOCL_ADDRESS=127.0.0.1 VOCL_NETWORK=tls timeout -k 10 300 \
        vocl run --hosts otherclock --trace "$trace" -- "$traced" 20 || fail "$at: $?"
    checked 20 workers=1 ahead=1000000000
else
    echo "no time namespaces here"
fi

at="a report of nonsense"
echo '{"traceEvents": []}' > "$scratch/none.json"
[ "$(status_of vocl explain "$scratch/none.json")" = 1 ] || fail "$at"

# The command that opens a trace on each node is sent while the session's thread may be sending already.
at="starts"
for round in $(seq "$(rounds 10)"); do
    vocl run --workers 3 --trace "$scratch/round.json" -- "$top_builddir/tests/session/launches" 2 > "$scratch/out" 2>&1 ||
        fail "$at: round $round: $(cat "$scratch/out")"
done
exit 0
