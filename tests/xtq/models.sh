#!/bin/sh
# What spin says of the protocols: the order of a lane's words (ring.pml), and how ranks find out that nothing is under way
# any more (quiescence.pml).
. "$(dirname "$0")/../lib.sh"
need spin spin

cd "$scratch" || exit 99
# explore MODEL OPTION...: all of its states; what spin found is in log.
explore()
{
    model=$top_srcdir/tests/xtq/$1.pml
    shift
    spin -a "$@" "$model" > log && ${CC:-cc} -O2 -w -DSAFETY pan.c -o pan || fail "$model $*: $(cat log)"
    ./pan -m1000000 -w24 > log || fail "$model $*: $(cat log)"
}

holds()
{
    explore "$@"
    grep -q 'errors: 0' log && ! grep -q 'Search not completed' log || fail "$*: $(cat log)"
    grep 'states, stored' log
}

# What a model is worth: it finds the mistake that is built in.
fails()
{
    explore "$@"
    grep -q 'errors: 1' log || fail "$*: no error found: $(cat log)"
}

holds ring -DMOST_NAPS=0
holds ring -DMOST_NAPS=0 -DTOTAL=1 -DFIRST=1 -DSECOND=1
holds ring -DTOTAL=2 -DFIRST=1
holds ring -DTOTAL=2 -DFIRST=1 -DQUIET -DMOST_NAPS=2
fails ring -DTOTAL=2 -DFIRST=1 -DDOZE
fails ring -DFORGET -DTOTAL=1 -DFIRST=1 -DSECOND=1
holds quiescence -DMOST=3
holds quiescence -DRANKS=3 -DMOST=2
fails quiescence -DONE_ROUND -DMOST=2
