#!/bin/sh
# Headings in headers stand over declarations of what the named files define; everything declared is defined; files that
# comments and documents name exist.
. "$(dirname "$0")/lib.sh"
need python3 python3

python3 "$top_srcdir/tests/declarations.py" "$top_srcdir" > "$scratch/found" ||
    fail "tests/declarations.py"
[ ! -s "$scratch/found" ] || { cat "$scratch/found"; fail "what is said of files is not so"; }
