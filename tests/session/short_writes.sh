#!/bin/sh
# Connections accept only a part of the bytes given, while data and pauses alternate: nothing is lost, over TLS and over
# plain connections.
. "$(dirname "$0")/../lib.sh"
export VOCL_TEST_PLUGIN="$VOCL_LIBEXECDIR/vocl-tls.so"
[ -e "$VOCL_TEST_PLUGIN" ] || skip "VOCL was built without TLS"
moved=$top_builddir/tests/session/moved
about_silence # what is said only so that nobody is silent is cut short, too, and is said often then

link_libexec "$scratch/libexec"
ln -sf "$(realpath "$top_builddir/tests/session/.libs/short_writes.so")" "$scratch/libexec/vocl-tls.so"
"$moved" 8 1500 > "$scratch/native" || fail "natively: status $?"
for network in plain tls; do
    VOCL_LIBEXECDIR="$scratch/libexec" VOCL_SHARE=0 VOCL_NETWORK=$network VOCL_LOG=info timeout 300 \
        vocl run --workers 1 -- "$moved" 8 1500 > "$scratch/out" 2> "$scratch/err" ||
        fail "$network: status $?: $(tail -n 20 "$scratch/out" "$scratch/err")"
    cmp -s "$scratch/out" "$scratch/native" || fail "$network: $(cat "$scratch/out" "$scratch/err")"
done
exit 0
