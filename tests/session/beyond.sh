#!/bin/sh
# Cases that VOCL handles better than the native OpenCL behind it (tests/session/beyond.c).
. "$(dirname "$0")/../lib.sh"

for method in preload icd; do
    timeout -k 10 "${VOCL_TEST_LIMIT:-300}" vocl run --interpose $method -- "$top_builddir/tests/session/beyond" \
        > "$scratch/out" 2>&1 || fail "through $method: $(cat "$scratch/out")"
done
