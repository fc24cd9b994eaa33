#!/bin/sh
# The benchmarks still run, and check their results, natively and through VOCL. Their times are not looked at.
. "$(dirname "$0")/lib.sh"
export BENCH_ONCE=1
case $SANITIZER in
address | thread) skip "sanitized builds take too long" ;;
esac
[ -x "$top_builddir/benchmarks/launch" ] || skip "make benchmarks was not run"
"$top_srcdir/benchmarks/run" --quick --repeat 1 --build "$top_builddir" --output "$scratch/report.md" \
    > "$scratch/out" 2> "$scratch/err" || fail "$(tail -n 3 "$scratch/out"; cat "$scratch/err")"
grep -q launch_4000_total "$scratch/report.md" || fail "the report lacks the launches"
grep '^| ' "$scratch/report.md" | cut -d '|' -f 2-4,6
