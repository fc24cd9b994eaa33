#!/bin/sh
# Commands that reach beyond their objects, or ask for more memory than the session has, are refused, and nothing else
# is.
. "$(dirname "$0")/../lib.sh"

bounds=$top_builddir/tests/wire/bounds
for what in "" quota; do
    VOCL_LOG=info timeout 300 "$bounds" $what > "$scratch/out" 2> "$scratch/err" ||
        fail "bounds $what: $(cat "$scratch/out" "$scratch/err")"
    if grep -E 'Sanitizer|runtime error' "$scratch/err"; then
        fail "bounds $what: $(cat "$scratch/err")"
    fi
done
