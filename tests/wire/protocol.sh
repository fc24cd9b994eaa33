#!/bin/sh
# The protocol does not change by accident: both sides of a session may come from different builds, and WIRE_VERSION
# (wire/frame.h) tells them apart. After an intended change, with a new WIRE_VERSION if the change is observable:
#   BUILD/tests/wire/dump > tests/wire/protocol.expected
. "$(dirname "$0")/../lib.sh"

"$top_builddir/tests/wire/dump" > "$scratch/protocol" || fail "dump"
diff -u "$top_srcdir/tests/wire/protocol.expected" "$scratch/protocol" ||
    fail "the protocol has changed; see the head of tests/wire/protocol.sh"
sort -n -k 2 "$scratch/protocol" | sed -n 's/^\(send\|note\|call\) \([0-9]*\) .*/\2/p; s/^slow call \([0-9]*\) .*/\1/p' |
    sort | uniq -d > "$scratch/twice"
[ ! -s "$scratch/twice" ] || fail "numbers used twice: $(cat "$scratch/twice")"
