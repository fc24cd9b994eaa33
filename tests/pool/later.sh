#!/bin/sh
# A program for which the pool has no device at first gets one when it looks again: when the device that it wants is
# free, when a node joins the pool, and when there is a daemon at all.
. "$(dirname "$0")/one-lib.sh"
make_pool one
VOCL_POOL=$scratch/pool
export VOCL_POOL

# look OPTION...: starts the program, which finds nothing; found: it has found something since
look()
{
    rm -f "$scratch/out"
    vocl run "$@" -- "$top_builddir/tests/pool/later" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q none "$scratch/out" || fail "$*: $(cat "$scratch/out" "$scratch/err")"
}
found()
{
    wait $program || fail "$1: status $?: $(cat "$scratch/out" "$scratch/err")"
    [ "$(tail -n 1 "$scratch/out")" = 1 ] || fail "$1: $(cat "$scratch/out" "$scratch/err")"
    echo "$1: found"
}

look
start_daemon
found "a daemon"

# Another program has the device. A program that has waited once does not wait again each time that it looks.
for options in "" "--wait 1"; do
    await sessions=0 || fail "a session is left: $(vocl pool sessions)"
    vocl run --exclusive -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2>&1 &
    holder=$!
    await running=1 || fail "no session: $(cat "$scratch/log")"
    look $options
    kill $holder
    found "a free device $options"
    wait $holder
done
# A reason is reported once, and again only after another one.
grep -o 'no session: the pool.*' "$scratch/err" > "$scratch/reasons" || fail "no reason: $(cat "$scratch/err")"
[ -z "$(uniq -d "$scratch/reasons")" ] || fail "the reasons: $(cat "$scratch/reasons")"

add_daemon two
setting "$scratch/conf" devices '( { match = "*"; mode = "hidden"; } )'
kill -HUP $daemon
wait_until grep -q 'read .* again' "$scratch/log" || fail "the configuration is not read again: $(cat "$scratch/log")"
look
start_other two
meet_other
found "a node that joins"
exit 0
