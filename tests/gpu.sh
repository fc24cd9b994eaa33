#!/bin/sh
# tests/gpu/run, for machines with a GPU, works where there is none: in its short form, with the report that it makes.
. "$(dirname "$0")/lib.sh"
export BENCH_ONCE=1
at_most 600
need_foreign_programs
"$top_srcdir/tests/gpu/run" --quick --output "$scratch/report.md" "$top_builddir" > "$scratch/out" 2>&1 ||
    fail "$(cat "$scratch/out" "$scratch/report.md")"
cat "$scratch/report.md"
for part in '^# VOCL on ' '^## Parity' '6 runs printed what they print natively' '^## PCI' '^| launch' '^## Staging' '^## Several sessions' \
        '^## Limits of memory' 'moves, the same results' '^0 things went wrong'; do
    grep -q "$part" "$scratch/report.md" || fail "no \"$part\" in the report"
done
grep -q '^xtq_device_4096B_cpu_time' "$scratch/report.md" || fail "what XTQ takes does not end as the program does"
! grep '^| # ' "$scratch/report.md" || fail "a table with what is for people"
exit 0
