#!/bin/sh
# The error of a request that gets no devices has a reason for each node: it is drained, is lost, is taken (and until when
# at the latest), has other devices or too little memory, or does not accept this user; so does a request that waits.
. "$(dirname "$0")/one-lib.sh"
need python3 python3
# begin_other NAME: starts its daemon; programs end with the test
begin_other()
{
    start_other "$1"
    trap 'kill -9 $holder $waiting 2> /dev/null; end_daemons' EXIT
}
make_pool one 'session-seconds = 36000;'
add_daemon two
setting "$scratch/conf.two" session-seconds
holder= waiting=
start_daemon
begin_other two
meet_other
export VOCL_POOL="$scratch/pool"
# refuses TEXT [OPTION]...: there are no devices, for that reason
refuses()
{
    refuses_text=$1
    shift
    vocl devices "$@" > /dev/null 2> "$scratch/err" && fail "there are devices, and not: $refuses_text"
    grep -q "$refuses_text" "$scratch/err" || fail "not \"$refuses_text\", but: $(cat "$scratch/err")"
}
# takes [COUNT]: a session has so many devices exclusively, from the first node on, until releases is called
takes()
{
    rm -f "$scratch/enough"
    vocl run --policy order --exclusive --count "${1:-1}" -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null \
        2> "$scratch/burn.err" &
    holder=$!
    await "running=${1:-1}" || fail "no session: $(cat "$scratch/burn.err" "$scratch"/log*)"
}
releases()
{
    touch "$scratch/enough"
    wait $holder || fail "the session: status $?: $(cat "$scratch/burn.err")"
    await sessions=0
}

until='until .*[0-2][0-9]:[0-5][0-9]'
takes 2
refuses "all such devices are taken: one: 1 cpu taken $until; two: 1 cpu taken;"
refuses "the pool has too few such devices (2 cpu in all); one: 1 cpu taken $until; two: 1 cpu taken;" --count 3
refuses 'the pool has too few such devices (2 cpu in all); one, two: no such device, but 1 cpu;' --gpus 1
refuses 'the pool has too few such devices (2 cpu in all); one, two: too little memory ([1-9][0-9]* MiB);' --mem 4000T
releases
vocl pool drain --reason "a new fan" one && vocl pool drain --reason "a new fan" two || fail "drain"
await state=one:draining state=two:draining
refuses "no devices: one, two: drained ($user: a new fan)"
vocl pool resume one
await state=one:up
takes
refuses "no devices: one: 1 cpu taken $until; two: drained ($user: a new fan)"
vocl run --wait 300 -- "$top_builddir/tests/parity/vector_add" > /dev/null 2> "$scratch/err" &
waiting=$!
waits()
{
    vocl pool queue | grep -q "one: 1 cpu taken $until; two: drained ($user: a new fan)"
}
wait_until waits || fail "what it waits for: $(vocl pool queue)"
releases
wait $waiting || fail "it waited for nothing: $(cat "$scratch/err")"
refuses "no devices: one: 1 free; two: drained ($user: a new fan)" --count 2
vocl pool resume two
await state=two:up

# node two does not accept this user
kill $other
wait $other
echo "deny = [ \"$user\" ];" >> "$scratch/conf.two"
begin_other two
await state=two:up
takes
refuses "no devices: one: 1 cpu taken $until; .*$user may not use the devices of two"
releases
vocl pool drain one
await state=one:draining
refuses "no devices: one: drained ($user); .*$user may not use the devices of two"
vocl pool resume one
await state=one:up
refuses "no devices: one: 1 free; .*$user may not use the devices of two" --count 2

# node two is lost
kill -9 $other
await state=two:lost
vocl pool drain one
await state=one:draining
refuses "no devices: one: drained ($user); two: lost"

# node two has another key
{ grep -v '^@one ' "$scratch/keys"; "$VOCL_LIBEXECDIR/vocl-proxy" --make-key=one; } > "$scratch/keys.two"
chmod 600 "$scratch/keys.two"
setting "$scratch/conf.two" key-file "\"$scratch/keys.two\""
begin_other two
keys_differ()
{
    vocl pool nodes | grep -q '^two  *lost .*the key files may differ'
}
wait_until keys_differ || fail "no word of the key: $(vocl pool nodes; cat "$scratch"/log*)"
refuses "no devices: one: drained ($user); two: lost (.*the key files may differ)"
grep Sanitizer "$scratch"/log* && fail "the sanitizer found something"
exit 0
