#!/bin/sh
# While a new object's contents are under way, commands that do not use it run, and those that use it wait.
. "$(dirname "$0")/../lib.sh"

for method in "" mapped; do
    timeout 200 "$top_builddir/tests/wire/contents" $method > "$scratch/out" 2>&1 ||
        fail "${method:-copied}: status $?: $(tail -n 60 "$scratch/out")"
    ! grep -E 'ERROR: .*Sanitizer|WARNING: .*Sanitizer|runtime error' "$scratch/out" || fail "$(cat "$scratch/out")"
done
cat "$scratch/out"
