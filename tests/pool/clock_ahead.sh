#!/bin/sh
# In a large pool, messages of a daemon about itself carry the time of its own clock. A daemon whose clock is days ahead
# is not believed, and the others report why it is lost.
. "$(dirname "$0")/one-lib.sh"
# The name is long, and not only ASCII: the message contains no part of a character.
one=$(printf '%039d\303\251\303\251' 0)
make_pool "$one" 'mesh = 1;'
add_daemon two
start_at="env LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$top_builddir/tests/pool/.libs/clock_off.so CLOCK_OFF=864000"
start_daemon
start_other two
{ grep -v '^node' "$scratch/pool"; grep '^node two' "$scratch/pool"; } > "$scratch/pool.two"
known()
{
    VOCL_POOL=$scratch/pool.two vocl pool nodes | grep -q "$one  *lost .* the clock of $one is 86[34][0-9][0-9][0-9] seconds ahead"
}
wait_until known || fail "not known why: $(VOCL_POOL=$scratch/pool.two vocl pool nodes; cat "$scratch/log.two")"
grep -q "node $one is lost: the clock of $one is 86[34][0-9][0-9][0-9] seconds ahead" "$scratch/log.two" || fail "the log: $(cat "$scratch/log.two")"

kill $daemon
wait $daemon
start_at=
start_daemon
VOCL_POOL=$scratch/pool.two await nodes=2 || fail "it is not back: $(cat "$scratch"/log*)"
grep Sanitizer "$scratch"/log* && fail "the sanitizer found something"
exit 0
