#!/bin/sh
# Piglit's OpenCL tests give their native results. The package is large (2 GB), and not installed by ./quickstart.
# VOCL_PIGLIT=all runs every kernel test (an hour) instead of some.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
piglit=/usr/lib/x86_64-linux-gnu/piglit
[ -x $piglit/bin/cl-program-tester ] || skip "no piglit (package piglit)"
cd $piglit || exit 99

# outcome COMMAND...: prints the results that piglit reports, and whether the program crashed
outcome()
{
    timeout -k 5 300 "$@" -auto > "$scratch/out" 2> "$scratch/err"
    status=$?
    [ $status -lt 124 ] || echo "status $status"
    grep '^PIGLIT:' "$scratch/out"
}

compare()
{
    outcome "$@" > "$scratch/native"
    grep -q status "$scratch/native" && return 0 # native crashes: nothing to compare with
    outcome vocl run --interpose preload -- "$@" > "$scratch/vocl"
    diff "$scratch/native" "$scratch/vocl" > "$scratch/diff" || echo "$*: $(cat "$scratch/diff" "$scratch/err")"
}

for program in bin/cl-api-* bin/cl-custom-flush* bin/cl-custom-run* bin/cl-custom-use* bin/cl-custom-buffer*; do
    # create-command-queue sometimes crashes natively
    [ $program = bin/cl-api-create-command-queue ] || compare $piglit/$program
done > "$scratch/different"
find tests/cl generated_tests/cl -name '*.cl' -o -name '*.program_test' | sort > "$scratch/kernels"
[ "$VOCL_PIGLIT" = all ] || { awk 'NR % 40 == 0' "$scratch/kernels" > "$scratch/some"; mv "$scratch/some" "$scratch/kernels"; }
while read -r kernel; do
    compare $piglit/bin/cl-program-tester "$kernel"
done < "$scratch/kernels" >> "$scratch/different"
[ ! -s "$scratch/different" ] || fail "other results: $(cat "$scratch/different")"
