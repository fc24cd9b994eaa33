#!/bin/sh
# Texts from clients are shown, but cannot control a terminal, nor pass for a line of the log.
. "$(dirname "$0")/../pool/one-lib.sh"
need python3 python3
need curl curl
curl() { env -u LD_PRELOAD curl "$@"; }
make_pool here "http = \"127.0.0.1:$((port + 1))\";"
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL
escape=$(printf '\033')
name=$(printf 'b\033[31m\nvocl-proxy: forged\342\200\256"<i>\\')
cp "$top_builddir/tests/pool/burn" "$scratch/$name"
mkfifo "$scratch/wait"
vocl run -- "$scratch/$name" 0 0 0 wait < "$scratch/wait" > /dev/null 2> "$scratch/err" &
program=$!
exec 3> "$scratch/wait"
runs()
{
    vocl pool sessions | grep -q running
}
wait_until runs || fail "no session: $(cat "$scratch/err" "$scratch/log")"

# clean FILE: the file has no control characters except line ends
clean()
{
    LC_ALL=C tr -d '\n' < "$1" | LC_ALL=C grep -q '[[:cntrl:]]' && fail "$1: $(cat -v "$1")"
    LC_ALL=C grep -q "$(printf '\342\200\256')" "$1" && fail "$1 is turned round: $(cat -v "$1")"
    return 0
}
vocl pool sessions > "$scratch/sessions"
clean "$scratch/sessions"
grep -q 'b\\x1b\[31m' "$scratch/sessions" || fail "not shown: $(cat "$scratch/sessions")"
[ "$(wc -l < "$scratch/sessions")" = 2 ] || fail "not one line: $(cat "$scratch/sessions")"
clean "$scratch/log"
grep -q 'program=b\\x1b\[31m\\x0avocl-proxy: forged' "$scratch/log" || fail "not in the log: $(cat "$scratch/log")"
grep -q '^vocl-proxy: forged' "$scratch/log" && fail "a forged line of the log"
# JSON stays valid, with the original name
python3 - "$scratch/$name" "$(curl -s "http://127.0.0.1:$((port + 1))/status.json")" "$(vocl pool --json status)" << 'END' || fail "JSON"
import json, os, sys
for text in sys.argv[2:]:
    assert "\033" not in text
    assert json.loads(text)["nodes"][0]["sessions"][0]["program"] == os.path.basename(sys.argv[1]), text
END
vocl pool kill "$(awk 'NR == 2 { print $1 }' "$scratch/sessions")"
kill $program 2> /dev/null && wait $program
python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$scratch/accounting" || fail "the accounts"
vocl pool resume "no${escape}node" 2> "$scratch/err"
clean "$scratch/err"
vocl pool drain --reason "mind the ${escape}[2J" here
vocl pool nodes > "$scratch/nodes"
clean "$scratch/nodes"
clean "$scratch/log"
vocl pool drain --reason "$(printf 'caf\351')" here 2> "$scratch/err" && fail "a reason that is no UTF-8"
grep -q 'not UTF-8' "$scratch/err" || fail "why a reason cannot be said: $(cat "$scratch/err")"
vocl pool drain --owner "$(printf 'caf\351')" here 2> "$scratch/err" && fail "drained for another owner than was said"

# A text that is too long is cut between characters: half a character would break records, and sessions would lack one.
vocl pool resume here
long=$(printf '%0125d' 0)
name=$(printf '%062d\303\251' 0)
cp "$top_builddir/tests/pool/burn" "$scratch/$name"
vocl run -- "$scratch/$name" 0 0 0 wait < "$scratch/wait" > /dev/null 2> "$scratch/err" &
program=$!
wait_until runs || fail "no session of a program with a long name: $(cat "$scratch/err" "$scratch/log")"
id=$(vocl pool sessions --json | sed -n 's/.*"id": *"\([0-9a-f]*\)".*/\1/p' | head -n 1)
recorded()
{
    grep -q "\"session\":\"$id\".*\"why\":\"${long}0\"" "$scratch/accounting"
}
# The program's own connection attaches again, and may intervene.
ended_so()
{
    "$top_builddir/tests/security/say" "$scratch/pool" "-{\"do\":\"attach\",\"session\":\"$id\"}" \
        "-{\"do\":\"end\",\"why\":\"${long}0$(printf '\303\251')\"}" read > "$scratch/out" 2>&1
    recorded
}
wait_until ended_so || fail "a session is not on record: $(cat "$scratch/out" "$scratch/accounting" "$scratch/log")"
grep "$id" "$scratch/accounting" | grep -q "\"program\":\"$(printf '%062d' 0)\"" || fail "its program: $(cat "$scratch/accounting")"
kill $program 2> /dev/null && wait $program

# A kill that names no session ends none.
vocl run -- "$top_builddir/tests/pool/burn" 0 0 0 wait < "$scratch/wait" > /dev/null 2> "$scratch/err" &
program=$!
wait_until runs || fail "no session: $(cat "$scratch/err" "$scratch/log")"
for none in '' ' ' 0 '*'; do
    vocl pool kill "$none" 2> "$scratch/err" && fail "kill \"$none\" did something"
    runs || fail "kill \"$none\" ended the only session"
done
grep -q 'at least 4' "$scratch/err" || fail "how it is named: $(cat "$scratch/err")"
vocl pool kill "$(vocl pool sessions | awk 'NR == 2 { print substr($1, 1, 4) }')" || fail "kill by a beginning"
kill $program 2> /dev/null && wait $program
exec 3>&-

# A session that has its device exclusively counts as one.
vocl run --wait 200 --exclusive -- "$top_builddir/tests/pool/burn" 600 > /dev/null 2> "$scratch/err" &
program=$!
wait_until runs || fail "no session: $(cat "$scratch/err" "$scratch/log")"
vocl pool devices | grep -q ' exclusive  *1 of 16 ' || fail "devices: $(vocl pool devices)"
curl -s "http://127.0.0.1:$((port + 1))/metrics" | grep -q '^vocl_device_sessions{.*} 1$' || fail "metrics"
vocl pool --json devices | grep -q '"sessions": 1,' || fail "JSON: $(vocl pool --json devices)"
vocl devices > /dev/null 2> "$scratch/err" && fail "a device that is another's alone"
grep -q 'are taken' "$scratch/err" || fail "why: $(cat "$scratch/err")"
# its load is a fraction of the time, measured over several seconds
for one in 1 2 3 4 5 6 7 8; do
    sleep 0.5
    curl -s "http://127.0.0.1:$((port + 1))/metrics" | awk '/^vocl_device_busy_ratio/ && $NF > 1 { print; exit 1 }' || fail "more than all"
done
vocl pool kill "$(vocl pool sessions | awk 'NR == 2 { print $1 }')"
kill $program 2> /dev/null && wait $program
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
