#!/bin/sh
# The order of a lane's words, checked with spin: see ring.pml.
. "$(dirname "$0")/../lib.sh"
need spin spin

cd "$scratch" || exit 99
check()
{
    spin -a "$@" "$top_srcdir/tests/xtq/ring.pml" > log && ${CC:-cc} -O2 -DSAFETY pan.c -o pan || fail "$*: $(cat log)"
    ./pan -m1000000 -w24 > log || fail "$*: $(cat log)"
    grep -q 'errors: 0' log && ! grep -q 'Search not completed' log || fail "$*: $(cat log)"
    grep 'states, stored' log
}
check
check -DTOTAL=1 -DFIRST=1 -DSECOND=1
