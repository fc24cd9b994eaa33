#!/bin/sh
# tests/devcom/edges: edge cases, with shared memory, by messages beside it, and as if each rank had its own host.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../xtq/xtq-lib.sh"
one_at_a_time ranks
[ "$SANITIZER" != thread ] || skip "it has functions of its own that the sanitizer has, too"
programs=devcom
# UCX would replace munmap()
UCX_MEM_MMAP_HOOK_MODE=none UCX_MEM_EVENTS=no
export UCX_MEM_MMAP_HOOK_MODE UCX_MEM_EVENTS

must $first 1 edges
must $first 3 edges
for mpi in $mpis; do
    must $mpi 2 edges
    must $mpi 2 edges messages
    VOCL_SHARE=0 must $mpi 2 edges messages
done

# a stopped rank delays no other; not with Open MPI, for which this program is not built
[ -n "$MPIEXEC_MPICH" ] || exit 0
VOCL_SHARE=0 UCX_TLS=self,tcp VOCL_PEER_TIMEOUT=300
export VOCL_SHARE UCX_TLS VOCL_PEER_TIMEOUT
must mpich 3 slow
