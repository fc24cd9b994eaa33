#!/bin/sh
# Every function has a program that compares it with the native one, and doc/user/opencl-support.md names it.
. "$(dirname "$0")/lib.sh"

"$top_srcdir/tests/support-table" > "$scratch/table" || fail "no table"
[ "$(wc -l < "$scratch/table")" -gt 140 ] || fail "only $(wc -l < "$scratch/table") lines"
if grep '|  |$' "$scratch/table" || grep '| |$' "$scratch/table"; then
    fail "no program in tests/parity exercises these"
fi
sed -n '/^| function | since, or of | programs |$/,$p' "$top_srcdir/doc/user/opencl-support.md" > "$scratch/documented"
diff "$scratch/table" "$scratch/documented" ||
    fail "doc/user/opencl-support.md ends with an old table: tests/support-table prints the new one"
