#!/bin/sh
# For a user, a host or a credential a daemon asks other services, which may not answer. Then only the requests wait
# that need the answer, and only for a while.
. "$(dirname "$0")/../pool/one-lib.sh"
make_pool one
add_daemon two
printf 'nobody %s\n' "$(new_key)" | tee -a "$scratch/mine" >> "$scratch/keys"
say="$top_builddir/tests/security/say"
export SLOW="$scratch/slow" SLOW_USER=nobody SLOW_HOST=slow.invalid
start_at="env LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$(realpath "$top_builddir/tests/security/.libs/slow.so")"
echo 'node three slow.invalid:9' >> "$scratch/pool" # to which the daemon goes again and again
start_daemon
start_other two
meet_other

# ask WHAT WORD...: asks the daemon of $of in the background, until it has asked in turn and gets no answer
ask()
{
    rm -f "$SLOW.asked"
    touch "$SLOW"
    asked=$1
    shift
    "$say" "$scratch/${of:-pool}" "$@" > "$scratch/said" 2>&1 &
    asks=$!
    wait_until test -e "$SLOW.asked" || fail "$asked: nobody is asked: $(cat "$scratch/said" "$scratch/log")"
}
# others: other clients get answers meanwhile
others()
{
    for other_one in 1 2 3; do
        "$say" "$scratch/pool" '{"do":"status"}' > "$scratch/out" 2>&1 || fail "$asked: no answer: $(cat "$scratch/out" "$scratch/log")"
        [ -s "$scratch/said" ] || return 0
    done
    fail "$asked: others are answered when that is over: $(cat "$scratch/said")"
}
# ends PATTERN: the request ends with this answer, though the service never answers
ends()
{
    wait $asks
    grep -q "$1" "$scratch/said" || fail "$asked: not \"$1\": $(cat "$scratch/said" "$scratch/log")"
}

ask "a user" as:nobody '{"do":"status"}'
others
ends 'your user cannot be looked up'
rm "$SLOW"
"$say" "$scratch/pool" as:nobody '{"do":"status"}' > "$scratch/out" 2>&1 || fail "nobody: $(cat "$scratch/out")"
grep -q '"nodes"' "$scratch/out" || fail "nobody is refused: $(cat "$scratch/out")"

# many connections of the same user
ask "many connections of a user" $(for i in $(seq 40); do echo 'as:nobody -{"do":"status"} @'; done) '{"do":"status"}'
others
ends 'your user cannot be looked up'
rm "$SLOW"

# on behalf of another daemon
of=pool.two
ask "a user of another node" as:nobody '{"do":"request","count":2,"exclusive":true}'
others
ends 'one does not answer\|one: user nobody cannot be looked up'
rm "$SLOW"
"$say" "$scratch/pool.two" as:nobody '{"do":"request","count":2,"exclusive":true,"wait":60}' > "$scratch/out" 2>&1 ||
    fail "nobody's request: $(cat "$scratch/out")"
grep -q '"granted"\|queued' "$scratch/out" || fail "nobody gets nothing: $(cat "$scratch/out")"
of=

# a host
rm -f "$SLOW.asked" "$scratch/said"
touch "$SLOW" "$scratch/said"
asked="a host"
wait_until test -e "$SLOW.asked" || fail "the daemon does not go to three: $(cat "$scratch/log")"
others
no_place()
{
    VOCL_POOL=$scratch/pool vocl pool nodes | grep -q 'three *lost .*slow.invalid'
}
wait_until no_place || fail "why three is lost: $(VOCL_POOL=$scratch/pool vocl pool nodes)"
VOCL_POOL=$scratch/pool vocl run -- "$top_builddir/tests/parity/vector_add" > "$scratch/out" 2>&1 || fail "a session: $(cat "$scratch/out" "$scratch/log")"

# Its configuration, read again, names that host: the warning that the host is unknown comes when that is certain.
asked="the configuration"
kill -HUP $daemon
wait_until grep -q 'read .* again' "$scratch/log" || fail "$asked: it is not read: $(cat "$scratch/log")"
others
wait_until grep -q 'configuration could not be checked' "$scratch/log" || fail "$asked: nothing is said of it: $(cat "$scratch/log")"
rm "$SLOW"
kill -HUP $daemon
wait_until grep -q 'which no other host can reach, but .* has node three' "$scratch/log" || fail "$asked: $(cat "$scratch/log")"

# the daemon ends, and none of its processes is left
kill -TERM $daemon
wait $daemon || fail "it ends with $?: $(cat "$scratch/log")"
grep 'Sanitizer' "$scratch"/log* && fail "the sanitizer found something"
exit 0
