#!/bin/sh
# Slurm's Prolog on a node that lends its devices to a VOCL pool: while a job that asked for the node's own devices runs,
# the pool gets none of them. See doc/pool.md.
case ,$SLURM_JOB_GRES,$SLURM_JOB_GPUS, in
,,,) exit 0 ;; # a job without devices
esac
exec vocl pool drain "$(hostname)"
