#!/bin/sh
# A command whose description does not say how it is treated when its worker is replaced, or says two things, does not
# compile.
. "$(dirname "$0")/../lib.sh"
mkdir "$scratch/wire"

# compiles [WORD...]: compiles a description with one more command that says this
compiles()
{
    { cat "$top_srcdir/wire/commands.def"; printf 'SEND(one_more, 255) %s\n    NEW_ID(MEMORY, it)\nEND\n' "$*"; } > "$scratch/wire/commands.def"
    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE= -I"$scratch" -I"$top_builddir" -I"$top_srcdir" -I"$top_srcdir/include" $OPENCL_CFLAGS \
        -DCL_TARGET_OPENCL_VERSION=300 -fsyntax-only "$top_srcdir/client/survive/effects.c" > "$scratch/out" 2>&1
}

for word in MAKES CHANGES RELEASES RUNS PASSES; do
    compiles $word || fail "$word does not compile: $(cat "$scratch/out")"
done
! compiles || fail "a command that says nothing compiles"
grep -q 'commands.def' "$scratch/out" || fail "not for the description: $(cat "$scratch/out")"
! compiles MAKES PASSES || fail "a command that says two things compiles"
echo "a command that says nothing: $(grep -m 1 error: "$scratch/out" | sed 's/^.*error: //')"
