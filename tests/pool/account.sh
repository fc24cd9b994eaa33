#!/bin/sh
# The account of a session: the daemon's own measure beside the worker's word.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
make_pool here
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL
vocl run -- "$top_builddir/tests/pool/burn" 4 > /dev/null 2> "$scratch/err" &
program=$!
told()
{
    vocl pool --json sessions | grep -q '"cpu_seconds": \(0\.[1-9]\|[1-9]\)'
}
wait_until 60 told || fail "not told while it runs: $(tail -2 "$scratch/accounting"; cat "$scratch/err" "$scratch/log")"
wait $program || fail "burn: $(cat "$scratch/err")"
ended()
{
    [ -s "$scratch/accounting" ]
}
wait_until 20 ended || fail "no account: $(cat "$scratch/log")"
python3 - "$scratch/accounting" << 'END' || fail "the account: $(cat "$scratch/accounting")"
import json, os, sys
with open(sys.argv[1]) as accounts:
    account = json.loads(accounts.readline())
assert 0.1 <= account["cpu_seconds"] <= account["seconds"] * os.cpu_count() + 1, account
assert 0 < account["device_seconds"] <= account["seconds"] * len(account["devices"]), account
END
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
