#!/bin/sh
# Configurations that look good and are not: mistyped, misspelt, of another host. All of them are found, with their line.
. "$(dirname "$0")/one-lib.sh"
make_pool here
check()
{
    "$VOCL_LIBEXECDIR/vocl-proxy" --config "$1" --check-config > "$scratch/out" 2> "$scratch/err"
}
check "$scratch/conf" || fail "a good configuration is not: $(cat "$scratch/err")"
lines=$(wc -l < "$scratch/conf")

# good LINE: is taken
good()
{
    { cat "$scratch/conf"; echo "$1"; } > "$scratch/other"
    check "$scratch/other" || fail "$1 is not good: $(cat "$scratch/err")"
}
# bad LINE MESSAGE: is refused so, with its line
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
bad 'policy = 5;' 'policy: a text in quotes'
bad 'queue-limit = "100";' 'queue-limit: a whole number from 0 to 100000'
bad 'queue-limit = 5000000000L;' 'queue-limit: a whole number'
bad 'connection-limit = 12.5;' 'connection-limit: a whole number'
bad 'connection-limit = true;' 'connection-limit: a whole number'
bad 'http = "foo";' 'http: an address and port'
bad 'http = "127.0.0.1:78x1";' 'http: an address and port'
bad 'http = "127.0.0.1:0";' 'http: an address and port'
bad 'http = 7880;' 'http: a text in quotes'
bad 'admins = [ 1, 2 ];' 'admins: a list of texts'
bad 'admins = { one = "me"; };' 'admins: a list of texts'

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

# cannot SED MESSAGE: what reads well and cannot be done here
cannot()
{
    sed "$1" "$scratch/conf" > "$scratch/bad"
    check "$scratch/bad" && fail "$1 is good"
    grep -q "$2" "$scratch/err" || fail "$1: $(cat "$scratch/err")"
}
cannot 's/^listen.*/listen = "192.0.2.1:7801";/' 'listen: 192.0.2.1:7801 is no address of this host'
cannot 's/^listen.*/listen = "none.invalid:7801";/' 'listen: nobody knows'
cannot 's/^environment.*/environment = [ "NAME" ];/' 'environment: entries are NAME=VALUE'
cannot 's/^listen.*/listen = "127.0.0.1:1";/' "node here is at 127.0.0.1:$port there, but the daemon listens at 127.0.0.1:1"
cannot 's/^name.*/name = "elsewhere";/' 'pool has no node elsewhere'
cannot 's/^name.*/http = "192.0.2.1:7880"; name = "here";/' 'http: 192.0.2.1:7880 is no address'
cannot 's/^auth.*/auth = "munge";/' 'auth is key there, and munge'
cannot "s,^key-file.*,key-file = \"$scratch/none\";," 'key-file: .*No such file'

# Variables without a value, of the configuration, the daemon and the program: PoCL would take the first for a path, and fail an
# assertion. No worker has them.
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
