#!/bin/sh
# Runs tests/security/check for a daemon of this host: it reports each mistake, and the rest passes.
. "$(dirname "$0")/../pool/one-lib.sh"
with_own_processes
check=$top_srcdir/tests/security/check
make_pool here "http = \"127.0.0.1:$((port + 1))\";"
start_daemon

# says LINE: the output has a line that matches the pattern
says()
{
    "$check" "$scratch/conf" > "$scratch/said" 2>&1
    grep -q "$1" "$scratch/said" || fail "not \"$1\": $(cat "$scratch/said")"
}
says "^PASS the key file $scratch/keys"
says "^PASS the daemon listens at 127.0.0.1:$port"
says "^PASS the daemon's web page listens at 127.0.0.1:$((port + 1))"
says "^PASS the daemon's socket $scratch/state/control accepts only"
says '^PASS sessions between hosts are encrypted'
chmod 644 "$scratch/keys"
says "^FAIL the key file $scratch/keys has mode 644"
chmod 600 "$scratch/keys"
chmod 666 "$scratch/conf"
says "^FAIL the configuration $scratch/conf can be changed by others"
chmod 644 "$scratch/conf"
sed "s/^listen = .*/listen = \"127.0.0.1:1\";/" "$scratch/conf" > "$scratch/other"
"$check" "$scratch/other" | grep -q "^FAIL the daemon listens at 127.0.0.1:$port, which" || fail "another port passes"
"$check" "$scratch/none" > "$scratch/said" 2>&1
[ $? = 2 ] || fail "no configuration: $(cat "$scratch/said")"

# While a session runs.
mkfifo "$scratch/wait"
: > "$scratch/out"
VOCL_POOL="$scratch/pool" vocl run -- "$top_builddir/tests/security/escape" 0 wait < "$scratch/wait" > "$scratch/out" 2>&1 &
exec 3> "$scratch/wait"
wait_until grep -q '^error' "$scratch/out" || fail "no session: $(cat "$scratch/out")"
says '^PASS worker [0-9]* cannot gain privileges'
says '^PASS worker [0-9]* does not listen'
says '^PASS vocl-join [0-9]* does not listen'
grep '^FAIL.*can write to' "$scratch/said" && fail "a worker can write to a file of another user"
exec 3>&-
wait $! 2> /dev/null || : # its output was checked above
