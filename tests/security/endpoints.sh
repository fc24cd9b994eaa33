#!/bin/sh
# No endpoint lets in a process that is not in a session, or lets it keep others out. tests/security/stranger.c tries
# this as another user of the host, and from another host (a network namespace).
. "$(dirname "$0")/../lib.sh"
need ip iproute2
need setpriv util-linux
with_own_memory

. "$(dirname "$0")/spaces-lib.sh"
near= far= mark=VOCL_TEST_MARK=$$
holder=
tidy()
{
    [ -z "$holder" ] || kill "$holder" 2> /dev/null
    remove_spaces
    rm -rf "$scratch"
}
trap tidy EXIT
make_spaces endpoints 10.95.0

chmod 755 "$scratch"
mkdir -m 777 "$scratch/open"
cp "$top_builddir/tests/security/stranger" "$scratch/stranger"
export STRANGER_FILE="$scratch/open/reached"

at_near="ip netns exec $near" at_far="ip netns exec $far"
another="setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs"
$another test -x "$scratch/stranger" || skip "no other user"

# hold KIND: from now on a stranger connects to every endpoint of that kind, and holds it.
hold()
{
    rm -f "$scratch/open/held" "$scratch/say"
    mkfifo "$scratch/say"
    $at_near $another "$scratch/stranger" hold "$1" "$scratch/open/held" < "$scratch/say" &
    holder=$!
    exec 8> "$scratch/say"
}
let_go()
{
    exec 8>&-
    wait $holder
    holder=
}
not_reached()
{
    [ ! -e "$STRANGER_FILE" ] || fail "a stranger's command has run: $*"
}

# ---- one host: there are no endpoints ----

$at_near $another "$scratch/stranger" names && fail "something listens before there is a session"
# shut WHAT OPTIONS...: checks this while a session runs
shut()
{
    what=$1
    shift
    rm -f "$scratch/out"
    $at_near env "$mark" vocl run "$@" -- "$top_builddir/tests/session/sleeper" finish > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "$what: no session: $(cat "$scratch/err")"
    $at_near $another "$scratch/stranger" names > "$scratch/names" && fail "$what: there is something to connect to: $(cat "$scratch/names")"
    $at_near $another "$scratch/stranger" knock 127.0.0.1 > "$scratch/names" && fail "$what, from this host: $(cat "$scratch/names")"
    $at_far $another "$scratch/stranger" knock 10.95.0.1 > "$scratch/names" && fail "$what, from another host: $(cat "$scratch/names")"
    not_reached "$what"
    find /dev/shm -mindepth 1 -newer "$scratch/stranger" -perm /077 -name '*ucx*' | grep . && fail "$what: memory that others can open"
    for process in $(session_processes "$mark"); do
        ! tr '\0' ' ' < "/proc/$process/cmdline" | grep -E '[0-9a-f]{32}' || fail "$what: a token in a list of processes"
    done
    kill $program
    wait $program 2> /dev/null
    wait_until none_left "$mark" || fail "left after $what: $(session_processes "$mark")"
}
shut "one worker"
shut "three workers" --workers 3
shut "by the ICD loader" --interpose icd

# Also while a session starts and works, and in the child of a fork.
for kind in unix tcp; do
    hold $kind
    for program in parity/vector_add "session/fork own"; do
        $at_near vocl run -- "$top_builddir"/tests/$program > "$scratch/out" 2>&1 || fail "$program: $(cat "$scratch/out")"
    done
    let_go
    [ ! -e "$scratch/open/held" ] || fail "there was something to connect to while a session started"
done
if command -v strace > /dev/null && [ -z "${SANITIZER#no}" ]; then
    strace -f -qq -e trace=listen,bind -o "$scratch/calls" vocl run --workers 2 -- "$top_builddir/tests/parity/vector_add" > /dev/null
    grep -E 'listen\(|AF_INET|AF_UNIX' "$scratch/calls" && fail "something listens, or has a name"
fi

# ---- other hosts: strangers wait, and the session starts ----

cat > "$scratch/rsh" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
shift
for try in \$(seq 2400); do [ -e "$scratch/open/held" ] && break; sleep 0.05; done
exec ip netns exec $far sh -c "\$*"
END
cat > "$scratch/mpiexec" <<END
#!/bin/sh
for try in \$(seq 2400); do [ -e "$scratch/open/held" ] && break; sleep 0.05; done
exec "$MPIEXEC_OPENMPI" "\$@"
END
chmod 755 "$scratch/rsh" "$scratch/mpiexec"
hosts="--hosts 10.95.0.2,10.95.0.3"
hold tcp
$at_near env "$mark" VOCL_SHARE=0 UCX_TLS=tcp,self VOCL_RSH="$scratch/rsh" vocl run $hosts -- \
    "$top_builddir/tests/session/every_device" > "$scratch/out" 2> "$scratch/err"
status=$?
let_go
[ -e "$scratch/open/held" ] || fail "the stranger found nothing to hold"
[ "$status $(cat "$scratch/out")" = "0 2 devices" ] || fail "strangers that say nothing: $status: $(cat "$scratch/out" "$scratch/err")"

# Between hosts UCX listens, whose port is not to be trusted (doc/admin/security.md); but it runs no commands, and
# nothing reveals the environment.
$at_near env "$mark" VOCL_SHARE=0 UCX_TLS=tcp,self VOCL_RSH="$scratch/rsh" vocl run $hosts -- \
    "$top_builddir/tests/session/sleeper" finish > "$scratch/out" 2> "$scratch/err" &
program=$!
wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
for process in $(session_processes "$mark"); do
    ! tr '\0' ' ' < "/proc/$process/cmdline" | grep -E '[0-9a-f]{32}' || fail "a token in a list of processes"
done
$at_far $another "$scratch/stranger" knock 10.95.0.1 > "$scratch/names"
$at_near $another "$scratch/stranger" knock 10.95.0.1 >> "$scratch/names"
$at_near $another "$scratch/stranger" knock 10.95.0.2 >> "$scratch/names"
not_reached "between hosts: $(cat "$scratch/names")"
grep -q VOCL_ "$scratch/names" && fail "the environment is given away"
kill $program 2> /dev/null
wait $program 2> /dev/null
wait_until none_left "$mark" || fail "left after hosts: $(session_processes "$mark")"

# ---- Open MPI has a placeholder, which connects to an abstract socket; its mpiexec listens, its ranks do not ----

if [ -n "$MPIEXEC_OPENMPI" ]; then
    hold unix
    $at_near env "$mark" VOCL_MPI=openmpi VOCL_MPIEXEC="$scratch/mpiexec" vocl run -- "$top_builddir/tests/parity/vector_add" \
        > "$scratch/out" 2> "$scratch/err"
    status=$?
    let_go
    [ $status -eq 0 ] || fail "Open MPI, with strangers: $status: $(cat "$scratch/err")"
    wait_until none_left "$mark" || fail "left after Open MPI: $(session_processes "$mark")"
    env "$mark" VOCL_MPI=openmpi vocl run -- "$top_builddir/tests/session/sleeper" finish > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no session of Open MPI: $(cat "$scratch/err")"
    for process in $program $(session_processes "$mark"); do
        [ "$(cat "/proc/$process/comm")" != mpiexec.openmpi ] || continue
        for socket in $(ls -l "/proc/$process/fd" | sed -n 's/.*socket:\[\(.*\)\]/\1/p'); do
            awk -v socket="$socket" '$4 == "0A" && $10 == socket { found = 1 } END { exit !found }' /proc/net/tcp /proc/net/tcp6 &&
                fail "$(cat "/proc/$process/comm") of a session of Open MPI listens"
        done
    done
    kill $program 2> /dev/null
    wait $program 2> /dev/null
    wait_until none_left "$mark" || fail "left after Open MPI: $(session_processes "$mark")"
fi
exit 0
