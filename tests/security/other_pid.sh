#!/bin/sh
# A worker that reports another process's PID: if it does not answer, the program kills the worker, and for its bulk
# data the program reads the worker's memory, not the other process's.
. "$(dirname "$0")/../lib.sh"
case $SANITIZER in
address | thread) skip "the sanitizer wants to be loaded first" ;;
esac
libexec=$scratch/libexec
mkdir "$libexec"
for file in "$VOCL_LIBEXECDIR"/*; do
    ln -s "$(readlink -f "$file")" "$libexec/${file##*/}"
done
rm "$libexec/vocl-proxy"
cat > "$libexec/vocl-proxy" << END
#!/bin/sh
LD_PRELOAD=$(realpath "$top_builddir/tests/security/.libs/other_pid.so") exec "$VOCL_LIBEXECDIR/vocl-proxy" "\$@"
END
chmod +x "$libexec/vocl-proxy"
sleep 1000 &
export VICTIM=$!
trap 'kill -9 $VICTIM $worker 2> /dev/null; rm -rf "$scratch"' EXIT
about_silence
export VOCL_LIBEXECDIR="$libexec" VOCL_CACHE=off
mkfifo "$scratch/say"
mark=VOCL_TEST_MARK=$$
for network in pairs mpi; do
    rm -f "$scratch/out"
    env "$mark" VOCL_NETWORK=$network vocl run --interpose preload -- "$top_builddir/tests/session/sleeper" finish \
        < "$scratch/say" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    exec 9> "$scratch/say"
    wait_until grep -q ready "$scratch/out" || fail "$network: no session: $(cat "$scratch/err")"
    worker=
    for process in $(session_processes "$mark"); do
        [ "$(cat "/proc/$process/comm")" != vocl-proxy ] || worker=$process
    done
    [ -n "$worker" ] || fail "$network: no worker"
    kill -STOP "$worker"
    gone()
    {
        [ ! -e "/proc/$worker" ] || grep -q '^State:.*Z' "/proc/$worker/status" 2> /dev/null
    }
    wait_until gone || fail "$network: the worker that does not answer stays"
    kill -0 $VICTIM 2> /dev/null || fail "$network: the process that it named was killed"
    exec 9>&-
    wait $program
done
env "$mark" VOCL_NETWORK=pairs VOCL_LOG=info VOCL_SHARE=0 vocl run --workers 2 -- "$top_builddir/tests/session/near" right \
    > "$scratch/out" 2> "$scratch/err" || fail "bulk data: status $?: $(cat "$scratch/out" "$scratch/err")"
[ "$(cat "$scratch/out")" = right ] || fail "bulk data: $(cat "$scratch/out" "$scratch/err")"
wait_until none_left "$mark" || fail "bulk data: left: $(session_processes "$mark")"
for member in 0 1 2; do
    grep -q "to $member: .* read where" "$scratch/err" || fail "bulk data to $member are not read: $(cat "$scratch/err")"
done
! grep -q 'cannot read' "$scratch/err" || fail "bulk data: another process is read: $(cat "$scratch/err")"
exit 0
