#!/bin/sh
# Sixteen threads call everything at once (tests/session/hammer.c).
. "$(dirname "$0")/../lib.sh"

hammer()
{
    method=$1 workers=$2
    shift 2
    timeout -k 10 "${VOCL_TEST_LIMIT:-300}" vocl run --interpose $method --workers $workers -- "$top_builddir/tests/session/hammer" "$@" \
        > "$scratch/out" 2>&1 || fail "through $method, $workers workers: status $?: $(tail -n 60 "$scratch/out")"
}

hammer preload 1 "$(rounds 30)"
hammer icd 1 "$(rounds 30)" loader
hammer preload 2 "$(rounds 20)"
