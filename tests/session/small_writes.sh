#!/bin/sh
# A write whose data travel in the command itself allocates no memory.
. "$(dirname "$0")/../lib.sh"
case $SANITIZER in
address | thread) skip "the $SANITIZER sanitizer has a malloc() of its own" ;;
esac

for options in "" "--network tls"; do
    VOCL_SHARE=0 vocl run --interpose preload $options -- "$top_builddir/tests/session/small_writes" > "$scratch/out" 2> \
        "$scratch/err" || fail "${options:-over MPI}: status $?: $(cat "$scratch/out" "$scratch/err")"
done
vocl run --interpose preload -- "$top_builddir/tests/session/small_writes" > "$scratch/out" 2> "$scratch/err"
[ $? -le 1 ] || fail "with memory that is shared: $(cat "$scratch/out" "$scratch/err")"
cat "$scratch/out"
