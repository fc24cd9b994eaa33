#!/bin/sh
# The executor against commands that are nearly right: VOCL_MUTATE_ROUNDS seeds, from VOCL_MUTATE_FROM on; a seed
# reproduces its run. VOCL_MUTATE_COMMANDS: how many commands each.
. "$(dirname "$0")/../lib.sh"

ASAN_OPTIONS=allocator_may_return_null=1:$ASAN_OPTIONS # as malloc() itself
export ASAN_OPTIONS
seed=${VOCL_MUTATE_FROM:-1}
last=$((seed + ${VOCL_MUTATE_ROUNDS:-$(rounds 2)}))
while [ $seed -lt $last ]; do
    for method in "" mapped; do
        VOCL_LOG=none timeout 300 "$top_builddir/tests/wire/mutate" $seed "${VOCL_MUTATE_COMMANDS:-500}" $method \
            > "$scratch/out" 2>&1
        status=$?
        if [ $status != 0 ] || grep -E 'ERROR: .*Sanitizer|runtime error' "$scratch/out"; then
            fail "seed $seed $method: status $status: $(tail -n 60 "$scratch/out")"
        fi
    done
    seed=$((seed + 1))
done
cat "$scratch/out"
