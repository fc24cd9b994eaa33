#!/bin/sh
# Slow links: compressible data are compressed, data that the worker already has are not sent again, and the contents
# are right whatever they are and over however many connections they travel. The rate of the link is set here
# (VOCL_LINK_RATE), or measured on a link that the system slows down.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
[ -e "$VOCL_LIBEXECDIR/vocl-pack.so" ] || skip "VOCL was built without zstd"
uploads=$top_builddir/tests/session/uploads
real=$top_builddir/.libs/libvocl.so
export VOCL_NETWORK=tls VOCL_SHARE=0 VOCL_LOG=info

# carries LEAST MOST COMMAND...: the link carries so many MiB of bulk data to the worker
carries()
{
    least=$1 most=$2
    shift 2
    timeout -k 10 300 "$@" > "$scratch/out" 2> "$scratch/err" ||
        fail "$*: status $?: $(cat "$scratch/out"; grep -v info "$scratch/err" | tail -n 5)"
    line=$(grep -a -o "to 1: .*" "$scratch/err")
    echo "$* ($VOCL_LINK_RATE, $VOCL_STREAMS): $line"
    carried=$(echo "$line" | sed 's/.*carried as \([0-9]*\).*/\1/')
    [ "${carried:--1}" -ge "$least" ] && [ "$carried" -le "$most" ] || fail "not within $least and $most: $line"
}
export VOCL_STREAMS
for VOCL_STREAMS in 1 2 8; do
    export VOCL_LINK_RATE=10M
    carries 0 1 vocl run -- "$uploads" zero 16 1
    carries 16 16 vocl run -- "$uploads" random 16 1
    carries 1 14 vocl run -- "$uploads" "$real" 16 1
    carries 16 17 vocl run -- "$uploads" random 16 3
    carries 1 40 vocl run -- "$uploads" "$real" 8 4 pieces
    VOCL_KNOWN_BYTES=4M carries 16 64 vocl run -- "$uploads" random 16 3 pieces
    VOCL_KNOWN_BYTES=0 carries 32 32 vocl run -- "$uploads" random 16 2
    VOCL_COMPRESS=off VOCL_KNOWN_BYTES=0 carries 16 16 vocl run -- "$uploads" zero 16 1
    # A fast link is used without compression.
    VOCL_LINK_RATE=5G carries 32 32 vocl run -- "$uploads" zero 16 2
done
unset VOCL_LINK_RATE VOCL_STREAMS

# The rate is measured: only the direction to the worker is slow, and answers are not delayed.
far="$top_srcdir/tests/net/two-hosts --delay 2000 --"
$far true 2> "$scratch/err"
[ $? -ne 77 ] || exit 0
$far sh -c 'LD_PRELOAD= tc qdisc add dev near root tbf rate 80mbit burst 256k latency 500ms' 2> /dev/null || exit 0
slowly='LD_PRELOAD= tc qdisc add dev near root tbf rate 160mbit burst 256k latency 500ms && exec "$@"'
carries 0 20 $far sh -c "$slowly" sh "$uploads" zero 24 2
grep -a -o "the link carries.*" "$scratch/err" || fail "nobody knows how fast the link is"
VOCL_KNOWN_BYTES=0 carries 16 16 $far sh -c "$slowly" sh "$uploads" random 8 2
carries 8 9 $far sh -c "$slowly" sh "$uploads" random 8 2
