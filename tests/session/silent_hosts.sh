#!/bin/sh
# The network between a program and its workers carries nothing any more, in one direction or both, or its host is gone:
# both sides notice. What comes back in time was no outage. VOCL_SILENT=all: all phases with all faults;
# VOCL_SILENT="read map": only these.
. "$(dirname "$0")/silent-lib.sh"
need ip iproute2
need_foreign_programs

on_other_hosts

# far PHASE SECONDS
far()
{
    rm -f "$scratch/cable"
    begin_far "$1" "$2" --cable "$scratch/cable"
    [ -s "$scratch/cable" ] || { wait $program; skip "$(cat "$scratch/err")"; }
    read -r cable near far < "$scratch/cable"
}
seconds_of()
{
    case $1 in
    map | idle) echo 4 ;;
    *) echo 30 ;;
    esac
}

for phase in $(every wait launches write read nodes); do
    far "$phase" "$(seconds_of "$phase")"
    fault USR1 "$cable"
    kill -USR2 "$cable"
    ended 3 -- packets dropped both ways
done
for phase in $(every launches read); do
    far "$phase" "$(seconds_of "$phase")"
    fault USR1 "$cable"
    ended 3 -- packets to the workers dropped
done
for phase in $(every wait write); do
    far "$phase" "$(seconds_of "$phase")"
    fault USR2 "$cable"
    ended 3 -- packets to the program dropped
done
for phase in $(every build); do
    far "$phase" "$(seconds_of "$phase")"
    since=$(uptime_of)
    ip -n "$near" link set near down
    ended 3 -- the link down
done
for phase in $(every launches); do
    far "$phase" "$(seconds_of "$phase")"
    fault KILL "$cable"
    ended 3 -- the cable gone
done
for phase in $(every nodes); do
    far "$phase" "$(seconds_of "$phase")"
    victim=$(worker 1)
    fault STOP "$victim"
    wait_until far_over || fail "$phase, a stopped worker: the program hangs"
    kill -CONT "$victim" # it finds itself out
    ended 3 -- a worker stopped
done

# half the time that one waits: nothing is lost
for phase in $(every launches write read nodes); do
    far "$phase" 4
    fault USR1 "$cable"
    kill -USR2 "$cable"
    sleep 1
    kill -USR1 "$cable"
    kill -USR2 "$cable"
    ended 0 -- an outage of a second
done

# Ctrl-Z, for longer than anybody has patience, the system with one that takes nothing, too
for phase in $(every launches read); do
    far "$phase" 3
    victim=$(processes phases)
    sleep 0.5
    fault STOP $victim
    sleep 7
    kill -CONT $victim
    ended 0 -- Ctrl-Z
done

# there is nobody who could tell the workers
for phase in $(every read); do
    far "$phase" "$(seconds_of "$phase")"
    victims="$(processes phases) $(processes vocl-launcher)"
    fault STOP $victims
    kill -USR1 "$cable"
    kill -USR2 "$cable"
    wait_until no_worker || fail "$phase, both and the network gone: the workers stay: $(cat "$scratch/err")"
    echo "$phase, the program, its launcher and the network gone: no workers after" \
        "$(awk -v since="$since" '{ printf "%.1f", $1 - since }' /proc/uptime) s"
    kill -CONT $victims
    ended 3 -- both and the network gone
done
exit 0
