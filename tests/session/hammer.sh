#!/bin/sh
# Sixteen threads at once (tests/session/hammer.c).
. "$(dirname "$0")/../lib.sh"

hammer()
{
    door=$1
    shift
    timeout -k 10 "${VOCL_TEST_LIMIT:-300}" vocl run --door $door -- "$top_builddir/tests/session/hammer" "$@" \
        > "$scratch/out" 2>&1 || fail "through $door: status $?: $(tail -n 60 "$scratch/out")"
}

hammer preload 100
hammer icd 100 loader
