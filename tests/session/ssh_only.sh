#!/bin/sh
# Between two hosts only the stand-in for ssh gets through: the program and its workers cannot connect to each other in
# any direction, nor can the workers. The results are the same as natively. When that connection breaks, carries nothing
# more, or one of its ends is stopped, the program gets an error and nothing is left; a member that does not read delays
# no other.
. "$(dirname "$0")/silent-lib.sh"
need ip iproute2
need_foreign_programs
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
two=$top_srcdir/tests/net/two-hosts
[ "$(status_of "$two" --apart -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

# same NETWORK WORKERS PROGRAM: runs it here, with WORKERS workers on the other host
same()
{
    "$top_builddir/tests/$3" > "$scratch/native" 2> /dev/null || fail "$3 natively"
    env "$mark" VOCL_NETWORK="$1" VOCL_LOG=info timeout -k 10 300 "$two" --apart --workers "$2" -- "$top_builddir/tests/$3" \
        > "$scratch/out" 2> "$scratch/err" || fail "$3, $1: status $?: $(cat "$scratch/out" "$scratch/err")"
    diff "$scratch/native" "$scratch/out" || fail "$3, $1: something else is printed"
    wait_until none_left "$mark" || fail "left after $3: $(session_processes "$mark")"
}
same auto 1 parity/vector_add # found out
grep -q 'reached through the launcher' "$scratch/err" || fail "it is reached otherwise: $(cat "$scratch/err")"
same ssh 1 parity/map_unmap
same ssh 2 parity/many_devices
same ssh 3 parity/many_copies
same ssh 2 session/migrate
[ "$(status_of env VOCL_NETWORK=ssh vocl devices 2> "$scratch/err")" != 0 ] || fail "VOCL_NETWORK=ssh without hosts"
grep -q 'VOCL_NETWORK=ssh is for workers that ssh starts' "$scratch/err" || fail "ssh without hosts: $(cat "$scratch/err")"

# A worker cannot connect to the program, but the program to the worker: only the first connection goes through ssh.
if ${CC:-cc} -D_GNU_SOURCE= -shared -fPIC -o "$scratch/unreachable.so" "$top_srcdir/tests/net/unreachable.c"; then
    UNREACHABLE=10.93.0.1 LD_PRELOAD="$scratch/unreachable.so${LD_PRELOAD:+:$LD_PRELOAD}" VOCL_LOG=debug timeout -k 10 300 \
        "$two" --workers 2 -- "$top_builddir/tests/session/migrate" > "$scratch/out" 2> "$scratch/err" ||
        fail "a worker that is not let out: $(cat "$scratch/out" "$scratch/err")"
    [ "$(grep -c 'connection .* with 2, through what' "$scratch/err")" = 1 ] ||
        fail "a worker that is not let out is connected otherwise: $(cat "$scratch/err")"
fi

# ssh encrypts already: data through it are plain, unless TLS is requested. (The cache is off, as cached data would not
# be sent.)
cat > "$scratch/record" <<END
#!/bin/sh
exec 3<&0
cat <&3 | { "\$@"; kill \$\$; } | tee -a "$scratch/recorded" | cat
END
chmod +x "$scratch/record"
for network in ssh tls; do
    rm -f "$scratch/recorded"
    export RSH_THROUGH=$scratch/record
    export VOCL_CACHE=off
    same $network 1 parity/vector_add
    unset RSH_THROUGH
    grep -aq 'Portable Computing Language' "$scratch/recorded"
    [ $? = $([ $network = ssh ] && echo 0 || echo 1) ] || fail "what goes through with $network"
done

# Where the members could reach each other directly, still no socket listens.
cat > "$scratch/look" <<'END'
#!/bin/sh
"$SLEEPER" > "$HERE/out" & until grep -q ready "$HERE/out"; do sleep 0.1; done
grep -c ' 0A ' /proc/$!/net/tcp; kill $!
END
chmod +x "$scratch/look"
rm -f "$scratch/out"
VOCL_NETWORK=ssh HERE=$scratch SLEEPER=$top_builddir/tests/session/sleeper timeout -k 10 300 "$two" -- "$scratch/look" \
    > "$scratch/listen" 2> "$scratch/err"
[ "$(cat "$scratch/listen")" = 0 ] || fail "listens: $(cat "$scratch/listen" "$scratch/err")"

# Two processes that copy stand for ssh, so that they can be stopped.
cat > "$scratch/through" <<'END'
#!/bin/sh
exec 3<&0
cat <&3 | { "$@"; kill $$; } | cat
END
chmod +x "$scratch/through"
export RSH_THROUGH=$scratch/through VOCL_NETWORK=ssh
cats()
{
    for candidate in $(grep -lszxFe "$mark" /proc/[0-9]*/environ 2> /dev/null | cut -d / -f 3); do
        { read -r comm < "/proc/$candidate/comm"; } 2> /dev/null || continue
        [ "$comm" != cat ] || echo "$candidate"
    done
}
# broken PHASE SIGNAL WHO: the signal is sent to these processes in that phase
broken()
{
    begin_far $1 --apart
    victims=$(eval "$3")
    fault $2 $victims
    noticed
    case "$2 $3" in
    STOP*worker*) wait_until far_over; kill -CONT $victims ;; # it finds itself out
    esac
    ended 3 -- "SIG$2 for $3"
    kill -CONT $victims 2> /dev/null
    return 0
}
for phase in $(every read); do
    beside broken $phase STOP cats
    beside broken $phase KILL cats
    beside broken $phase STOP "processes vocl-launcher"
    beside broken $phase STOP "worker 1"
    beside broken $phase KILL "worker 1"
done
# an outage that is shorter than the time-outs, and a program that is stopped for longer
outage()
{
    patiently
    begin_far $1 --apart
    victims=$(cats)
    fault STOP $victims
    outlast_some
    kill -CONT $victims
    go 3
    ended 0 -- an outage
}
for phase in $(every launches); do
    beside outage $phase
done
suspended()
{
    begin_far $1 --apart
    victims=$(processes phases)
    fault STOP $victims
    outlast
    kill -CONT $victims
    go 3
    ended 0 -- Ctrl-Z
}
for phase in $(every read); do
    beside suspended $phase
done
well_beside
exit 0
