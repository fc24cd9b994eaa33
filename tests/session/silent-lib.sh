# How a session behaves when one of its processes is stopped or killed, in each phase of a program's life:
#
#     begin PHASE WORKERS COMMAND...   starts a program (phases.c), and waits until it is in its phase; sets $program
#     go [ROUNDS]                      ends that phase, after ROUNDS more rounds
#     noticed                          the same, once the program knows of a loss, in phases without calls
#     outlast                          waits until a silent process has been silent for longer than any time-out
#     patiently                        sessions that begin from here on have time-outs ten times as long
#     outlast_some                     waits for a quarter of such a time-out
#     processes NAME                   prints the session's processes whose name begins with NAME
#     worker NUMBER                    prints the process of that worker
#     fault SIGNAL PID...              sends the signal
#     ended_with STATUS... -- WHAT     the program ends with one of these; prints how long it took
#     nothing_left WHAT                no process of the session is left
#
# The time until the program knows of a fault is printed and not tested: the machine may be busy.
#
# With workers on another host (tests/net/two-hosts):
#
#     begin_far PHASE OPTION...        starts it with two workers, and options of two-hosts
#     ended STATUS -- WHAT             the program ends so, and nothing is left on either host
. "$(dirname "$0")/../lib.sh"
patient=
mark=VOCL_TEST_MARK=$$

# As lib.sh's, with programs named phases, too.
session_processes()
{
    for candidate in $(grep -lszxFe "$1" /proc/[0-9]*/environ 2> /dev/null | cut -d / -f 3); do
        { read -r comm < "/proc/$candidate/comm"; } 2> /dev/null || continue
        case $comm in
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
    phase=$1 workers=$2
    shift 2
    [ -n "$patient" ] || about_silence
    rm -f "$scratch/out" "$scratch/go"
    env "$mark" VOCL_LOG=warn "$@" "$top_builddir/tests/session/phases" "$phase" "$scratch/go" > "$scratch/out" \
        2> "$scratch/err" &
    program=$!
    wait_until there || fail "$phase: no program: $(cat "$scratch/out" "$scratch/err")"
}
there()
{
    grep -q ready "$scratch/out" 2> /dev/null || ! kill -0 $program 2> /dev/null
}

go()
{
    echo "${1:-0}" > "$scratch/go.new"
    mv "$scratch/go.new" "$scratch/go"
}

noticed()
{
    case $phase in
    map | idle) wait_until grep -q 'is lost:' "$scratch/err" && go ;;
    esac
}

# Here the passing of time is itself the test.
outlast()
{
    sleep $((VOCL_PEER_TIMEOUT * 3 / 2 + 1))
}

patiently()
{
    about_silence
    patient=$((VOCL_PEER_TIMEOUT * 10))
    [ $patient -le 120 ] || patient=120
    VOCL_PEER_TIMEOUT=$patient
}

outlast_some()
{
    sleep $((patient / 4))
}

# every PHASES: prints the phases of a quick run, or those that VOCL_SILENT names: some, which are then the only ones
# tested, or all
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

# processes NAME: prints the processes whose name begins with NAME, oldest first
processes()
{
    for candidate in $(session_processes "$mark" | sort -n); do
        { read -r comm < "/proc/$candidate/comm"; } 2> /dev/null || continue
        case $comm in
        "$1"*) echo "$candidate" ;;
        esac
    done
}

# worker NUMBER: prints the process of that worker; the first worker has the first device
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

begin_far()
{
    far_phase=$1
    shift
    export HERE=$scratch
    # Leftovers are looked for before the hosts are removed.
    cat > "$scratch/stay" <<'END'
#!/bin/sh
"$@"
status=$?
until [ -e "$HERE/leave" ]; do sleep 0.05; done
exit $status
END
    chmod +x "$scratch/stay"
    rm -f "$scratch/leave"
    begin "$far_phase" 2 "$top_srcdir/tests/net/two-hosts" "$@" --workers 2 -- "$scratch/stay"
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
    touch "$scratch/leave"
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
