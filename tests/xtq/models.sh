#!/bin/sh
# spin checks the protocols: the order of a ring's words (ring.pml), how ranks find out that nothing is under way any
# more (quiescence.pml), whether XTQ or MPI carries an operation (order.pml), and how an engine goes to sleep
# (sleep.pml).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../spin-lib.sh"
at_most 900
models=xtq

# two helpers, 8 million states; with naps there are 36 million, which is for make check-stress
compiler_options=-O1 table=24 holds ring -DTOTAL=1 -DFIRST=1 -DSECOND=1 -DMOST_NAPS=0
[ "$(rounds 1)" = 1 ] || compiler_options="-O2 -DCOLLAPSE" table=24 holds ring -DTOTAL=1 -DFIRST=1 -DSECOND=1
holds ring -DMOST_NAPS=0
holds ring -DTOTAL=2 -DFIRST=1
holds ring -DTOTAL=2 -DFIRST=1 -DQUIET -DMOST_NAPS=2
fails ring -DTOTAL=2 -DFIRST=1 -DDOZE
fails ring -DFORGET -DTOTAL=1 -DFIRST=1 -DSECOND=1
holds quiescence -DMOST=3
holds quiescence -DRANKS=3 -DMOST=2
fails quiescence -DONE_ROUND -DMOST=2
holds order
holds order -DRANKS=3 -DEACH=1
fails order -DEACH_BY_ITSELF -DEACH=1 -DEPOCHS=1
fails order -DEACH_BY_ITSELF -DATOMIC
fails order -DNO_WAIT
fails order -DNO_MEETING
holds sleep
holds sleep -DINITIATORS=3 -DTOTAL=1
fails sleep -DLOOK_FIRST
fails sleep -DRING_FIRST
fails sleep -DNO_LAST_LOOK
