#!/bin/sh
# Headings in headers are over what the files that they name define, what is declared is defined, and files that comments
# and documents name exist.
. "$(dirname "$0")/lib.sh"
need python3 python3

python3 "$top_srcdir/tests/declarations.py" "$top_srcdir" > "$scratch/found" ||
    fail "tests/declarations.py"
[ ! -s "$scratch/found" ] || { cat "$scratch/found"; fail "what is said of files is not so"; }
