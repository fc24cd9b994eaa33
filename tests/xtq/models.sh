#!/bin/sh
# What spin says of the protocols: the order of a lane's words (ring.pml), and how ranks find out that nothing is under way
# any more (quiescence.pml).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../spin-lib.sh"
models=xtq

holds ring
holds ring -DTOTAL=1 -DFIRST=1 -DSECOND=1
holds quiescence -DMOST=3
holds quiescence -DRANKS=3 -DMOST=2
fails quiescence -DONE_ROUND -DMOST=2
