#!/bin/sh
# Whoever is stopped or killed, and whatever the program does just then: it ends with an error of OpenCL or right
# results, and nothing is left. A program that is stopped is not dead. VOCL_SILENT=all: all phases with all faults;
# VOCL_SILENT="read map": only these.
. "$(dirname "$0")/silent-lib.sh"
need_foreign_programs
with_own_memory

# one of two workers does not answer any more: an error, and its process is gone while the program still runs
for phase in $(every launches write read map build nodes wait); do
    seconds=30
    [ $phase != map ] && [ $phase != idle ] || seconds=4 # they ask nothing before
    begin $phase $seconds 2 vocl run --workers 2 --
    victim=$(worker 1)
    fault STOP "$victim"
    ended_with 3 -- a stopped worker
    nothing_left a stopped worker
done

# the program goes on with what it has when it is the other that is lost
begin wait 4 2 vocl run --workers 2 --
victim=$(worker 2)
fault STOP "$victim"
gone()
{
    ! kill -0 "$victim" 2> /dev/null
}
wait_until gone || fail "a stopped worker is not killed while its program runs"
ended_with 0 3 -- the other worker stopped
nothing_left the other worker stopped

for phase in $(every launches read); do
    begin $phase 30 2 vocl run --workers 2 --
    fault KILL "$(worker 1)"
    ended_with 3 -- a killed worker
    nothing_left a killed worker
done

# who only started the session is not needed until its end
for name in vocl-launcher mpiexec hydra_pmi_proxy vocl-placeholde; do
    for phase in $(every launches); do
        begin $phase 3 2 vocl run --workers 2 --
        victim=$(processes $name | head -n 1)
        if [ -n "$victim" ]; then
            fault STOP "$victim"
            ended_with 0 -- "$name stopped"
            if [ $name = vocl-launcher ]; then kill -CONT "$victim"; fi
            nothing_left "$name stopped"
        else
            fault CONT $program
            ended_with 0 -- "there is no $name"
        fi
    done
    for phase in $(every write); do
        begin $phase 3 2 vocl run --workers 2 --
        victim=$(processes $name | head -n 1)
        if [ -n "$victim" ]; then
            fault KILL "$victim"
            ended_with 0 3 -- "$name killed"
            nothing_left "$name killed"
        else
            fault CONT $program
            ended_with 0 -- "there is no $name"
        fi
    done
done

# the program is killed while a worker is stopped
begin launches 30 2 vocl run --workers 2 --
fault STOP "$(worker 1)"
kill -KILL $program
wait $program
nothing_left a killed program with a stopped worker

# Ctrl-Z, for longer than anybody has patience
for phase in $(every launches read nodes build); do
    begin $phase 3 2 vocl run --workers 2 --
    fault STOP $program
    sleep 5
    kill -CONT $program
    ended_with 0 -- Ctrl-Z
    nothing_left Ctrl-Z
done

# and a debugger
if command -v gdb > /dev/null; then
    begin launches 3 2 vocl run --workers 2 --
    since=$(uptime_of)
    env -u LD_PRELOAD gdb -p $program -batch -ex 'shell sleep 5' > "$scratch/gdb" 2>&1 || fail "gdb: $(cat "$scratch/gdb")"
    ended_with 0 -- a debugger
    nothing_left a debugger
fi

# a worker that is stopped when the program ends
begin end 1 2 vocl run --workers 2 --
fault STOP "$(worker 1)"
ended_with 0 -- a worker stopped at the end
nothing_left a worker stopped at the end

if some_phases; then
    no_files_left
    exit 0
fi

# a job of an mpiexec of the user's own, which waits for all of its ranks
mpmd="$scratch/mpmd"
cat > "$mpmd" <<'END'
#!/bin/sh
exec mpiexec.mpich -n 1 vocl run -- "$@" : -n 1 "$VOCL_LIBEXECDIR/vocl-proxy" --worker
END
chmod +x "$mpmd"
for name in vocl-proxy phases; do
    for signal in STOP KILL; do
        begin launches 30 1 "$mpmd"
        since=$(uptime_of)
        victim=$(processes $name | head -n 1)
        fault $signal "$victim"
        if [ $name = phases ]; then # its worker leaves it
            no_worker() { [ -z "$(processes vocl-proxy)" ]; }
            wait_until no_worker || fail "the worker of a program that got SIG$signal stays: $(cat "$scratch/err")"
            kill -KILL "$victim" 2> /dev/null && : # if mpiexec has not yet
        fi
        ended_with 0 1 3 7 9 137 255 -- "SIG$signal for $name under mpiexec"
        nothing_left "SIG$signal for $name under mpiexec"
    done
done

# at the start: a worker that stops wherever it is just then, also in MPI_Init
link_libexec "$scratch/libexec"
rm "$scratch/libexec/vocl-proxy"
cat > "$scratch/libexec/vocl-proxy" <<END
#!/bin/sh
[ "\${PMI_ID:-\$PMI_RANK}" != 2 ] || (sleep \$STOP_AFTER; kill -STOP \$\$) &
exec "$VOCL_LIBEXECDIR/vocl-proxy" "\$@"
END
chmod +x "$scratch/libexec/vocl-proxy"
for after in 0 0.01 0.02 0.03 0.04 0.06 0.08 0.12; do
    begin start 1 2 env STOP_AFTER=$after VOCL_START_TIMEOUT=8 VOCL_LIBEXECDIR="$scratch/libexec" vocl run --workers 2 --
    since=$(uptime_of)
    ended_with 0 1 3 -- "a worker stopped $after s after its start"
    nothing_left "a worker stopped $after s after its start"
done

no_files_left
exit 0
