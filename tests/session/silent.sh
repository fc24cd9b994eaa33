#!/bin/sh
# Whichever process is stopped or killed, and whatever the program does just then: the program ends with an OpenCL error
# or right results, and nothing is left. A program that is stopped is not treated as dead. VOCL_SILENT=all: all phases
# with all faults; VOCL_SILENT="read map": only these phases.
. "$(dirname "$0")/silent-lib.sh"
need_foreign_programs
with_own_memory

# one of two workers stops answering: an error, and its process has ended while the program still runs
stopped()
{
    begin "$1" 2 vocl run --workers 2 --
    fault STOP "$(worker 1)"
    noticed
    ended_with 3 -- a stopped worker
    nothing_left a stopped worker
}
for phase in $(every launches write read map build nodes wait); do
    beside stopped $phase
done

# the other worker is lost: the program continues with what it has
gone()
{
    ! kill -0 "$victim" 2> /dev/null
}
other_stopped()
{
    begin wait 2 vocl run --workers 2 --
    victim=$(worker 2)
    fault STOP "$victim"
    wait_until gone || fail "a stopped worker is not killed while its program runs"
    go
    ended_with 0 3 -- the other worker stopped
    nothing_left the other worker stopped
}
beside other_stopped

killed()
{
    begin "$1" 2 vocl run --workers 2 --
    fault KILL "$(worker 1)"
    noticed
    ended_with 3 -- a killed worker
    nothing_left a killed worker
}
for phase in $(every launches read); do
    beside killed $phase
done

# the processes that only started the session are not needed until its end
starter_stopped()
{
    begin "$1" 2 vocl run --workers 2 --
    victim=$(processes $2 | head -n 1)
    if [ -n "$victim" ]; then
        fault STOP "$victim"
        outlast
        go 3
        ended_with 0 -- "$2 stopped"
        if [ $2 = vocl-launcher ]; then kill -CONT "$victim"; fi
        nothing_left "$2 stopped"
    else
        fault CONT $program
        go
        ended_with 0 -- "there is no $2"
    fi
}
starter_killed()
{
    begin "$1" 2 vocl run --workers 2 --
    victim=$(processes $2 | head -n 1)
    if [ -n "$victim" ]; then
        fault KILL "$victim"
        go 20
        ended_with 0 3 -- "$2 killed"
        nothing_left "$2 killed"
    else
        fault CONT $program
        go
        ended_with 0 -- "there is no $2"
    fi
}
for name in vocl-launcher mpiexec hydra_pmi_proxy vocl-placeholde; do
    for phase in $(every launches); do
        beside starter_stopped $phase $name
    done
    for phase in $(every write); do
        beside starter_killed $phase $name
    done
done

# the program is killed while a worker is stopped
both_faults()
{
    begin launches 2 vocl run --workers 2 --
    fault STOP "$(worker 1)"
    kill -KILL $program
    wait $program
    nothing_left a killed program with a stopped worker
}
beside both_faults

# Ctrl-Z, for longer than any time-out
suspended()
{
    begin "$1" 2 vocl run --workers 2 --
    fault STOP $program
    outlast
    kill -CONT $program
    go 3
    ended_with 0 -- Ctrl-Z
    nothing_left Ctrl-Z
}
for phase in $(every launches read nodes build); do
    beside suspended $phase
done

# and a debugger
debugged()
{
    begin launches 2 vocl run --workers 2 --
    since=$(uptime_of)
    env -u LD_PRELOAD gdb -p $program -batch -ex "shell sleep $((VOCL_PEER_TIMEOUT * 3 / 2 + 1))" > "$scratch/gdb" 2>&1 ||
        fail "gdb: $(cat "$scratch/gdb")"
    go 3
    ended_with 0 -- a debugger
    nothing_left a debugger
}
! command -v gdb > /dev/null || beside debugged

# a worker that is stopped when the program ends
stopped_at_end()
{
    begin end 2 vocl run --workers 2 --
    fault STOP "$(worker 1)"
    go
    ended_with 0 -- a worker stopped at the end
    nothing_left a worker stopped at the end
}
beside stopped_at_end

if some_phases; then
    well_beside
    no_files_left
    exit 0
fi

# a job under an mpiexec of the user's own, which waits for all of its ranks
mpmd="$scratch/mpmd"
cat > "$mpmd" <<'END'
#!/bin/sh
exec mpiexec.mpich -n 1 vocl run -- "$@" : -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --worker
END
chmod +x "$mpmd"
under_mpiexec()
{
    begin launches 1 "$mpmd"
    since=$(uptime_of)
    victim=$(processes $1 | head -n 1)
    fault $2 "$victim"
    if [ $1 = phases ]; then # its worker leaves it
        wait_until no_worker || fail "the worker of a program that got SIG$2 stays: $(cat "$scratch/err")"
        kill -KILL "$victim" 2> /dev/null && : # if mpiexec has not yet
    fi
    ended_with 0 1 3 7 9 137 255 -- "SIG$2 for $1 under mpiexec"
    nothing_left "SIG$2 for $1 under mpiexec"
}
for name in vocl-proxy phases; do
    for signal in STOP KILL; do
        beside under_mpiexec $name $signal
    done
done

# at the start: a worker stops wherever it is just then, also in MPI_Init
link_libexec "$scratch/libexec" '[ "${PMI_ID:-$PMI_RANK}" != 2 ] || (sleep $STOP_AFTER; kill -STOP $$) &'
stopped_early()
{
    begin start 2 env STOP_AFTER=$1 VOCL_START_TIMEOUT=8 VOCL_LIBEXECDIR="$libexec" vocl run --workers 2 --
    since=$(uptime_of)
    go
    ended_with 0 1 3 -- "a worker stopped $1 s after its start"
    nothing_left "a worker stopped $1 s after its start"
}
libexec=$scratch/libexec
for after in 0 0.01 0.02 0.03 0.04 0.06 0.08 0.12; do
    beside stopped_early $after
done
well_beside

no_files_left
exit 0
