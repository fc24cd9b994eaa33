#!/bin/sh
# The accounting record of a session: the daemon's own measurement beside the worker's report, with a control group and
# without.
. "$(dirname "$0")/one-lib.sh"
need python3 python3

told()
{
    vocl pool --json sessions | grep -q '"cpu_seconds": \(0\.[1-9]\|[1-9]\)'
}
printed()
{
    [ -s "$scratch/out" ]
}
ended()
{
    [ -s "$scratch/accounting" ]
}
# spent PROCESS...: prints their processor time so far, in seconds
spent()
{
    python3 - "$@" << 'END'
import os, sys
ticks = 0
for process in sys.argv[1:]:
    with open(f"/proc/{process}/stat") as stat:
        ticks += sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:15]))
print(ticks / os.sysconf("SC_CLK_TCK"))
END
}

# session_spends SETTING: runs a session; $busy is the process that was put into its control group, or empty if there
# was none
session_spends()
{
    rm -f "$scratch/accounting" "$scratch/out" "$scratch/enough"
    make_pool here "$1"
    start_daemon
    export VOCL_POOL="$scratch/pool"
    vocl run -- "$top_builddir/tests/pool/burn" "$scratch/enough" "$scratch/never" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until told || fail "$1: not told while it runs: $(cat "$scratch/err" "$scratch/log")"

    # All processes in the group count, whoever is their parent: a loop of this script's is put into it.
    worker=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$scratch"/state/session-*)
    group=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)$(sed -n 's/^0:://p' "/proc/$worker/cgroup")
    busy=
    case $group in
    */vocl/vocl-*)
        sh -c 'while kill -0 $PPID; do :; done' 2> /dev/null &
        busy=$!
        echo $busy > "$group/cgroup.procs" || fail "it cannot be put into $group"
        ;;
    esac
    touch "$scratch/enough"
    wait_until printed || fail "burn does not burn: $(cat "$scratch/err")"
    spent=$(spent $worker $busy)
    [ -z "$busy" ] || kill $busy
    kill $program
    wait $program
    wait_until ended || fail "$1: no account: $(cat "$scratch/log")"
    python3 - "$scratch/accounting" "$spent" << 'END' || fail "$1: the account: $(cat "$scratch/accounting")"
import json, os, sys
with open(sys.argv[1]) as accounts:
    account = json.loads(accounts.readline())
assert float(sys.argv[2]) <= account["cpu_seconds"] + 0.02, (account, sys.argv[2])
assert 0.1 <= account["cpu_seconds"] <= account["seconds"] * os.cpu_count() + 1, account
assert 0 < account["device_seconds"] <= account["seconds"] * len(account["devices"]), account
END
    grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
    kill -TERM $daemon
    wait $daemon
}

session_spends 'cgroup = "none";'
[ -z "$busy" ] || fail "a control group, though none is wanted"
session_spends ''
[ -n "$busy" ] || echo "the daemon makes no control groups here: what else is in one is not tried"
exit 0
