#!/bin/sh
# The program waits for a worker that takes long to open its connections, as long as a session may take to start.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
case $SANITIZER in
address | thread) skip "the $SANITIZER sanitizer comes first" ;;
esac
LD_PRELOAD=$(realpath "$top_builddir/tests/session/.libs/late_connections.so") VOCL_TEST_LATE=10 VOCL_SHARE=0 VOCL_NETWORK=tls \
    timeout 300 "$VOCL_LIBEXECDIR/vocl" run -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err" ||
    fail "status $?: $(cat "$scratch/out" "$scratch/err")"
"$top_builddir/tests/parity/vector_add" > "$scratch/native" || fail "natively"
diff "$scratch/native" "$scratch/out" || fail "something else is printed"
exit 0
