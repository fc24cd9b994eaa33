#!/bin/sh
# A greeting that does not fit (another version, byte order, pointer size, or none at all): both sides hear why, the
# program finds no platform, and nothing is left. One without the token is a stranger's.
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
link_libexec "$scratch/libexec"
ln -sf "$top_builddir/tests/wire/wrong_hello" "$scratch/libexec/vocl-proxy"

# try HOW WHY [OPTION...]
try()
{
    how=$1 why=$2
    shift 2
    env "$mark" VOCL_TEST_HELLO="$how" VOCL_LIBEXECDIR="$scratch/libexec" VOCL_LOG=error \
        vocl run "$@" -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2> "$scratch/err"
    [ $? -eq 1 ] || fail "$how: $(cat "$scratch/out" "$scratch/err")"
    wait_until none_left "$mark" || fail "left after $how: $(session_processes "$mark")"
    grep -q "no session" "$scratch/err" || fail "$how: the program is not told: $(cat "$scratch/err")"
    [ -n "$why" ] || return 0
    grep "refused a process" "$scratch/err" | grep -q "$why" || fail "$how: the program's side: $(cat "$scratch/err")"
    grep "the worker was told" "$scratch/err" | grep -q "$why" || fail "$how: the worker's side: $(cat "$scratch/err")"
}

try magic "not a VOCL process"
try version "protocol versions differ"
try "byte order" "byte order or pointer size differ"
try "pointer size" "byte order or pointer size differ"
try extra "not expected"

# After these nobody comes that is better, which a program waits for.
about_silence
VOCL_START_TIMEOUT=$((3 * VOCL_PEER_TIMEOUT))
# Who is born with a bell needs no token.
if [ -n "$MPIEXEC_OPENMPI" ]; then
    try token "" --mpi openmpi
    grep -q "told nothing" "$scratch/err" || fail "the wrong token was answered: $(cat "$scratch/err")"
fi
VOCL_START_TIMEOUT=2 # whatever has come by then
try half ""
try nothing ""
