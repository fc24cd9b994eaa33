#!/bin/sh
# A user sends a request to a running program's session, by the program's PID: vocl sessions, vocl move. No other user
# can; no socket listens for requests; and a client that sends nonsense, disconnects after its request, or does not read
# its answer disturbs nothing.
. "$(dirname "$0")/../lib.sh"
mark=VOCL_TEST_MARK=requests$$
program=
trap '[ -z "$program" ] || kill -CONT $program; : > "$scratch/end"; wait; rm -rf "$scratch"' EXIT
export REQUESTS_END="$scratch/end"

# begin OPTIONS...: starts a program that answers
begin()
{
    rm -f "$scratch/out" "$scratch/end"
    env "$mark" vocl run --interpose preload "$@" -- env -u LD_PRELOAD "$top_builddir/tests/session/requests" > "$scratch/out" 2> "$scratch/err" &
    program=$!
    wait_until grep -q ready "$scratch/out" || fail "no session: $(cat "$scratch/err")"
}
finish()
{
    : > "$scratch/end"
    wait $program || fail "the program: $? $(cat "$scratch/out" "$scratch/err")"
    wait_until none_left "$mark" || fail "left: $(session_processes "$mark")"
    [ -z "$(vocl sessions | awk -v p=$program '$1 == p')" ] || fail "it is still listed"
    program=
}
# asks STATUS ANSWER TO: vocl move to TO has this status and this answer
asks()
{
    timeout 300 vocl move $program --to "$3" > "$scratch/answer" 2>&1
    status=$?
    [ "$status" = "$1" ] && grep -qF -e "$2" "$scratch/answer" || fail "--to $3: $status: $(cat "$scratch/answer")"
}
launcher()
{
    for process in $(session_processes "$mark"); do
        [ "$(cat "/proc/$process/comm")" != vocl-launcher ] || echo "$process"
    done
}
listed()
{
    vocl sessions > "$scratch/answer"
    awk -v p=$program '$1 == p' "$scratch/answer" | grep -Eq "$1" || fail "vocl sessions, no $1: $(cat "$scratch/answer")"
}

begin --workers 2
listed "requests +pairs +$(uname -n),$(uname -n)"
asks 0 "answered: move to echo" echo
[ "$(tr '\n' '/' < "$scratch/answer")" = "one/two lines/answered: move to echo/" ] || fail "the answer: $(cat "$scratch/answer")"
vocl move --quiet --to echo $program | grep -qx "answered: move to echo" || fail "--quiet"
# phases without totals, as older sessions report them, and with numbers that are none
vocl move $program --to count > "$scratch/answer" 2> "$scratch/shown" || fail "phases: $(cat "$scratch/shown")"
[ "$(cat "$scratch/answer")" = counted ] || fail "phases: $(cat "$scratch/answer")"
[ "$(sed 's/, .*//' "$scratch/shown" | tr '\n' '/')" = 'one/two/\x1b[2Jthree/four/four: 1.0 MiB/' ] || fail "phases: $(cat -A "$scratch/shown")"
asks 1 "there is no nowhere" nowhere
asks 1 "it was not answered" nothing

# a client that disconnects after its request
vocl move $program --to wait > /dev/null &
asker=$!
wait_until grep -q asked "$scratch/out" || fail "the program was not asked"
kill -KILL $asker
wait $asker 2> /dev/null
wait_until grep -q "who asked is gone" "$scratch/out" || fail "the program does not know that who asked is gone"
# a client that does not read its answer
vocl move $program --to flood > "$scratch/flood" &
asker=$!
wait_until test -s "$scratch/flood" || fail "no answer comes"
kill -STOP $asker
asks 0 "answered: move to echo" echo
kill -KILL $asker
wait $asker 2> /dev/null
# too many clients
askers=
for i in 1 2 3 4 5 6 7 8 9 10; do
    vocl move $program --to wait > "$scratch/many.$i" 2>&1 &
    askers="$askers $!"
done
some_too_many() { grep -q "too many" "$scratch"/many.*; }
wait_until some_too_many || fail "ten at a time: $(cat "$scratch"/many.*)"
kill $askers 2> /dev/null
wait $askers 2> /dev/null
has_room() { vocl move $program --to nowhere 2>&1 | grep -q "there is no nowhere"; }
wait_until has_room || fail "places are not given back"
asks 0 "answered: move to echo" echo
# nonsense
for words in "" "1" "x y z" "1 1 session" "0 0 session" "$$ 0 session" "-1 -1 move" "99999999999999999999 3 session" "$(head -c 70000 /dev/zero | tr '\0' a)"; do
    timeout 120 sh -c 'printf "%s\n" "$1" > "$2"' sh "$words" "/proc/$(launcher)/fd/4"
done
timeout 120 sh -c 'head -c 100000 /dev/urandom > "$1"' sh "/proc/$(launcher)/fd/4"
echo > "/proc/$(launcher)/fd/4"
asks 0 "answered: move to echo" echo
# a program that is stopped
kill -STOP $program
wait_until grep -q '^State:.*T' "/proc/$program/status"
asks 1 "the program is stopped" echo
listed requests
kill -CONT $program
asks 0 "answered: move to echo" echo
# another user: the kernel does not open the socket for him
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
    another="setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs"
    chmod 711 "$scratch"
    $another sh -c ': > /proc/'"$(launcher)"'/fd/4' 2> /dev/null && fail "another user can ask"
    [ -z "$($another vocl sessions 2> /dev/null | awk -v p=$program '$1 == p')" ] || fail "another user sees it"
    $another vocl move $program --to echo > "$scratch/answer" 2>&1 && fail "another user can move it"
fi
finish

# over TLS, and where the program ends meanwhile
if [ -e "$VOCL_LIBEXECDIR/vocl-tls.so" ]; then
    begin --network tls
    listed "requests +tls +$(uname -n)"
    asks 0 "answered: move to echo" echo
    vocl move $program --to wait > "$scratch/many.1" 2>&1 &
    asker=$!
    wait_until grep -q asked "$scratch/out" || fail "the program was not asked"
    finish
    wait $asker && fail "the program has ended, and who asked heard: $(cat "$scratch/many.1")"
fi

# processes that cannot be asked
program=999999999
asks 1 "there is no process" echo
program=$$
asks 1 "does not use VOCL" echo
program=
vocl move 1 2> /dev/null
[ $? = 2 ] || fail "no --to"
exit 0
