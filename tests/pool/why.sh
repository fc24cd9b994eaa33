#!/bin/sh
# The reason why a session was ended reaches its user: on stderr, once, if the log goes there.
. "$(dirname "$0")/one-lib.sh"
make_pool here 'session-seconds = 3;'
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL
# said WHY: checked repeatedly, as the message may come after the program's end
said()
{
    [ "$(grep -c "here has ended the session: $1" "$scratch/err")" = 1 ]
}
vocl run -- "$top_builddir/tests/pool/burn" "$scratch/enough" > /dev/null 2> "$scratch/err" && fail "it goes on where there are 3 seconds"
wait_until said 'its time is up' || fail "time: $(cat "$scratch/err")"

# An application's stderr is its own.
VOCL_LOG=none vocl run -- "$top_builddir/tests/pool/burn" "$scratch/enough" > /dev/null 2> "$scratch/err"
grep 'ended the session' "$scratch/err" && fail "a word where there is no log"

# The following sessions may take longer.
sed -i '/^session-seconds/d' "$scratch/conf"
kill -HUP $daemon
wait_until grep -q 'read .* again' "$scratch/log" || fail "the configuration is not read again: $(cat "$scratch/log")"
# begin: starts a session; sets $program
begin()
{
    vocl run -- "$top_builddir/tests/pool/burn" "$scratch/enough" > /dev/null 2> "$scratch/err" &
    program=$!
    await running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
}
# end: the pool ends it
end()
{
    vocl pool kill "$(vocl pool sessions | awk 'NR == 2 { print $1 }')" || fail "kill"
    wait $program && fail "the program did not notice"
}
begin
end
wait_until said "ended by $user" || fail "kill: $(cat "$scratch/err")"

# also when the program ends before vocl-join learns the reason
begin
for join in $(pgrep -x vocl-join); do
    if grep -qzx "VOCL_POOL=$scratch/pool" "/proc/$join/environ"; then break; fi
    join=
done 2> /dev/null
[ -n "$join" ] || fail "no vocl-join: $(cat "$scratch/err")"
kill -STOP "$join"
end
kill -CONT "$join"
wait_until said "ended by $user" || fail "a kill that the program hears of first: $(cat "$scratch/err")"

# An end that is not caused by the pool gives no message.
vocl run -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" || fail "vector_add: $(cat "$scratch/err")"
# The address sanitizer has messages of its own.
grep -v 'ASan is ignoring\|False positive error\|google/sanitizers' "$scratch/err" && fail "a word for nothing"
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
