#!/bin/sh
# Sessions over TLS with workers on other hosts are suspended and resumed.
. "$(dirname "$0")/../lib.sh"
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
parity=$top_builddir/tests/parity
two=$top_srcdir/tests/net/two-hosts
mark=VOCL_TEST_MARK=$$
at_most 300

[ "$(status_of "$two" -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"
for workers in 1 2; do
    for program in buffer_ops images many_devices; do
        "$parity/$program" > "$scratch/native" 2> /dev/null
        native=$?
        env "$mark" VOCL_NETWORK=tls VOCL_SUSPEND_EVERY=60 VOCL_LOG=info timeout -k 10 300 "$two" --workers $workers -- \
            "$parity/$program" > "$scratch/out" 2> "$scratch/err"
        status=$?
        [ $status = $native ] || fail "$program: status $status: $(tail -n 5 "$scratch/err")"
        [ $program = many_devices ] || diff "$scratch/native" "$scratch/out" || fail "$program prints something else"
        echo "$program, $workers: $(grep -c 'resumed:' "$scratch/err") suspensions"
    done
done
has_been_suspended()
{
    grep -q 'resumed:' "$scratch/err"
}
: > "$scratch/err"
env "$mark" VOCL_NETWORK=tls VOCL_SUSPEND_EVERY=200 VOCL_LOG=info timeout -k 10 300 "$two" --workers 1 -- \
    "$top_builddir/tests/session/moved_svm" "$scratch/enough" > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until has_been_suspended || fail "moved_svm has not been suspended: $(tail -n 5 "$scratch/err")"
touch "$scratch/enough"
wait $program || fail "moved_svm: $(tail -n 5 "$scratch/out" "$scratch/err")"
grep -qx right "$scratch/out" || fail "moved_svm: $(cat "$scratch/out")"
wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
