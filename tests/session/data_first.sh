#!/bin/sh
# A worker is lost that has received the data of a write but not its command, which still waits to be sent: the worker
# that replaces it gets both.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
mark=VOCL_TEST_MARK=$$

said()
{
    grep -qx "$1" "$scratch/out" || ! kill -0 $program 2> /dev/null
}
mkfifo "$scratch/say"
env "$mark" VOCL_PEER_TIMEOUT=0 VOCL_SHARE=0 VOCL_NETWORK=tls VOCL_LOG=info vocl run --recover -- \
    "$top_builddir/tests/session/data_first" < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
program=$!
exec 9> "$scratch/say"
wait_until said ready
worker=$(session_workers "$mark")
[ -n "$worker" ] || fail "no worker: $(cat "$scratch/out" "$scratch/err")"
kill -STOP "$worker"
echo >&9
wait_until said written || fail "the write has not returned: $(cat "$scratch/out" "$scratch/err")"
kill -KILL "$worker"
echo >&9
exec 9>&-
wait $program || fail "status $?: $(cat "$scratch/out" "$scratch/err")"
[ "$(tail -n 1 "$scratch/out")" = right ] || fail "$(cat "$scratch/out" "$scratch/err")"
[ "$(replaced)" = 1 ] || fail "nothing was replaced: $(cat "$scratch/err")"
