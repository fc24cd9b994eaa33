#!/bin/sh
# The sources compile without a warning with clang, and with gcc optimized and fortified as distributions do.
. "$(dirname "$0")/lib.sh"
mpi_flags=$(${MPICC_MPICH:-$MPICC_OPENMPI} -show | tr ' ' '\n' | grep '^-I')
cd "$top_srcdir" || exit 99

# compile COMPILER...: every source named on stdin; what a source includes as data is not wanted here
compile()
{
    tr '\n' '\0' | xargs -0 -n 1 -P "$(nproc)" "$@" -std=gnu11 -Wall -Wextra -Werror -fvisibility=hidden -pthread \
        -I"$top_builddir" -I. -Iinclude -D_GNU_SOURCE= -DCL_TARGET_OPENCL_VERSION=300 $OPENCL_CFLAGS $mpi_flags \
        -DBINDIR='""' -DLIBDIR='""' -DPKGLIBEXECDIR='""' -DPKGDATADIR='""' -DSYSCONFDIR='""' -DRUNSTATEDIR='""' \
        -DXTQ_SOURCE_DIR='""' -DDEVCOM_SOURCE_DIR='""' -DTOPOLOGY_SOURCE_DIR='""' -DDASHBOARD='""' -DDEPLOY_SCRIPT='""' > "$scratch/out" 2>&1 ||
        fail "$(head -n 100 "$scratch/out")"
}

sources | grep '\.c$' > "$scratch/all"
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || sed -i -E '/^(pool|proxy|tools)\//d; /tests\/pool\//d' "$scratch/all"
# these are compiled otherwise: with executor/direct.h, for OpenCL 1.2, and by benchmarks/devcom_run, if there is what they use
sed -i '/^executor\/vendors.c/d; /^tests\/session\/mpi_app.c/d; /^benchmarks\/devcom_\(gaspi\|shmem\).c/d' "$scratch/all"
[ -e "$VOCL_LIBEXECDIR/spank_vocl.so" ] || sed -i '/^proxy\/slurm\//d' "$scratch/all"
[ -s "$scratch/all" ] || fail "no sources"
grep -vE '^(tests|benchmarks)/' "$scratch/all" > "$scratch/ours"

command -v "${CLANG:-clang}" > /dev/null || skip "no clang"
compile "${CLANG:-clang}" -fsyntax-only < "$scratch/all"
echo executor/vendors.c | compile "${CLANG:-clang}" -fsyntax-only -include executor/direct.h
# What was built so, as by quickstart test, has been compiled so.
case $("$top_builddir/config.status" --config) in
*"-O3 -D_FORTIFY_SOURCE=2"*enable-werror* | *enable-werror*"-O3 -D_FORTIFY_SOURCE=2"*) exit 0 ;;
esac
compile ${CC:-cc} -O3 -D_FORTIFY_SOURCE=2 -S -o /dev/null < "$scratch/ours"
exit 0
