#!/bin/sh
# SYCL programs, with Intel's OpenCL for CPUs as the node's driver: dpctl shows VOCL's device, its own tests have the
# same verdicts as natively, and sycl.py prints the same, by the ICD to a worker on the same host, with and without
# shared memory. `./quickstart test` fetches dpctl from PyPI into build/intel (sycl.txt); nothing of it is kept in the tree.
# Tests that are left out: sycl.omit.
. "$(dirname "$0")/../lib.sh"
at_most 900
need_foreign_programs

[ -e "$top_builddir/intel/sycl.txt" ] || skip "no dpctl: $(cat "$top_builddir/sycl.why" 2> /dev/null || echo "./quickstart test fetches it")"
python=$top_builddir/intel/bin/python
mkdir "$scratch/vendors"
echo "$top_builddir/intel/lib/libintelocl.so" > "$scratch/vendors/intel.icd"
export OCL_ICD_VENDORS="$scratch/vendors" PYTHONDONTWRITEBYTECODE=1 COLUMNS=120
"$python" -m dpctl -f > "$scratch/platforms" 2>&1 && grep -q 'Backend  *opencl' "$scratch/platforms" ||
    skip "dpctl finds no OpenCL natively: $(tail -n 3 "$scratch/platforms")"
tests=$("$python" -c 'import dpctl, os; print(os.path.dirname(dpctl.__file__))')/tests

# omitted all|apart: prints the names that sycl.omit has for it
omitted()
{
    sed -n "s/^$1 \([^ ]*\): .*/\1/p" "$top_srcdir/tests/drivers/sycl.omit"
}

# verdicts LIST COMMAND...: prints the verdict of each of these tests, in a program that COMMAND runs
verdicts()
{
    list=$1
    shift
    (cd "$tests" && timeout -k 5 400 "$@" "$python" -m pytest -v -p no:cacheprovider --rootdir . --tb short -o faulthandler_timeout=100 "@$list") \
        > "$scratch/pytest" 2>&1 < /dev/null
    echo "status $?"
    sed -n 's/^\(test_[a-z_]*\.py::.*\) \(PASSED\|FAILED\|ERROR\|SKIPPED\).*/\1 \2/p' "$scratch/pytest"
}

# devices: of the output of `dpctl -f`, what is said of each device
devices()
{
    sed -n '/# 0/,$p'
}

# the_same LIST NATIVE KIND COMMAND...: the tests in LIST have the verdicts in the file NATIVE, and sycl.py prints the same
# with memory of that kind, or of all kinds
the_same()
{
    list=$1 native=$2 kind=$3
    shift 3
    "$@" "$python" -m dpctl -f > "$scratch/out" 2>&1 || fail "$*: lsplatform: $(cat "$scratch/out")"
    grep -q 'Name  *VOCL$' "$scratch/out" || fail "$*: no platform VOCL: $(cat "$scratch/out")"
    [ "$(devices < "$scratch/out")" = "$(devices < "$scratch/../platforms")" ] || fail "$*: other devices: $(cat "$scratch/out")"
    verdicts "$list" "$@" > "$scratch/verdicts"
    diff "$native" "$scratch/verdicts" || fail "$*: other verdicts of dpctl's tests: $(tail -n 60 "$scratch/pytest")"
    echo "$*: $(counts < "$scratch/verdicts")"
    "$python" "$top_srcdir/tests/drivers/sycl.py" $kind > "$scratch/native" || fail "sycl.py natively"
    ! grep False "$scratch/native" || fail "sycl.py: wrong results natively"
    timeout -k 5 100 "$@" "$python" "$top_srcdir/tests/drivers/sycl.py" $kind > "$scratch/out" 2> "$scratch/err" ||
        fail "$*: sycl.py: $(cat "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$*: sycl.py prints something else"
}

counts()
{
    awk '{ count[$NF]++ } END { printf "%d tests pass, %d are skipped\n", count["PASSED"], count["SKIPPED"] }'
}

(cd "$tests" && "$python" -m pytest --collect-only -q -p no:cacheprovider --rootdir .) 2> "$scratch/err" | grep :: > "$scratch/all"
omitted all > "$scratch/omit"
grep -vFf "$scratch/omit" "$scratch/all" > "$scratch/both"
omitted apart > "$scratch/omit"
grep -vFf "$scratch/omit" "$scratch/both" > "$scratch/apart"
[ -s "$scratch/apart" ] || fail "no tests of dpctl: $(cat "$scratch/err")"

verdicts "$scratch/both" env > "$scratch/native"
head -n 1 "$scratch/native" | grep -qx 'status 0' || fail "natively: $(tail -n 60 "$scratch/pytest")"
echo "natively: $(counts < "$scratch/native")"
grep -vFf "$scratch/omit" "$scratch/native" > "$scratch/native_apart"

beside the_same "$scratch/both" "$scratch/native" "" vocl run --interpose icd --
beside the_same "$scratch/apart" "$scratch/native_apart" device env VOCL_SHARE=0 vocl run --interpose icd --
well_beside
