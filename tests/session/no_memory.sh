#!/bin/sh
# A program runs out of memory: its requests fail with CL_OUT_OF_HOST_MEMORY or succeed, and its session continues.
# Where a frame cannot be sent, the worker is lost, and no later frame refers to the one that is missing.
. "$(dirname "$0")/../lib.sh"
case $SANITIZER in
address | thread) skip "the $SANITIZER sanitizer has a malloc() of its own" ;;
esac
no_memory=$top_builddir/tests/session/no_memory

# by WORD...: with these options of vocl run
by()
{
    for what in each batch; do
        vocl run --interpose preload "$@" -- "$no_memory" $what > "$scratch/out.$what" 2> "$scratch/err" ||
            fail "$*: $what: status $?: $(cat "$scratch/out.$what" "$scratch/err")"
    done
    echo "$*: $(cat "$scratch/out.each" "$scratch/out.batch" | paste -s -d ,)"
    number=1
    while
        VOCL_SHARE=0 vocl run --interpose preload "$@" -- "$no_memory" send $number > "$scratch/out" 2> "$scratch/err" ||
            fail "$*: send $number: status $?: $(cat "$scratch/out" "$scratch/err")"
        ! grep refused "$scratch/err" || fail "$*: send $number: what was not sent is missed: $(cat "$scratch/out" "$scratch/err")"
        grep -q '^failed' "$scratch/out"
    do
        grep -qE 'error (0|-2|-5|-6)$' "$scratch/out" || fail "$*: send $number: $(cat "$scratch/out" "$scratch/err")"
        number=$((number + 1))
    done
    grep -q '^none failed, error 0$' "$scratch/out" || fail "$*: $(cat "$scratch/out")"
    echo "$*: sent, $((number - 1)) allocations"
}
by --network mpi
by --network tls
exit 0
