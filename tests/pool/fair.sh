#!/bin/sh
# Limits of users and groups, each and together, priorities and fair share: who is refused, and who is served first.
. "$(dirname "$0")/one-lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root: requests of several users"
need python3 python3
for name in nobody games; do
    id $name > /dev/null 2>&1 || skip "no user $name"
done
make_pool here 'devices = ( { match = "*"; sessions = 1; } );'
for name in nobody games; do
    printf '%s %s\n' $name "$(new_key)" >> "$scratch/keys"
    grep "^$name " "$scratch/keys" > "$scratch/mine.$name"
    chmod 600 "$scratch/mine.$name"
    sed "s,^key-file.*,key-file $scratch/mine.$name," "$scratch/pool" > "$scratch/pool.$name"
done
group=$(id -gn nobody)
VOCL_POOL=$scratch/pool
export VOCL_POOL
holder= waiting=
# begin: starts the daemon; programs end with the test
begin()
{
    start_daemon
    trap 'kill -9 $holder $waiting 2> /dev/null; end_daemons' EXIT
}
begin
# as USER COMMAND...: a program of this user, for the daemon. It runs as root, since this checkout may be root's.
as()
{
    as_user=$1
    shift
    VOCL_POOL=$scratch/pool.$as_user VOCL_POOL_USER=$as_user "$@"
}
# limits LINE...: the daemon has these settings
limits()
{
    sed -i '/^limits/d; /^fair-share/d; /^sessions-per/d' "$scratch/conf"
    for limits_line; do
        echo "$limits_line" >> "$scratch/conf"
    done
    vocl pool reload || fail "reload: $(cat "$scratch/log")"
}
# holds: this user's session has a device
holds()
{
    rm -f "$scratch/enough"
    vocl run -- "$top_builddir/tests/pool/burn" 0 "$scratch/enough" > /dev/null 2> "$scratch/burn.err" &
    holder=$!
    await running=1 || fail "no session: $(cat "$scratch/burn.err" "$scratch/log")"
}
releases()
{
    touch "$scratch/enough"
    wait $holder
    await sessions=0
}
# wait_as USER COUNT: one more request waits; they are then COUNT
wait_as()
{
    if [ "$1" = "$user" ]; then
        vocl run --wait 600 -- "$top_builddir/tests/parity/vector_add" > /dev/null 2>&1 &
    else
        as "$1" vocl run --wait 600 -- "$top_builddir/tests/parity/vector_add" > /dev/null 2>&1 &
    fi
    waiting="$waiting $!"
    await queue="$2" || fail "no request of $1: $(vocl pool queue)"
}
# order WORD...: these users' requests wait, in this order
order()
{
    [ "$(vocl pool queue | sed 1d | awk '{ printf "%s ", $2 }')" = "$* " ] || fail "not $*: $(vocl pool --json queue)"
}
# refused USER TEXT OPTION...
refused()
{
    refused_user=$1 refused_text=$2
    shift 2
    as $refused_user vocl devices "$@" > /dev/null 2> "$scratch/err" && fail "$refused_user is not refused"
    grep -q "$refused_text" "$scratch/err" || fail "$refused_user: not \"$refused_text\": $(cat "$scratch/err")"
}

# The first limit that names the user, or a group of the user
limits "limits = ( { users = [ \"@$group\" ]; devices = 1; }, { users = [ \"*\" ]; devices = 2; } );"
refused nobody 'you may have 1 devices at a time, and have 0' --count 2
refused games 'you may have 2 devices at a time, and have 0' --count 3
refused games 'too few such devices' --count 2
limits "limits = ( { users = [ \"games\" ]; devices = 0; } );" 'devices-per-user = 1;'
refused games 'too few such devices' --count 2
refused nobody 'you may have 1 devices at a time, and have 0' --count 2
sed -i '/^devices-per/d' "$scratch/conf"

# Several users together
limits "limits = ( { name = \"the class\"; users = [ \"$user\", \"games\" ]; together = 1; } );"
holds
refused games 'the class may have 1 devices together at a time, and have 1'
refused games 'the class may have 1 devices together at a time, and have 1' --count 2
refused nobody 'all such devices are taken'
# The daemon's successor knows of which limit the session is.
kill -9 $daemon
wait $daemon 2> /dev/null
begin
await running=1
refused games 'the class may have 1 devices together at a time, and have 1'

# Priorities: who waits longest is not first.
limits 'limits = ( { users = [ "nobody" ]; priority = 3600; }, { users = [ "games" ]; priority = -3600; } );'
wait_as games 1
wait_as "$user" 2
order "$user" games
wait_as nobody 3
order nobody "$user" games
releases
# served USER: prints the number of the line of that user's grant
served()
{
    grep -n "\"event\":\"request-granted\".*\"user\":\"$1\".*\"program\":\"vector_add\"" "$scratch/events" | cut -d: -f1
}
all_served()
{
    vocl pool events > "$scratch/events" && [ "$(served nobody)" ] && [ "$(served "$user")" ] && [ "$(served games)" ]
}
wait_until all_served || fail "not all are served: $(cat "$scratch/events"; vocl pool queue)"
[ "$(served nobody)" -lt "$(served "$user")" ] && [ "$(served "$user")" -lt "$(served games)" ] || fail "the order: $(cat "$scratch/events")"
wait $waiting
waiting=
await sessions=0 queue=0

# A fair share: a user who has a device already waits longer.
limits 'fair-share = 3600;'
holds
wait_as "$user" 1
wait_as games 2
order games "$user"
vocl pool --json queue | python3 -c '
import json, sys
first, second = json.load(sys.stdin)["queue"]
assert first.get("ahead", 0) == 0 and second["ahead"] == -3600 and second["waited"] > first["waited"], (first, second)' || fail "the queue: $(vocl pool --json queue)"
grep Sanitizer "$scratch/log" && fail "the sanitizer found something"
exit 0
