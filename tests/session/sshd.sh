#!/bin/sh
# Through a real ssh: an sshd of this test's own, at a port of this host, and workers on "hosts" whose names only ssh
# knows. The results are the same as natively, over all networks; the reason is reported if ssh refuses; a broken
# connection is an error, and the processes that were started at its other end are gone.
. "$(dirname "$0")/silent-lib.sh"
need ssh openssh-client
need ssh-keygen openssh-client
PATH=$PATH:/usr/sbin
need sshd openssh-server
need_foreign_programs
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"

daemon=
trap '[ -z "$daemon" ] || kill $daemon; rm -rf "$scratch"' EXIT
keys=$scratch/keys
mkdir -m 700 "$keys"
for key in host user other; do
    ssh-keygen -q -t ed25519 -N '' -f "$keys/$key" || skip "no keys can be made"
done
cp "$keys/user.pub" "$keys/authorized"
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd || skip "no /run/sshd"
start_sshd()
{
    cat > "$keys/sshd" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $keys/host
AuthorizedKeysFile $keys/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
END
    env -u LD_PRELOAD "$(command -v sshd)" -D -e -f "$keys/sshd" 2> "$scratch/sshd" &
    daemon=$!
    wait_until listens
}
listens()
{
    grep -qs '^Server listening' "$scratch/sshd" || ! kill -0 $daemon 2> /dev/null
}
for try in 1 2 3 4 5; do
    port=$((16000 + ($$ + try * 7) % 4000))
    start_sshd
    kill -0 $daemon 2> /dev/null && break
    wait $daemon
    daemon=
done
[ -n "$daemon" ] || fail "no sshd: $(cat "$scratch/sshd")"
cat > "$keys/ssh" <<END
Host elsewhere*
HostName 127.0.0.1
Port $port
User $(id -un)
IdentityFile $keys/user
IdentitiesOnly yes
IdentityAgent none
HostKeyAlias elsewhere
UserKnownHostsFile $keys/known
StrictHostKeyChecking yes
BatchMode yes
ControlMaster no
END
echo "elsewhere $(cut -d ' ' -f 1,2 "$keys/host.pub")" > "$keys/known"
ssh="env -u LD_PRELOAD ssh -F $keys/ssh -x -T"
$ssh elsewhere true 2> "$scratch/err" || skip "this sshd lets nobody in: $(cat "$scratch/err" "$scratch/sshd")"
export VOCL_RSH="$ssh" VOCL_SHARE=0 UCX_TLS=tcp,self

# same HOSTS PROGRAM SETTING...: prints the same as natively
same()
{
    hosts=$1 program=$2
    shift 2
    "$top_builddir/tests/$program" > "$scratch/native" 2> /dev/null || fail "$program natively"
    env "$mark" VOCL_LOG=info "$@" timeout -k 10 300 vocl run --hosts "$hosts" -- "$top_builddir/tests/$program" \
        > "$scratch/out" 2> "$scratch/err" || fail "$program, $*: status $?: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$program, $*: something else is printed"
    wait_until none_left "$mark" || fail "left after $program, $*: $(session_processes "$mark")"
}
same elsewhere parity/vector_add VOCL_NETWORK=auto # nobody else knows this name
grep -q 'reached through the launcher' "$scratch/err" || fail "it is reached otherwise: $(cat "$scratch/err")"
same elsewhere parity/vector_add VOCL_NETWORK=tls VOCL_ADDRESS=127.0.0.1
! grep -q 'reached through the launcher' "$scratch/err" || fail "it is not reached: $(cat "$scratch/err")"
same elsewhere parity/vector_add VOCL_NETWORK=mpi VOCL_ADDRESS=127.0.0.1
same elsewhere1,elsewhere2 parity/many_devices VOCL_NETWORK=ssh

refused()
{
    [ "$(status_of vocl devices --hosts elsewhere)" != 0 ] || fail "$1: it starts"
    VOCL_LOG=error timeout 300 vocl devices --hosts elsewhere > "$scratch/out" 2>&1
    grep -q "$2" "$scratch/out" || fail "$1: not said: $(cat "$scratch/out")"
}
cp "$keys/other.pub" "$keys/authorized"
refused "a key that is not known" 'Permission denied'
cp "$keys/user.pub" "$keys/authorized"
echo "elsewhere $(cut -d ' ' -f 1,2 "$keys/other.pub")" > "$keys/known"
refused "another host" 'Host key verification failed'
echo "elsewhere $(cut -d ' ' -f 1,2 "$keys/host.pub")" > "$keys/known"

# The end of the connection: the process that serves it on the other side is no child of this script's.
connection()
{
    cat /proc/$daemon/task/$daemon/children
}
starter()
{
    ps -o ppid= -p "$(worker 1)" | tr -d ' '
}
worker_gone()
{
    [ -z "$(worker 1 | grep -vxF "$victims")" ]
}
for fault in "ssh connection STOP" "ssh connection KILL" "ssh starter STOP" "tls connection STOP"; do
    set -- $fault
    begin launches 1 env VOCL_ADDRESS=127.0.0.1 VOCL_NETWORK=$1 vocl run --hosts elsewhere --
    victims=$($2)
    fault $3 $victims
    if [ $1 = tls ]; then # nothing goes through it
        kill -KILL $program
        wait $program
    else
        ended_with 3 -- "SIG$3 for the $2"
    fi
    wait_until worker_gone || fail "left there after $fault: $(processes vocl-proxy)"
    kill -CONT $victims 2> /dev/null
    nothing_left "$fault"
done
exit 0
