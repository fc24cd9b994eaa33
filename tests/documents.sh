#!/bin/sh
# Links of documents lead somewhere, in the tree and when installed; pictures are there; functions that they name exist.
. "$(dirname "$0")/lib.sh"
python3 "$top_srcdir/tests/documents.py" "$top_srcdir" || fail "what documents say of files and functions is not so"
