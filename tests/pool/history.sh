#!/bin/sh
# The accounting file: every node records every session, also when the file is renamed, cannot be written for a while,
# or ends with half a line; `vocl pool history` finds the records of all nodes, and computes sums.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
# the node's energy: a counter that wraps around
mkdir -p "$scratch/powercap/intel-rapl:0"
echo 262143000000 > "$scratch/powercap/intel-rapl:0/max_energy_range_uj"
counter()
{
    echo "$1" > "$scratch/powercap/new"
    mv "$scratch/powercap/new" "$scratch/powercap/intel-rapl:0/energy_uj"
}
counter 262142000000
make_pool one "powercap = \"$scratch/powercap\";"
add_daemon two
setting "$scratch/conf.two" accounting "\"$scratch/accounting.two\""
start_daemon
start_other two
meet_other
export VOCL_POOL="$scratch/pool"

history()
{
    vocl pool "$@" history 2> "$scratch/err"
}
# lines COUNT: there are so many records
lines()
{
    [ "$(history --csv | sed 1d | wc -l)" = "$1" ]
}
# use POOL JOB PROGRAM...: runs a session
use()
{
    use_pool=$1 use_job=$2
    shift 2
    VOCL_POOL=$use_pool VOCL_POOL_JOB=$use_job vocl run -- "$@" > /dev/null 2> "$scratch/err" || fail "$*: $(cat "$scratch/err")"
}
lines 0 || fail "an account of nothing: $(history)"
vector_add=$top_builddir/tests/parity/vector_add
use "$scratch/pool" 17.0.0 "$vector_add"
wait_until lines 1 || fail "no account: $(history; cat "$scratch/err" "$scratch/log")"
# The file is renamed, as logrotate does, without the daemon's knowledge.
mv "$scratch/accounting" "$scratch/accounting.1"
use "$scratch/pool" 17.1.0 "$vector_add"
vocl pool drain one && use "$scratch/pool.two" '' "$vector_add" && vocl pool resume one && vocl pool drain two || fail "two alone"
await state=one:up state=two:draining || fail "one is not there: $(vocl pool nodes)"
wait_until lines 3 || fail "a renamed file is not read: $(history; cat "$scratch/err")"
mv "$scratch/accounting.1" "$scratch/accounting.2"
mv "$scratch/accounting" "$scratch/accounting.1"
# The file cannot be written for a while.
mkdir "$scratch/accounting"
use "$scratch/pool" 18.0.0 "$vector_add"
wait_until grep -q 'accounting: Is a directory' "$scratch/log" || fail "not told that it cannot be written: $(cat "$scratch/log")"
rmdir "$scratch/accounting"
# half a line of a daemon that was killed
printf '{"session":"half' >> "$scratch/accounting" # which the daemon may have begun anew by now
wait_until lines 4 || fail "what could not be written is lost: $(history; cat "$scratch/accounting" "$scratch/log")"
# a session that an administrator ends
vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/err" &
program=$!
await running=1 || fail "no session: $(cat "$scratch/err")"
counter 5000000
vocl pool kill "$(vocl pool --json sessions | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p')" || fail "kill"
kill $program
wait_until lines 5 || fail "no account of what was ended: $(history)"

history --json > "$scratch/json" || fail "$(cat "$scratch/err")"
history --csv > "$scratch/csv"
python3 - "$scratch/json" "$scratch/csv" "$user" << 'END' || fail "the account: $(cat "$scratch/json" "$scratch/csv")"
import csv, json, sys
records = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
assert [r["session"] for r in records] == [r["session"] for r in rows]
assert [r["ended"] for r in records] == sorted(r["ended"] for r in records)
assert all(r["user"] == sys.argv[3] for r in records)
assert [r["node"] for r in records].count("two") == 1, records
assert [r["job"] for r in records] == ["17.0.0", "17.1.0", "", "18.0.0", ""], records
first, last = records[0], records[-1]
assert first["program"] == "vector_add" and first["end"] == "completed" and first["bytes_in"] > 0, first
assert first["ended"] - first["began"] >= 0 and len(first["devices"]) == 1 and first["device_seconds"] >= 0, first
assert last["program"] == "burn" and last["end"] == "ended" and last["why"] == "ended by " + sys.argv[3], last
assert first["node_joules"] == 0 and abs(last["node_joules"] - 6) < 1e-3, (first, last)
assert abs(float(rows[-1]["node_joules"]) - 6) < 1e-3, rows[-1]
assert float(rows[0]["device_seconds"]) >= 0 and rows[0]["end"] == "completed", rows[0]
END
[ "$(history --job 17 --csv | sed 1d | wc -l)" = 2 ] || fail "of a job: $(history --job 17)"
[ "$(history --job 17.1 --csv | sed 1d | wc -l)" = 1 ] || fail "of a step: $(history --job 17.1)"
[ "$(history --user "$user" --csv | sed 1d | wc -l)" = 5 ] || fail "of a user"
[ "$(history --user nobody-such --csv | sed 1d | wc -l)" = 0 ] || fail "of nobody"
[ "$(history --since 1h --csv | sed 1d | wc -l)" = 5 ] || fail "of an hour"
[ "$(history --since "$(date -d '+1 day' +%Y-%m-%d)" --csv | sed 1d | wc -l)" = 0 ] || fail "since tomorrow"
vocl pool history --since yesteryear 2> "$scratch/err" && fail "since yesteryear"
grep -q 'since takes' "$scratch/err" || fail "$(cat "$scratch/err")"
history | grep -q "^[-0-9]* [0-9:]* .*$user .*vector_add .* two .*completed" || fail "the table: $(history)"
history --sum user,day > "$scratch/out"
grep -q "^$user  *$(date +%Y-%m-%d)  *5 " "$scratch/out" || fail "sums: $(cat "$scratch/out")"
history --sum program --csv > "$scratch/out"
grep -q '^vector_add,4,' "$scratch/out" || fail "sums as CSV: $(cat "$scratch/out")"
history --sum node --json | python3 -c '
import json, sys
sums = {s["node"]: s for s in json.load(sys.stdin)}
assert sums["one"]["sessions"] == 4 and sums["two"]["sessions"] == 1, sums' || fail "sums as JSON"
vocl pool history --sum colour 2> "$scratch/err" && fail "sums by colour"

# more records than fit into one answer
python3 - "$scratch/accounting" << 'END'
import json, sys
with open(sys.argv[1], "a") as account:
    for i in range(3000):
        print(json.dumps({"session": "%032x" % i, "node": "one", "user": "many", "program": "p,\"q\"", "began": 1e9 + i, "ended": 1e9 + i + 1,
                          "seconds": 1.0, "device_seconds": 0.5, "devices": ["a"], "end": "completed"}, separators=(",", ":")), file=account)
END
[ "$(history --user many --csv | sed 1d | wc -l)" = 3000 ] || fail "many: $(history --user many --csv | wc -l)"
history --user many --csv | grep -q ',"p,""q""",' || fail "CSV: $(history --user many --csv | tail -n 1)"
history --user many --sum day | grep -q '^2001-09-09  *3000 ' || fail "sums of many: $(history --user many --sum day)"
history --since 1h --csv | grep -q many && fail "what is older than an hour"

# One of the nodes is lost.
kill -9 $other
wait $other 2> /dev/null
await state=two:lost || fail "two is there"
history > "$scratch/out" && fail "all of it, without two"
grep -q 'two' "$scratch/err" || fail "what is missing: $(cat "$scratch/err")"
grep -q vector_add "$scratch/out" || fail "nothing of those that are there"

# The log of a daemon in the background can be renamed, too.
kill $daemon
wait $daemon
"$VOCL_LIBEXECDIR/vocl-proxy" --config "$scratch/conf" --detach 2> "$scratch/err" || fail "detached: $(cat "$scratch/err")"
daemon=$(daemons_of "$scratch/conf")
wait_until grep -q serves "$scratch/state/log" || fail "no log"
mv "$scratch/state/log" "$scratch/state/log.1"
kill -HUP $daemon
wait_until grep -qs 'again' "$scratch/state/log" || fail "the log is not opened again: $(cat "$scratch/state/log.1")"
kill $daemon
exit 0
