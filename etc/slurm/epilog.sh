#!/bin/sh
# Slurm's Epilog: the node's devices go back to the VOCL pool when no job that asked for them is left.
[ -z "$(squeue --noheader --nodelist "$(hostname)" --states running --format '%b' | grep -v 'N/A')" ] || exit 0
exec vocl pool resume "$(hostname)"
