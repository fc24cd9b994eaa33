#!/bin/sh
# CLBlast's own tests of some routines: the same passes and failures as natively.
. "$(dirname "$0")/../lib.sh"
need clblast_test_xaxpy clblast-tests
need_foreign_programs

results()
{
    sed -e 's/[0-9.][0-9.]* *ms//g' -e '/OpenCL device/d' "$1"
}

methods="preload icd"
for routine in $(few 3 xaxpy xger xdot xomatcopy xtrsv xswap); do
    clblast_test_$routine -platform 0 -device 0 > "$scratch/native" 2> "$scratch/err"
    native=$?
    results "$scratch/native" > "$scratch/native.results"
    for method in $methods; do
        vocl run --interpose $method -- clblast_test_$routine -platform 0 -device 0 > "$scratch/out" 2> "$scratch/err"
        [ $? -eq $native ] || fail "$routine, $method: another status than $native: $(cat "$scratch/err")"
        results "$scratch/out" > "$scratch/results"
        diff "$scratch/native.results" "$scratch/results" || fail "$routine, $method: other results"
    done
    methods=$(few 1 preload icd)
done
