#!/bin/sh
# Fuzzes the decoder with libFuzzer and the address and undefined behaviour sanitizers, from a sample of each command.
# VOCL_FUZZ_RUNS: how many inputs.
. "$(dirname "$0")/../lib.sh"
[ -n "$CLANG" ] || skip "no clang (package clang)"

cd "$top_srcdir" || fail "no sources"
$CLANG -std=gnu11 -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I. \
    tests/wire/fuzz.c wire/decode.c wire/encode.c wire/show.c -o "$scratch/fuzz" 2> "$scratch/err" ||
    skip "clang does not build a fuzzer here: $(head -n 3 "$scratch/err")"
mkdir "$scratch/seeds"
"$top_builddir/tests/wire/codec" "$scratch/seeds" || fail "no seeds"
cd "$scratch" && LD_PRELOAD='' ./fuzz -runs="${VOCL_FUZZ_RUNS:-$(rounds 300000)}" -max_len=4096 -seed=1 seeds > out 2>&1 || {
    tail -n 40 out
    fail "the fuzzer found something"
}
tail -n 1 out
