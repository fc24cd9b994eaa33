#!/bin/sh
# Configurations that look valid and are not: with wrong types, misspelt settings, or settings for another host. Each
# error is reported with its line.
. "$(dirname "$0")/one-lib.sh"
make_pool here
check()
{
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$1" --check-config > "$scratch/out" 2> "$scratch/err"
}
check "$scratch/conf" || fail "a good configuration is not: $(cat "$scratch/err")"
lines=$(wc -l < "$scratch/conf")

# good LINE: the configuration with this line is accepted
good()
{
    { cat "$scratch/conf"; echo "$1"; } > "$scratch/other"
    check "$scratch/other" || fail "$1 is not good: $(cat "$scratch/err")"
}
# bad LINE MESSAGE: it is refused with that message and the line's number
bad()
{
    { cat "$scratch/conf"; echo "$1"; } > "$scratch/bad"
    check "$scratch/bad" && fail "$1 is good"
    grep -q "bad:$((lines + 1)): $2" "$scratch/err" || fail "$1: $(cat "$scratch/err")"
}
for line in 'worker-memory = 1073741824;' 'worker-memory = 8589934592L;' 'worker-memory = "1.5GiB";' 'policy = "spread";' \
    'queue-limit = 5L;' 'allow = ( "me", "@us" );' 'http = "[::]:7880";' \
    'devices = ( { match = "*"; memory = 1073741824; sessions = 3; mode = "shared"; } );'; do
    good "$line"
done
bad 'worker-memory = -1;' 'worker-memory: a number of bytes'
bad 'worker-memory = 8.5;' 'worker-memory: a number of bytes'
bad 'worker-memory = "8 G";' 'worker-memory: a number of bytes'
bad 'worker-memory = "1e16";' 'worker-memory: a number of bytes'
for line in 'oversubscribe = true;' 'oversubscribe = false;' 'oversubscribe = 30;' 'oversubscribe = 0;'; do
    good "$line"
done
bad 'oversubscribe = "yes";' 'oversubscribe: true, false or a number'
bad 'oversubscribe = 1.5;' 'oversubscribe: true, false or a number'
bad 'oversubscribe = -1;' 'oversubscribe: a whole number from 0'
good 'oversubscribe = true; network = "mpi";'
good 'announce = true;'
grep -q 'announce: ' "$scratch/err" || fail "a daemon that only this host can reach is announced without a word: $(cat "$scratch/err")"
bad 'announce = 1;' 'announce: true or false is needed'
bad 'policy = 5;' 'policy: a text in quotes'
bad 'queue-limit = "100";' 'queue-limit: a whole number from 0 to 100000'
bad 'queue-limit = 5000000000L;' 'queue-limit: a whole number'
bad 'connection-limit = 12.5;' 'connection-limit: a whole number'
bad 'connection-limit = true;' 'connection-limit: a whole number'
bad 'http = "foo";' 'http: an address and port'
bad 'http = "127.0.0.1:78x1";' 'http: an address and port'
bad 'http = "127.0.0.1:0";' 'http: an address and port'
bad 'http = 7880;' 'http: a text in quotes'
bad 'admins = [ 1, 2 ];' 'admins: a list of non-empty strings'
bad 'admins = { one = "me"; };' 'admins: a list of strings'

bad 'devices = ( { match = "*"; session = 3; } );' 'session: no such part'
bad 'devices = ( { match = "*"; Memory = "1G"; } );' 'Memory: no such part'
bad 'devices = ( { match = "*"; memory = "lots"; } );' 'memory: a number of bytes'
bad 'devices = ( { match = "*"; memory = 1.5; } );' 'memory: a number of bytes'
bad 'devices = ( { match = "*"; sessions = "3"; } );' 'sessions: a whole number from 1'
bad 'devices = ( { match = "*"; sessions = 0; } );' 'sessions: a whole number from 1'
bad 'devices = ( { match = 3; } );' 'match: a text'
bad 'devices = ( { match = "*"; mode = 1; } );' 'mode: a text'
bad 'devices = ( { mode = "hidden"; } );' '.*needs a match'
bad 'devices = [ "*" ];' 'devices: a list of groups'
bad 'devices = { match = "*"; };' 'devices: a list of groups'
bad 'devices = ( "*" );' '.*is a group'
good 'limits = ( { name = "class"; users = [ "@us", "me" ]; sessions = 3; devices = 0; together = 8; priority = -600; }, { users = [ "*" ]; } );'
bad 'limits = [ "me" ];' 'limits: a list of groups'
bad 'limits = ( "me" );' '.*a limit is a group'
bad 'limits = ( { devices = 3; } );' '.*a limit needs users'
bad 'limits = ( { users = [ ]; } );' '.*a limit needs users'
bad 'limits = ( { users = "me"; } );' 'users: a list of strings'
bad 'limits = ( { users = [ "me" ]; memory = 3; } );' 'memory: no such part of a limit'
bad 'limits = ( { users = [ "me" ]; priority = "high"; } );' 'priority: a whole number of seconds'
bad 'limits = ( { users = [ "me" ]; name = ""; } );' '.*name has 1 to 62 letters'

# cannot SED MESSAGE: a setting is well-formed, and impossible on this host
cannot()
{
    sed "$1" "$scratch/conf" > "$scratch/bad"
    check "$scratch/bad" && fail "$1 is good"
    grep -q "$2" "$scratch/err" || fail "$1: $(cat "$scratch/err")"
}
cannot 's/^listen.*/listen = "192.0.2.1:7801";/' 'listen: 192.0.2.1:7801 is not an address of this host'
cannot 's/^listen.*/listen = "none.invalid:7801";/' 'listen: the address none.invalid:7801 cannot be resolved'
cannot 's/^environment.*/environment = [ "NAME" ];/' 'environment: entries are NAME=VALUE'
cannot 's/^listen.*/listen = "127.0.0.1:1";/' "pool has node here at 127.0.0.1:$port, but the daemon listens at 127.0.0.1:1"
cannot 's/^name.*/name = "elsewhere";/' 'pool has no node elsewhere'
cannot 's/^name.*/http = "192.0.2.1:7880"; name = "here";/' 'http: 192.0.2.1:7880 is not an address'
cannot "s/^name.*/name = \"h$(printf '\377')re\";/" 'name: a word of at most 62 letters is needed'
cannot 's/^auth.*/auth = "munge";/' 'auth is key in .*pool, but munge'
cannot "s,^key-file.*,key-file = \"$scratch/none\";," 'key-file: .*No such file'

# doubtful LINE MESSAGE: the daemon can run with this line, but not as it says
doubtful()
{
    { cat "$scratch/conf"; echo "$1"; } > "$scratch/other"
    check "$scratch/other" || fail "$1 is an error: $(cat "$scratch/err")"
    grep -q "other:$((lines + 1)): $2" "$scratch/err" || fail "$1: $(cat "$scratch/err")"
    grep -q 'valid, but see the warning above' "$scratch/out" || fail "$1: $(cat "$scratch/out")"
}
check "$scratch/conf" || fail "a good configuration is not: $(cat "$scratch/err")"
[ ! -s "$scratch/err" ] || fail "a good configuration is doubted: $(cat "$scratch/err")"
mine=$(id -gn)
good "allow = [ \"*\", \"$user\", \"@$mine\" ];"
[ ! -s "$scratch/err" ] || fail "users and groups that there are: $(cat "$scratch/err")"
doubtful "allow = [ \"$user\", \"nosuchuser\" ];" 'allow: there is no user nosuchuser'
doubtful 'deny = [ "nosuchuser" ];' 'deny: there is no user nosuchuser'
doubtful 'admins = [ "@nosuchgroup" ];' 'admins: there is no group nosuchgroup'
doubtful 'limits = ( { users = [ "nosuchuser" ]; } );' 'limits: there is no user nosuchuser'
other_group=$(cut -d: -f1 /etc/group | while read -r name; do id -u "$name" > /dev/null 2>&1 || { echo "$name"; break; }; done)
[ -z "$other_group" ] || doubtful "deny = [ \"$other_group\" ];" "deny: there is no user $other_group here; for the group of that name"
doubtful "powercap = \"$scratch/none\";" "powercap: $scratch/none: No such file"

sed '/^accounting/d' "$scratch/conf" > "$scratch/conf.less"
mv "$scratch/conf" "$scratch/conf.all"
mv "$scratch/conf.less" "$scratch/conf"
lines=$((lines - 1))
mkdir "$scratch/folder"
good "accounting = \"$scratch/folder/file\";"
bad "accounting = \"$scratch/none/file\";" "accounting: $scratch/none: No such file"
bad "accounting = \"$scratch/folder\";" "accounting: $scratch/folder is a directory, not"
bad "accounting = \"$scratch/conf/file\";" "accounting: .*conf is not a directory"
bad "accounting = \"/proc/vocl/file\";" "accounting: /proc/vocl: "
mv "$scratch/conf.all" "$scratch/conf"
lines=$((lines + 1))
cannot "s,^state-directory.*,state-directory = \"$scratch/none/state\";," "bad:6: state-directory: $scratch/none: No such file"
cannot "s,^state-directory.*,state-directory = \"$scratch/conf\";," "bad:6: state-directory: $scratch/conf is not a directory"
cannot "s,^state-directory.*,state-directory = \"$scratch/$(printf %0100d 1)\";," 'bad:6: state-directory: .*too long'
cannot "s,^state-directory.*,state-directory = \"$scratch/state\"; http = \"127.0.0.1:$port\";," 'http: the daemon listens at'
if [ "$(id -u)" != 0 ]; then
    chmod 500 "$scratch/folder"
    cannot "s,^state-directory.*,state-directory = \"$scratch/folder/state\";," 'state-directory: .*Permission denied'
    chmod 700 "$scratch/folder"
fi

# Keys: this node's, and those of the others
cp "$scratch/keys" "$scratch/keys.before"
chmod 644 "$scratch/keys"
check "$scratch/conf" || fail "readable keys: $(cat "$scratch/err")"
grep -q 'conf:5: key-file: .*owner only' "$scratch/err" || fail "keys that anybody reads: $(cat "$scratch/err")"
chmod 600 "$scratch/keys"
cp "$scratch/pool" "$scratch/pool.before"
echo "node there 127.0.0.1:1" >> "$scratch/pool"
check "$scratch/conf" || fail "a missing key of another: $(cat "$scratch/err")"
grep -q 'conf:5: key-file: .*no key of @there' "$scratch/err" || fail "no word of the other's key: $(cat "$scratch/err")"
{ cat "$scratch/pool.before"; printf 'node th\351re 127.0.0.1:1\n'; } > "$scratch/pool" # no UTF-8
check "$scratch/conf" && fail "a node whose name nobody can be told"
grep -q 'no line of a pool file' "$scratch/err" || fail "no word of the node's name: $(cat "$scratch/err")"
{ cat "$scratch/pool.before"; echo "node there 127.0.0.1:1"; } > "$scratch/pool"
sed -i '/^@here/d' "$scratch/keys"
check "$scratch/conf" && fail "without a key of its own"
grep -q 'conf:5: key-file: .*no key of @here' "$scratch/err" || fail "no word of its own key: $(cat "$scratch/err")"
mv "$scratch/keys.before" "$scratch/keys"
mv "$scratch/pool.before" "$scratch/pool"

# Limits need control groups, with a controller for each.
bad "cgroup = \"$scratch/folder\";" "cgroup: $scratch/folder is in no file system of control groups"
bad "cgroup = \"$scratch/none/group\";" "cgroup: $scratch/none: No such file"
bad 'cgroup = "group";' 'cgroup: auto, none or a folder'
good 'cgroup = "none";'
for line in 'worker-memory = "1G";' 'worker-cpu-percent = 50;' 'worker-processes = 10;'; do
    doubtful "$line cgroup = \"none\";" "${line%% *}: workers are not limited: cgroup is none"
done
groups=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
for controller in memory:worker-memory cpu:worker-cpu-percent pids:worker-processes; do
    if [ "$(id -u)" = 0 ] && [ -n "$groups" ] && grep -qsw "${controller%:*}" "$groups/cgroup.controllers"; then
        good "${controller#*:} = 100;"
        grep 'are not limited' "$scratch/err" && fail "there is a controller for that"
    else
        doubtful "${controller#*:} = 100;" "${controller#*:}: workers are not limited: "
    fi
done

# The daemon's log has the same warnings, when it starts and when it reads its files again.
cp "$scratch/conf" "$scratch/conf.before"
echo 'deny = [ "nosuchuser" ];' >> "$scratch/conf"
start_daemon
wait_until grep -q "warning: .*conf:$((lines + 1)): deny: there is no user nosuchuser" "$scratch/log" || fail "the log: $(cat "$scratch/log")"
cp "$scratch/conf.before" "$scratch/conf"
echo "accounting = \"$scratch/none/file\";" > "$scratch/line"
sed -i "/^accounting/d" "$scratch/conf"
cat "$scratch/line" >> "$scratch/conf"
kill -HUP $daemon
wait_until grep -q "warning: .*conf:$lines: accounting: $scratch/none: No such file" "$scratch/log" || fail "the log: $(cat "$scratch/log")"
kill $daemon
wait $daemon 2> /dev/null
mv "$scratch/conf.before" "$scratch/conf"

# Variables without a value in the configuration's environment, the daemon's and the program's: PoCL would take the
# first for a path and fail an assertion. No worker has them.
cp "$scratch/conf" "$scratch/conf.before"
sed -i 's/^environment.*/environment = [ "POCL_CACHE_DIR=", "EMPTY=" ];/' "$scratch/conf"
echo 'prefork = 0;' >> "$scratch/conf" # a copy shows the environment of what it is a copy of
start_at="env POCL_CACHE_DIR= EMPTY="
start_daemon
VOCL_POOL=$scratch/pool POCL_CACHE_DIR='' VOCL_PIPELINE='' vocl run -- "$top_builddir/tests/pool/burn" 0 600 > /dev/null 2> "$scratch/err" &
program=$!
VOCL_POOL=$scratch/pool vocl pool wait --timeout=100 running=1 || fail "no session: $(cat "$scratch/err" "$scratch/log")"
worker=$(grep -lszF "VOCL_WORKER_CONTROL=$scratch/state" /proc/[0-9]*/environ | head -n 1)
[ -n "$worker" ] || fail "which process is the worker is not found"
! grep -zE '^[A-Za-z_]+=$' "$worker" || fail "variables without a value: $(tr '\0' ' ' < "$worker")"
kill $program
wait $program
kill $daemon
wait $daemon 2> /dev/null
mv "$scratch/conf.before" "$scratch/conf"

echo "node there 127.0.0.1:1" >> "$scratch/pool"
check "$scratch/conf" || fail "another daemon that is not started is an error: $(cat "$scratch/err")"
grep -q 'node there does not answer' "$scratch/out" || fail "no word of the other daemon: $(cat "$scratch/out")"
echo nonsense >> "$scratch/pool"
check "$scratch/conf" && fail "a bad pool file is good"
rm "$scratch/pool"
check "$scratch/conf" || fail "without a pool file: $(cat "$scratch/err")"
exit 0
