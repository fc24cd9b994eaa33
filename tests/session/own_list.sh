#!/bin/sh
# In an out-of-order queue a command waits for its own wait list only, also where VOCL implements it by another native
# command. PoCL's own blocking commands and markers violate this, so that there is nothing to compare with.
. "$(dirname "$0")/../lib.sh"
program=$top_builddir/tests/session/own_list

networks="pairs mpi"
[ ! -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || networks="$networks tls"
for how in VOCL_SHARE=1 VOCL_RECOVER=replay $networks; do
    case $how in
    *=*) ;;
    *) how="VOCL_SHARE=0 VOCL_NETWORK=$how" ;;
    esac
    for bytes in 4 4096 200000 4000000; do
        env $how timeout -k 10 300 vocl run -- "$program" $bytes > "$scratch/out" 2> "$scratch/err" ||
            fail "$how, $bytes bytes: status $?, after $(tail -n 1 "$scratch/out"): $(cat "$scratch/err")"
    done
    echo "$how: $(wc -l < "$scratch/out") commands"
done
