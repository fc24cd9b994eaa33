#!/bin/sh
# Variables by which a host's drivers choose their devices: those that the host sets itself hold there, not the
# program's; where the host sets none, the program's do.
. "$(dirname "$0")/../lib.sh"
need_foreign_programs
[ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ] || skip "VOCL was built without TLS"
unset VOCL_HOSTS VOCL_WORKERS VOCL_LOCAL VOCL_MPI VOCL_NETWORK

# elsewhere HOST COMMAND: stands for ssh to a host with an environment of its own.
cat > "$scratch/elsewhere" <<'END'
#!/bin/sh
unset RUSTICL_ENABLE POCL_DEVICES
[ "$1" != sets ] || export RUSTICL_ENABLE=llvmpipe POCL_DEVICES="pthread pthread"
exec sh -c "$2"
END
chmod +x "$scratch/elsewhere"
export VOCL_RSH="$scratch/elsewhere" RUSTICL_ENABLE=radeonsi POCL_DEVICES="pthread pthread pthread"

# has HOST VARIABLE: a worker there has the variable
has()
{
    mark=VOCL_TEST_MARK=$$.$1
    : > "$scratch/ready"
    env "$mark" vocl run --hosts "$1" --network ssh -- "$top_builddir/tests/session/sleeper" > "$scratch/ready" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/ready" || fail "$1: no session: $(cat "$scratch/err")"
    found=
    for process in $(session_processes "$mark"); do
        case $(tr '\0' ' ' < "/proc/$process/cmdline") in
        *vocl-proxy\ --worker\ *) found=$(tr '\0' '\n' < "/proc/$process/environ" | grep '^RUSTICL_ENABLE=') ;;
        esac
    done
    kill $program
    wait $program
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    [ "$found" = "$2" ] || fail "$1: a worker has \"$found\", not $2"
}
has sets RUSTICL_ENABLE=llvmpipe
has leaves RUSTICL_ENABLE=radeonsi

# devices HOST COUNT
devices()
{
    vocl devices --hosts "$1" --network ssh > "$scratch/out" 2> "$scratch/err" || fail "$1: $(cat "$scratch/err")"
    [ "$(grep -c ' CPU ' "$scratch/out")" = "$2" ] || fail "$1: not $2 devices: $(cat "$scratch/out")"
}
devices sets 2
devices leaves 3
