#!/bin/sh
# The free memory of a device, as the pool reports it: all of it except for what sessions have requested, or use without
# a request.
. "$(dirname "$0")/one-lib.sh"
make_pool here
start_daemon
VOCL_POOL=$scratch/pool
export VOCL_POOL

# number NAME: prints this number of the device
number()
{
    vocl pool --json status | sed -n "s/.*\"$1\": \([0-9]*\),*\$/\1/p" | head -n 1
}
memory=$(number memory)
[ "$(number free)" = "$memory" ] || fail "nobody there: $(number free) of $memory"

# left MIB: so much less memory is free
left()
{
    [ "$(number free)" -le $((memory - ($1 << 20))) ] && [ "$(number free)" -ge $((memory - ($1 << 20) - (8 << 20))) ]
}
gone()
{
    [ "$(number free)" = "$memory" ]
}
vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" 256 > /dev/null 2> "$scratch/err" &
running=$!
wait_until left 256 || fail "256 MiB are used, $(number free) of $memory free: $(cat "$scratch/err"; vocl pool status)"
kill $running
wait_until gone || fail "unused again, $(number free) of $memory free"

vocl run --mem 512M -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" 256 > /dev/null 2> "$scratch/err" &
running=$!
wait_until left 512 || fail "512 MiB are asked for, $(number free) of $memory free: $(cat "$scratch/err"; vocl pool status)"
kill $running
wait_until gone || fail "given back, $(number free) of $memory free"

# A limit per session uses no memory.
sed -i '$adevices = ( { match = "*"; memory = "64M" } );' "$scratch/conf"
kill -HUP $daemon
wait_until grep -q 'read .* again' "$scratch/log" || fail "the configuration is not read again"
gone || fail "with a limit of 64 MiB for each, $(number free) of $memory free"
kill $daemon
wait $daemon || fail "the daemon ends with $?"
exit 0
