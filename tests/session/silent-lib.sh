# What a session does when one of its processes is stopped or killed, in each phase of a program's life:
#
#     begin PHASE SECONDS WORKERS COMMAND...   a program (phases.c) in the background, until it is in its phase; $program
#     processes NAME                           of this session, whose name begins so
#     worker NUMBER
#     fault SIGNAL PID...
#     ended_with STATUS... -- WHAT             the program ends so, and nothing is left; prints how long it took
#
# The time until the program knew is printed, and not looked at: a machine may be busy.
#
# With workers on another host (tests/net/two-hosts):
#
#     on_other_hosts                           once
#     begin_far PHASE SECONDS OPTION...        two workers, and options of two-hosts
#     ended STATUS -- WHAT                     the program ends so, and nothing is left there and here
. "$(dirname "$0")/../lib.sh"
VOCL_PEER_TIMEOUT=2
export VOCL_PEER_TIMEOUT
mark=VOCL_TEST_MARK=$$

# As lib.sh's, with one process instead of some for each that there is.
session_processes()
{
    for candidate in $(grep -slzx "$1" /proc/[0-9]*/environ | cut -d / -f 3); do
        case $(cat "/proc/$candidate/comm" 2> /dev/null) in
        vocl-* | mpiexec* | hydra* | phases) echo "$candidate" ;;
        esac
    done
}

uptime_of()
{
    cut -d ' ' -f 1 /proc/uptime
}

begin()
{
    phase=$1 seconds=$2 workers=$3
    shift 3
    rm -f "$scratch/out"
    env "$mark" VOCL_LOG=warn "$@" "$top_builddir/tests/session/phases" "$phase" "$seconds" > "$scratch/out" \
        2> "$scratch/err" &
    program=$!
    wait_until there || fail "$phase: no program: $(cat "$scratch/out" "$scratch/err")"
}
there()
{
    grep -q ready "$scratch/out" 2> /dev/null || ! kill -0 $program 2> /dev/null
}

# every PHASES: those of a quick run, or what VOCL_SILENT names: some, which is then all that is looked at, or all
every()
{
    case $VOCL_SILENT in
    '') echo "$*" ;;
    all) echo idle wait launches write read map build nodes ;;
    *) echo "$VOCL_SILENT" ;;
    esac
}

some_phases()
{
    [ -n "$VOCL_SILENT" ] && [ "$VOCL_SILENT" != all ]
}

# processes NAME: whose name begins so, oldest first
processes()
{
    for candidate in $(session_processes "$mark" | sort -n); do
        case $(cat "/proc/$candidate/comm" 2> /dev/null) in
        "$1"*) echo "$candidate" ;;
        esac
    done
}

# worker NUMBER: the process; the first has the first device
worker()
{
    for candidate in $(processes vocl-proxy); do
        if tr '\0' '\n' < "/proc/$candidate/environ" | grep -qE "^PMI_(ID|RANK)=$1\$"; then echo "$candidate"; fi
    done
}

fault()
{
    fault_signal=$1
    shift
    since=$(uptime_of)
    [ $# -gt 0 ] || fail "$phase: nobody there to get SIG$fault_signal"
    kill -"$fault_signal" "$@"
}

over()
{
    ! kill -0 $program 2> /dev/null
}

ended_with()
{
    wanted=
    while [ "$1" != -- ]; do
        wanted="$wanted $1"
        shift
    done
    shift
    if ! wait_until over; then
        kill -KILL $program
        fail "$phase, $*: the program hangs: $(cat "$scratch/out" "$scratch/err")"
    fi
    wait $program
    got=$?
    case "$wanted " in
    *" $got "*) ;;
    *) fail "$phase, $*: status $got, not$wanted: $(cat "$scratch/out" "$scratch/err")" ;;
    esac
    took=$(awk -v since="$since" '/^[0-9]/ { printf "%.1f", $1 - since }' "$scratch/out")
    echo "$phase, $*: $(sed 1d "$scratch/out" | grep -E '^[0-9]+\.' | cut -d ' ' -f 2-), after $took s"
}

nothing_left()
{
    wait_until none_left "$mark" || fail "left after $phase, $*: $(for process in $(session_processes "$mark"); do
        ps -o pid=,stat=,args= -p "$process"
    done)"
}

on_other_hosts()
{
    export HERE=$scratch
    # what is left is looked for before the hosts are taken away
    cat > "$scratch/stay" <<'END'
#!/bin/sh
"$@"
status=$?
until [ -e "$HERE/go" ]; do sleep 0.05; done
exit $status
END
    chmod +x "$scratch/stay"
}
begin_far()
{
    far_phase=$1 far_seconds=$2
    shift 2
    rm -f "$scratch/go"
    begin "$far_phase" "$far_seconds" 2 "$top_srcdir/tests/net/two-hosts" "$@" --workers 2 -- "$scratch/stay"
}
far_over()
{
    [ "$(wc -l < "$scratch/out")" -ge 2 ]
}
ended()
{
    what=${*#*-- }
    wait_until far_over || fail "$phase, $what: the program hangs: $(cat "$scratch/out" "$scratch/err")"
    wait_until no_worker || fail "left on the other host after $phase, $what: $(processes vocl-proxy)"
    touch "$scratch/go"
    wait $program
    got=$?
    took=$(awk -v since="$since" 'END { printf "%.1f", $1 - since }' "$scratch/out")
    echo "$phase, $what: $(sed 1d "$scratch/out" | cut -d ' ' -f 2-), after $took s; no workers after" \
        "$(awk -v since="$since" '{ printf "%.1f", $1 - since }' /proc/uptime) s"
    [ "$got" = "$1" ] || fail "$phase, $what: status $got: $(cat "$scratch/out" "$scratch/err")"
    nothing_left "$what"
}
no_worker()
{
    [ -z "$(processes vocl-proxy)" ]
}
