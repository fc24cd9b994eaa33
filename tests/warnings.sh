#!/bin/sh
# The sources compile without warnings with clang, and with gcc, optimized and fortified as distributions do.
. "$(dirname "$0")/lib.sh"
mpi_flags=$(${MPICC_MPICH:-$MPICC_OPENMPI} -show | tr ' ' '\n' | grep '^-I')
cd "$top_srcdir" || exit 99

# with_flags COMMAND...: runs the command with the flags for all sources; files that sources include as data are left
# out
with_flags()
{
    "$@" -std=gnu11 -Wall -Wextra -Werror -fvisibility=hidden -pthread \
        -I"$top_builddir" -I. -Iinclude -D_GNU_SOURCE= -DCL_TARGET_OPENCL_VERSION=300 $OPENCL_CFLAGS $mpi_flags \
        -DBINDIR='""' -DLIBDIR='""' -DPKGLIBEXECDIR='""' -DPKGDATADIR='""' -DSYSCONFDIR='""' -DRUNSTATEDIR='""' \
        -DGROUND_SOURCE_DIR='""' -DXTQ_SOURCE_DIR='""' -DDEVCOM_SOURCE_DIR='""' -DTOPOLOGY_SOURCE_DIR='""' -DDASHBOARD='""' -DDEPLOY_SCRIPT='""'
}

# each HOW_MANY COMPILER...: compiles every source named on stdin, so many in a process
each()
{
    how_many=$1
    shift
    tr '\n' '\0' | xargs -0 -n "$how_many" -P "$(nproc)" "$@" > "$scratch/out" 2>&1 ||
        fail "$(head -n 100 "$scratch/out")"
}

# clang_each [FLAG...]: compiles by clang's compiler proper (cc1), which takes many sources, unlike clang's driver:
# starting clang takes as long as a source of the usual length. The driver says how it starts cc1.
clang_each()
{
    with_flags "${CLANG:-clang}" -fsyntax-only "$@" -### base/text.c 2>&1 | sed -n '/ "-cc1" /s/ "base.text\.c"$//p' > "$scratch/stage"
    [ -s "$scratch/stage" ] || fail "clang does not say how it compiles"
    eval "each 50 $(cat "$scratch/stage")"
}

sources | grep '\.c$' > "$scratch/all"
[ -x "$VOCL_LIBEXECDIR/vocl-poold" ] || sed -i -E '/^(pool|proxy|tools)\//d; /tests\/pool\//d' "$scratch/all"
# these need other flags (executor/direct.h, OpenCL 1.2), or are built by benchmarks/devcom_run where their libraries
# exist
sed -i '/^executor\/vendors.c/d; /^tests\/session\/mpi_app.c/d; /^benchmarks\/devcom_\(gaspi\|shmem\).c/d' "$scratch/all"
[ -e "$VOCL_LIBEXECDIR/spank_vocl.so" ] || sed -i '/^proxy\/slurm\//d' "$scratch/all"
[ -x "$VOCL_LIBEXECDIR/vocl-announce" ] || sed -i '/^proxy\/announce\//d; /^tools\/discover.c/d' "$scratch/all"
[ -s "$scratch/all" ] || fail "no sources"
grep -vE '^(tests|benchmarks)/' "$scratch/all" > "$scratch/ours"

command -v "${CLANG:-clang}" > /dev/null || skip "no clang"
# Without pipes, in which a failure would not end the test.
# behind certain other sources in one process, clang forgets these files' pragmas
alone="libvocl/unsupported.c tests/devcom/words.c tests/xtq/misuse.c"
grep -vxF "$(printf '%s\n' $alone)" "$scratch/all" > "$scratch/most"
clang_each < "$scratch/most"
for source in $alone; do
    echo $source > "$scratch/one"
    clang_each < "$scratch/one"
done
echo executor/vendors.c > "$scratch/one"
clang_each -include executor/direct.h < "$scratch/one"
# A build with these flags, as by quickstart test, has already compiled the sources so.
case $("$top_builddir/config.status" --config) in
*"-O3 -D_FORTIFY_SOURCE=2"*enable-werror* | *enable-werror*"-O3 -D_FORTIFY_SOURCE=2"*) exit 0 ;;
esac
with_flags each 1 ${CC:-cc} -O3 -D_FORTIFY_SOURCE=2 -S -o /dev/null < "$scratch/ours"
exit 0
