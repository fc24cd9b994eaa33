#!/bin/sh
# Links in documents resolve, in the tree and when installed; pictures exist; functions that documents name exist.
. "$(dirname "$0")/lib.sh"
need python3 python3
python3 "$top_srcdir/tests/documents.py" "$top_srcdir" || fail "what documents say of files and functions is not so"
