#!/bin/sh
# All operations of ranks with segments, with 1 to 8 ranks: with shared memory, by messages beside it, and as if each
# rank had its own host.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
programs=devcom

for number in 1 3 5 8; do
    must $first $number basics
done
for number in 1 3; do
    must $first $number devices
    must $first $number chains
    must $first $number words
    must $first $number fetches
    must $first $number groups
done
for number in 1 2 4; do
    must $first $number reductions
done
must $first 1 basics messages
must $first 3 basics messages
VOCL_SHARE=0 must $first 4 basics messages
VOCL_SHARE=0 must $first 4 chains messages
VOCL_SHARE=0 must $first 4 words
VOCL_SHARE=0 must $first 3 fetches messages
must $first 4 groups messages
VOCL_SHARE=0 must $first 4 groups messages
for mpi in $mpis; do
    must $mpi 2 basics
    must $mpi 2 devices
    must $mpi 2 chains
    must $mpi 2 words
    VOCL_SHARE=0 must $mpi 2 chains messages
    VOCL_SHARE=0 must $mpi 2 devices
    VOCL_SHARE=0 must $mpi 2 words
    must $mpi 2 fetches messages
    must $mpi 3 groups
    must $mpi 3 reductions
    VOCL_SHARE=0 must $mpi 2 reductions
    VOCL_SHARE=0 must $mpi 3 groups
    VOCL_SHARE=0 must $mpi 2 fetches
    # the limit for data that travel with their descriptor is measured, or set
    VOCL_SHARE=0 VOCL_LOG=info must $mpi 2 basics messages
    grep -q 'eager size [0-9]* bytes' "$scratch/out" || fail "$mpi: nothing measured: $(cat "$scratch/out")"
    for eager in 100 64K; do
        VOCL_SHARE=0 VOCL_LOG=info VOCL_DEVCOM_EAGER=$eager must $mpi 2 basics messages
        ! grep 'eager size' "$scratch/out" || fail "$mpi: measured, though it is set"
    done
done
