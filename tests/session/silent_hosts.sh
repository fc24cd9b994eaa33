#!/bin/sh
# The network between a program and its workers fails, in one direction or both, or its host vanishes: both sides
# notice. An outage that ends in time has no effect. VOCL_SILENT=all: all phases with all faults; VOCL_SILENT="read
# map": only these phases.
. "$(dirname "$0")/silent-lib.sh"
need ip iproute2
need_foreign_programs

two=$top_srcdir/tests/net/two-hosts
[ "$(status_of "$two" --cable "$scratch/cable" -- true 2> "$scratch/err")" != 77 ] || skip "$(cat "$scratch/err")"

far()
{
    begin_far "$1" --cable "$scratch/cable"
    read -r cable near far < "$scratch/cable"
}

both_dropped()
{
    far "$1"
    fault USR1 "$cable"
    kill -USR2 "$cable"
    noticed
    ended 3 -- packets dropped both ways
}
to_workers_dropped()
{
    far "$1"
    fault USR1 "$cable"
    noticed
    ended 3 -- packets to the workers dropped
}
to_program_dropped()
{
    far "$1"
    fault USR2 "$cable"
    noticed
    ended 3 -- packets to the program dropped
}
link_down()
{
    far "$1"
    since=$(uptime_of)
    ip -n "$near" link set near down
    noticed
    ended 3 -- the link down
}
cable_gone()
{
    far "$1"
    fault KILL "$cable"
    noticed
    ended 3 -- the cable gone
}
worker_stopped()
{
    far "$1"
    victim=$(worker 1)
    fault STOP "$victim"
    noticed
    wait_until far_over || fail "$phase, a stopped worker: the program hangs"
    kill -CONT "$victim" # it finds itself out
    ended 3 -- a worker stopped
}
for phase in $(every wait launches write read nodes); do
    beside both_dropped $phase
done
for phase in $(every launches read); do
    beside to_workers_dropped $phase
done
for phase in $(every wait write); do
    beside to_program_dropped $phase
done
for phase in $(every build); do
    beside link_down $phase
done
for phase in $(every launches); do
    beside cable_gone $phase
done
for phase in $(every nodes); do
    beside worker_stopped $phase
done

# an outage that is shorter than the time-outs: nothing is lost
outage()
{
    patiently
    far "$1"
    fault USR1 "$cable"
    kill -USR2 "$cable"
    outlast_some
    kill -USR1 "$cable"
    kill -USR2 "$cable"
    go 3
    ended 0 -- an outage
}
for phase in $(every launches write read nodes); do
    beside outage $phase
done

# Ctrl-Z, for longer than any time-out, while the socket buffers fill up
suspended()
{
    far "$1"
    victim=$(processes phases)
    fault STOP $victim
    outlast
    kill -CONT $victim
    go 3
    ended 0 -- Ctrl-Z
}
for phase in $(every launches read); do
    beside suspended $phase
done

# no process is left that could tell the workers to end
nobody()
{
    far "$1"
    victims="$(processes phases) $(processes vocl-launcher)"
    fault STOP $victims
    kill -USR1 "$cable"
    kill -USR2 "$cable"
    wait_until no_worker || fail "$phase, both and the network gone: the workers stay: $(cat "$scratch/err")"
    echo "$phase, the program, its launcher and the network gone: no workers after" \
        "$(awk -v since="$since" '{ printf "%.1f", $1 - since }' /proc/uptime) s"
    kill -CONT $victims
    noticed
    ended 3 -- both and the network gone
}
for phase in $(every read); do
    beside nobody $phase
done
well_beside
exit 0
