#!/bin/sh
# The network between a program and its workers carries nothing any more, in one direction or both, or its host is gone:
# both sides notice. What comes back in time was no outage. VOCL_SILENT=all: all phases with all faults;
# VOCL_SILENT="read map": only these.
. "$(dirname "$0")/silent-lib.sh"
need ip iproute2
need_foreign_programs

# What is left is looked for before the hosts are taken away.
cat > "$scratch/stay" <<'END'
#!/bin/sh
"$@"
status=$?
until [ -e "$HERE/go" ]; do sleep 0.05; done
exit $status
END
chmod +x "$scratch/stay"
export HERE=$scratch

# far PHASE SECONDS
far()
{
    rm -f "$scratch/cable" "$scratch/go"
    begin "$1" "$2" 2 "$top_srcdir/tests/net/two-hosts" --cable "$scratch/cable" --workers 2 -- "$scratch/stay"
    [ -s "$scratch/cable" ] || { wait $program; skip "$(cat "$scratch/err")"; }
    read -r cable near far < "$scratch/cable"
}
over()
{
    [ "$(wc -l < "$scratch/out")" -ge 2 ]
}
# ended WANTED -- WHAT: the program is at its end, nothing is left on the other host, then it goes
ended()
{
    what=${*#*-- }
    wait_until $bound over || fail "$phase, $what: the program hangs: $(cat "$scratch/out" "$scratch/err")"
    wait_until 15 no_worker || fail "left on the other host after $phase, $what: $(processes vocl-proxy)"
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
    wait_until $bound over || fail "$phase, a stopped worker: the program hangs"
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

# Ctrl-Z
for phase in $(every launches write); do
    far "$phase" 3
    victim=$(grep -slx phases $(grep -slzx "$mark" /proc/[0-9]*/environ | sed 's,environ$,comm,') | cut -d / -f 3)
    fault STOP $victim
    sleep 5
    kill -CONT $victim
    ended 0 -- Ctrl-Z
done
exit 0
