#!/bin/sh
# After a wrong greeting (another version, byte order, pointer size, or none at all) both sides learn why, the program
# finds no platform, and nothing is left. A greeting without the token is refused without an answer.
. "$(dirname "$0")/../lib.sh"

mark=VOCL_TEST_MARK=$$
link_libexec "$scratch/libexec"
ln -sf "$top_builddir/tests/wire/wrong_hello" "$scratch/libexec/vocl-proxy"

# try HOW WHY [OPTION...]: runs a program with the wrong worker HOW; both sides' logs have to say WHY
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

# After these the program waits for another worker, which does not come.
about_silence
VOCL_START_TIMEOUT=$((3 * VOCL_PEER_TIMEOUT))
# A worker that inherits its doorbell needs no token.
if [ -n "$MPIEXEC_OPENMPI" ]; then
    try token "" --mpi openmpi
    grep -q "told nothing" "$scratch/err" || fail "the wrong token was answered: $(cat "$scratch/err")"
fi
VOCL_START_TIMEOUT=2 # whatever has come by then
try half ""
try nothing ""
