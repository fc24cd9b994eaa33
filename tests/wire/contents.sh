#!/bin/sh
# A new object's contents on their way: what does not use it goes on, what does comes behind them.
. "$(dirname "$0")/../lib.sh"

for door in "" mapped; do
    timeout 200 "$top_builddir/tests/wire/contents" $door > "$scratch/out" 2>&1 ||
        fail "${door:-copied}: status $?: $(tail -n 60 "$scratch/out")"
    ! grep -E 'ERROR: .*Sanitizer|WARNING: .*Sanitizer|runtime error' "$scratch/out" || fail "$(cat "$scratch/out")"
done
cat "$scratch/out"
