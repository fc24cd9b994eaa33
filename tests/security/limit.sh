#!/bin/sh
# sessions-per-user also limits a user who claims that a request belongs to a session of his, which has lost a worker or
# is suspended.
. "$(dirname "$0")/../pool/one-lib.sh"
make_pool here 'devices = ( { match = "*"; sessions = 20; } );' 'sessions-per-user = 2;'
export VOCL_POOL="$scratch/pool"
start_daemon
say="$top_builddir/tests/security/say"
id=00112233445566778899aabbccddeeff

# granted: prints how many of the answers in $scratch/out grant devices
granted()
{
    grep -c '"granted"' "$scratch/out"
}
ask="{\"do\":\"request\",\"instead\":\"$id\"}"
"$say" "$scratch/pool" "$ask" @ "$ask" @ "$ask" @ "$ask" > "$scratch/out" 2>&1
[ "$(granted)" = 2 ] || fail "in the place of what nobody has lost: $(cat "$scratch/out")"
grep -q 'as many sessions as you may: 2' "$scratch/out" || fail "why: $(cat "$scratch/out")"
await sessions=0 || fail "reservations stay"

ask="{\"do\":\"request\",\"suspended\":\"$id\"}"
"$say" "$scratch/pool" "-{\"do\":\"suspended\",\"session\":\"$id\",\"devices\":1}" @ "$ask" @ "$ask" @ "$ask" > "$scratch/out" 2>&1
[ "$(granted)" = 2 ] || fail "for what never ran: $(cat "$scratch/out")"
await sessions=0 || fail "reservations stay"

# an id is 32 hexadecimal digits
for bad in zz112233445566778899aabbccddeeff '../../../../../tmp/0123456789abc' 0011 '00112233445566778899AABBCCDDEEFF'; do
    "$say" "$scratch/pool" "{\"do\":\"request\",\"instead\":\"$bad\"}" > "$scratch/out" 2>&1
    grep -q error "$scratch/out" || fail "an id $bad: $(cat "$scratch/out")"
    "$say" "$scratch/pool" "{\"do\":\"suspended\",\"session\":\"$bad\"}" > "$scratch/out" 2>&1
    grep -q error "$scratch/out" || fail "what is suspended is $bad: $(cat "$scratch/out")"
done
grep 'Sanitizer' "$scratch/log" && fail "the sanitizer found something"
exit 0
