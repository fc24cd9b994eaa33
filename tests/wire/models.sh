#!/bin/sh
# spin checks how the sides of a shared-memory ring sleep (sleep.pml): no wake-up is lost.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../spin-lib.sh"
at_most 900
models=wire

holds sleep
compiler_options=-O1 table=22 holds sleep -DDEATH
fails sleep -DLOOK_FIRST
fails sleep -DRING_FIRST
fails sleep -DWANT_LAST
fails sleep -DFRAMES_ONLY
fails sleep -DTELL_NOBODY
